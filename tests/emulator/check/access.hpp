// The access that a thread makes, and what it knows of others.
#pragma once

#include "../execute/access.hpp"
#include "shadow.hpp"
#include "thread_order.hpp"

#include <array>

namespace emulator {

/// The access that is being made.
struct access {
    context& c;
    const instruction& i;
    unsigned lane;
    stamp by;
    strength how;
    std::uint32_t met;  ///< block_order::met
    thread_order& thread;

    access(context& c_, const instruction& i_, unsigned lane_)
        : c{c_},
          i{i_},
          lane{lane_},
          by{c_.b->id, 0, static_cast<std::uint16_t>(c_.w->number * n_lanes + lane_)},
          how{i_.order != ordering::weak, static_cast<std::uint8_t>(i_.scope)},
          met{c_.b->order->met},
          thread{c_.b->order->threads[by.thread]}
    {
        by.epoch = thread.epoch;
    }

    bool acquires() const
    {
        return i.order == ordering::acquire || i.order == ordering::acquire_release || i.order == ordering::sequential;
    }
    bool releases() const
    {
        return i.order == ordering::release || i.order == ordering::acquire_release || i.order == ordering::sequential;
    }
};

/// Whether the thread knows that the operation is over which the block belongs to. Accesses meet data of the same few such
/// operations again and again: answers are remembered.
inline bool knows_end_of(const access& a, std::uint32_t block)
{
    struct remembered {
        clock_pointer clock;
        std::uint32_t block = 0;
        bool answer = false;
    };
    static auto* cache = new std::array<remembered, 256>;
    const clock_pointer& clock = a.thread.known.base;
    if (clock == nullptr) { return false; }
    remembered& r = (*cache)[(reinterpret_cast<std::uint64_t>(clock.get()) / 16 + block) % cache->size()];
    if (r.clock != clock || r.block != block) { r = {clock, block, clock->knows_end_of(block)}; }
    return r.answer;
}

/// Whether all threads of the block know the access, as they met at a barrier after it.
inline bool known_to_block(const access& a, std::uint32_t block, std::uint32_t epoch)
{
    return block == a.by.block && epoch <= a.met;
}

inline bool knows(const access& a, const stamp& s)
{
    if (s.block == a.by.block) { return s.epoch <= a.met || s.thread == a.by.thread || a.thread.known.knows(s); }
    return s.block == 0 || knows_end_of(a, s.block) || a.thread.known.knows(s);
}

inline bool includes(std::uint8_t reach, std::uint32_t a, std::uint32_t b)
{
    switch (static_cast<scope>(reach)) {
    case scope::block:
    case scope::cluster: return a == b;
    case scope::device: return record_of(a).device == record_of(b).device;
    default: return true;
    }
}

/// Accesses that may meet unordered: both strong, and each within the other's scope.
inline bool may_meet(const access& a, std::uint32_t block, const strength& how)
{
    return a.how.strong && how.strong && includes(a.how.scope, a.by.block, block) &&
           includes(how.scope, a.by.block, block);
}

}  // namespace emulator
