#include "tracker.hpp"

#include "../schedule/random.hpp"
#include "../schedule/settings.hpp"
#include "order.hpp"
#include "race.hpp"
#include "shadow.hpp"
#include "thread_order.hpp"

#include <algorithm>
#include <cstring>

namespace emulator {
namespace {

constexpr unsigned kept_stores = 5;   ///< for each cell
constexpr unsigned kept_readers = 8;  ///< beyond, some are forgotten

/// The access that is being made.
struct access {
    context& c;
    const instruction& i;
    unsigned lane;
    stamp by;
    strength how;
    thread_order& thread;

    access(context& c_, const instruction& i_, unsigned lane_)
        : c{c_},
          i{i_},
          lane{lane_},
          by{c_.b->id, 0, static_cast<std::uint16_t>(c_.w->number * n_lanes + lane_)},
          how{i_.order != ordering::weak, static_cast<std::uint8_t>(i_.scope)},
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

shadow_memory& shadow_of(context& c, const place& p)
{
    if (p.space == space::shared) { return *c.b->shadow; }
    if (!p.memory->shadow) { p.memory->shadow = std::make_unique<shadow_memory>(p.memory->size); }
    return *p.memory->shadow;
}

// Most accesses meet data of an operation that was over before; that is remembered.
bool knows(const access& a, const stamp& s)
{
    if (s.block == 0 || (s.block == a.by.block && s.thread == a.by.thread)) { return true; }
    static clock_pointer seen_clock;
    static std::uint32_t seen_block = 0;
    const clock_pointer& clock = a.thread.known.base;
    if (clock == seen_clock && s.block == seen_block) { return true; }
    if (!a.thread.known.knows(s)) { return false; }
    if (clock != nullptr && clock->knows_end_of(s.block)) {
        seen_clock = clock;
        seen_block = s.block;
    }
    return true;
}

bool includes(std::uint8_t reach, std::uint32_t a, std::uint32_t b)
{
    switch (static_cast<scope>(reach)) {
    case scope::block:
    case scope::cluster: return a == b;
    case scope::device: return record_of(a).device == record_of(b).device;
    default: return true;
    }
}

/// Accesses that may meet unordered: both strong, and each within the other's scope.
bool may_meet(const access& a, std::uint32_t block, const strength& how)
{
    return a.how.strong && how.strong && includes(a.how.scope, a.by.block, block) &&
           includes(how.scope, a.by.block, block);
}

void check_store(const access& a, const place& p, const cell& at, bool is_store)
{
    if (at.last == 0) { return; }
    const store_record& s = store_at(at.last);
    if (!knows(a, s.by) && !may_meet(a, s.by.block, s.how)) {
        report_race(a.c, a.i, a.lane, p, is_store, s.by, true, s.where);
    }
}

void check_readers(const access& a, const place& p, cell& at)
{
    for (std::uint32_t r = at.readers; r != 0; r = reader_at(r).next) {
        const reader_record& reader = reader_at(r);
        if (may_meet(a, reader.block, reader.how)) { continue; }
        for_lanes(reader.lanes, [&](unsigned l) {
            const stamp by{reader.block, reader.epoch, static_cast<std::uint16_t>(reader.warp * n_lanes + l)};
            if (!knows(a, by)) { report_race(a.c, a.i, a.lane, p, true, by, false, reader.where); }
        });
    }
}

void add_reader(const access& a, cell& at)
{
    unsigned n = 0;
    for (std::uint32_t r = at.readers; r != 0; r = reader_at(r).next, ++n) {
        reader_record& reader = reader_at(r);
        if (reader.block == a.by.block && reader.warp == a.c.w->number && reader.how.strong == a.how.strong) {
            // What the warp read before is covered: whoever knows the later read of a lane knows the earlier one.
            if (reader.epoch == a.by.epoch || reader.lanes == 1u << a.lane) {
                reader.epoch = a.by.epoch;
                reader.lanes |= 1u << a.lane;
                return;
            }
        }
        if (n + 1 == kept_readers) {
            reader = {a.by.block, a.by.epoch,  1u << a.lane, static_cast<std::uint16_t>(a.c.w->number),
                      a.how,      reader.next, &a.i};
            return;
        }
    }
    const std::uint32_t made = new_reader();
    reader_at(made) = {a.by.block, a.by.epoch, 1u << a.lane, static_cast<std::uint16_t>(a.c.w->number),
                       a.how,      at.readers, &a.i};
    at.readers = made;
}

std::uint64_t floor_key(const access& a, const cell& at)
{
    return reinterpret_cast<std::uint64_t>(&at) << 10 ^ a.by.thread;
}

/// Whether fence.sc instructions of both threads stand between the store and the load, in this order. Where the storing
/// thread had several, the last one counts, which makes some loads see more than they must.
bool fenced_before(const access& a, const store_record& s)
{
    if (s.sequence > a.thread.last_sequential) { return false; }
    const auto at = running_blocks().find(s.by.block);
    return at == running_blocks().end() || at->second->threads[s.by.thread].last_sequential > s.sequence;
}

/// Which store a load returns: the newest, or an older one when the thread knows of none after it and has read none.
std::uint32_t choose_store(const access& a, cell& at, std::uint64_t limit)
{
    std::uint32_t chosen = at.last;
    if (!settings().stale_loads || chosen == 0) { return chosen; }
    auto& read_up_to = a.c.b->order->read_up_to;
    const auto known_floor = read_up_to.empty() ? read_up_to.end() : read_up_to.find(floor_key(a, at));
    const std::uint64_t floor = known_floor == read_up_to.end() ? 0 : known_floor->second;
    for (;;) {
        const store_record& s = store_at(chosen);
        if (s.older == 0 || s.sequence <= floor || knows(a, s.by) || fenced_before(a, s)) { break; }
        const bool forced = s.sequence > limit;  // so that the parts of one value are of one time
        if (!forced && (limit != ~0ull || !random_choices().one_in(3))) { break; }
        chosen = s.older;
    }
    const store_record& s = store_at(chosen);
    if (!knows(a, s.by)) { read_up_to[floor_key(a, at)] = s.sequence; }
    return chosen;
}

void learn(const access& a, const store_record& s)
{
    if (!s.message || !a.how.strong) { return; }
    if (!includes(s.message_scope, a.by.block, s.message_block) ||
        !includes(a.how.scope, a.by.block, s.message_block)) {
        return;
    }
    if (a.acquires()) {
        if (a.thread.last_acquired == s.message) { return; }
        a.thread.known.learn(*s.message);
        a.thread.last_acquired = s.message;
        return;
    }
    const unsigned reach = s.message_block == a.by.block                                       ? 0
                           : record_of(s.message_block).device == record_of(a.by.block).device ? 1
                                                                                               : 2;
    a.thread.seen[reach].learn(*s.message);
}

/// What a store hands on to loads that acquire it.
struct message {
    std::shared_ptr<const knowledge> clock;
    std::uint8_t scope = 0;
};

message message_of(const access& a)
{
    if (a.releases()) { return {published(*a.c.b, a.by.thread), a.how.scope}; }
    if (a.how.strong && a.thread.fenced) { return {a.thread.fenced, std::min(a.how.scope, a.thread.fence_scope)}; }
    return {};
}

void put_store(const access& a, cell& at, std::uint32_t value, std::uint32_t before, const message& m,
               std::uint64_t sequence)
{
    if (at.last == 0) {
        at.last = new_store();
        store_at(at.last).value = before;
    }
    const std::uint32_t made = new_store();
    store_record& s = store_at(made);
    s.by = a.by;
    s.how = a.how;
    s.older = at.last;
    s.value = value;
    s.sequence = sequence;
    s.message = m.clock;
    s.message_scope = m.scope;
    s.message_block = a.by.block;
    s.where = &a.i;
    at.last = made;
    free_readers(at.readers);
    at.readers = 0;
    std::uint32_t last = made;
    for (unsigned n = 1; n < kept_stores && last != 0; ++n) { last = store_at(last).older; }
    if (last != 0) {
        free_stores(store_at(last).older);
        store_at(last).older = 0;
    }
}

std::uint32_t read_value(const std::uint8_t* bytes, unsigned n)
{
    std::uint32_t v = 0;
    std::memcpy(&v, bytes, n);
    return v;
}

void check_page(const access& a, const place& p, shadow_memory& s, bool is_store)
{
    const std::uint32_t writer = s.writer_of_page(p.offset);
    if (writer != 0 && !knows(a, {writer, 1, 0})) {
        report_race(a.c, a.i, a.lane, p, is_store, {writer, 1, 0}, true, nullptr);
    }
    if (!is_store) { return; }
    for (const std::uint32_t reader : s.readers_of_page(p.offset)) {
        if (!knows(a, {reader, 1, 0})) { report_race(a.c, a.i, a.lane, p, true, {reader, 1, 0}, false, nullptr); }
    }
}

}  // namespace

void ordered_load(context& c, const instruction& i, unsigned lane, const place& p, unsigned size, unsigned elements,
                  std::uint8_t* out)
{
    const access a(c, i, lane);
    shadow_memory& s = shadow_of(c, p);
    check_page(a, p, s, false);
    // PTX promises it for each element only, but CUB and NCCL rely on a vector being loaded whole.
    std::uint64_t limit = ~0ull;
    for (unsigned k = 0; k < elements; ++k) {
        std::uint8_t* to = out + k * size;
        for_cells(s, p.offset + k * size, p.bytes + k * size, size, [&](cell& at, std::uint8_t* memory, unsigned n) {
            check_store(a, p, at, false);
            const std::uint32_t newest = at.last;
            const std::uint32_t chosen = choose_store(a, at, limit);
            std::uint32_t value = read_value(memory, n);
            if (chosen != 0 && chosen != newest) {
                value = store_at(chosen).value;
                std::uint32_t after = newest;
                while (store_at(after).older != chosen) { after = store_at(after).older; }
                limit = std::min(limit, store_at(after).sequence - 1);
            } else if (limit == ~0ull && newest != 0) {
                limit = next_store_sequence;
            }
            std::memcpy(to, &value, n);
            to += n;
            add_reader(a, at);
            if (chosen != 0) { learn(a, store_at(chosen)); }
        });
    }
}

void ordered_store(context& c, const instruction& i, unsigned lane, const place& p, unsigned size, unsigned elements,
                   const std::uint8_t* in)
{
    const access a(c, i, lane);
    shadow_memory& s = shadow_of(c, p);
    check_page(a, p, s, true);
    const message m = message_of(a);
    const std::uint64_t sequence = next_store_sequence++;
    for (unsigned k = 0; k < elements; ++k) {
        const std::uint8_t* from = in + k * size;
        for_cells(s, p.offset + k * size, p.bytes + k * size, size, [&](cell& at, std::uint8_t* memory, unsigned n) {
            check_store(a, p, at, true);
            check_readers(a, p, at);
            put_store(a, at, read_value(from, n), read_value(memory, n), m, sequence);
            std::memcpy(memory, from, n);
            from += n;
        });
    }
}

void before_atomic(context& c, const instruction& i, unsigned lane, const place& p, unsigned size)
{
    const access a(c, i, lane);
    shadow_memory& s = shadow_of(c, p);
    check_page(a, p, s, true);
    for_cells(s, p.offset, p.bytes, size, [&](cell& at, std::uint8_t*, unsigned) {
        check_store(a, p, at, true);
        check_readers(a, p, at);
        if (at.last != 0) { learn(a, store_at(at.last)); }
    });
}

// A read-modify-write hands on what the store that it read had handed on.
void after_atomic(context& c, const instruction& i, unsigned lane, const place& p, unsigned size,
                  const std::uint8_t* old, bool stored)
{
    const access a(c, i, lane);
    shadow_memory& s = shadow_of(c, p);
    const std::uint64_t sequence = next_store_sequence++;
    const message own = stored ? message_of(a) : message{};
    for_cells(s, p.offset, p.bytes, size, [&](cell& at, std::uint8_t* memory, unsigned n) {
        if (!stored) { return add_reader(a, at); }
        message m = own;
        if (at.last != 0 && store_at(at.last).message) {
            const store_record& before = store_at(at.last);
            m.scope = m.clock ? std::max(m.scope, before.message_scope) : before.message_scope;
            if (m.clock) {
                auto both = std::make_shared<knowledge>(*m.clock);
                both->learn(*before.message);
                m.clock = both;
            } else {
                m.clock = before.message;
            }
        }
        put_store(a, at, read_value(memory, n), read_value(old, n), m, sequence);
        old += n;
    });
}

}  // namespace emulator
