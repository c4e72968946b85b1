// The last stores to a cell: which of them a load returns, and what it learns from it.
#pragma once

#include "../schedule/random.hpp"
#include "../schedule/settings.hpp"
#include "access.hpp"
#include "order.hpp"
#include "race.hpp"

#include <algorithm>

namespace emulator {

inline constexpr unsigned kept_stores = 5;  ///< for each cell

inline void check_store(const access& a, const place& p, const cell& at, bool is_store)
{
    if (at.block == 0) { return; }
    const stamp by = at.by();
    if (!knows(a, by) && !may_meet(a, at.block, at.how)) {
        report_race(a.c, a.i, a.lane, p, is_store, by, true, at.where);
    }
}

inline std::uint64_t floor_key(const access& a, const cell& at)
{
    return reinterpret_cast<std::uint64_t>(&at) << 10 ^ a.by.thread;
}

/// Whether fence.sc instructions of both threads stand between the store and the load, in this order. Where the storing
/// thread had several, the last one counts, which makes some loads see more than they must.
inline bool fenced_before(const access& a, const store_record& s)
{
    if (s.sequence > a.thread.last_sequential) { return false; }
    const auto at = running_blocks().find(s.block);
    return at == running_blocks().end() || at->second->threads[s.thread].last_sequential > s.sequence;
}

/// The store that a load returns.
struct choice {
    const store_record* store;
    const older_store* older = nullptr;  ///< the same, if it is not the newest
    std::uint64_t next = 0;              ///< the sequence of the store after it
};

/// The newest store, or an older one when the thread knows of none after it and has read none.
inline choice choose_store(const access& a, cell& at, std::uint64_t limit)
{
    choice chosen{&at};
    if (!settings().stale_loads || at.block == 0) { return chosen; }
    auto& read_up_to = a.c.b->order->read_up_to;
    const auto known_floor = read_up_to.empty() ? read_up_to.end() : read_up_to.find(floor_key(a, at));
    const std::uint64_t floor = known_floor == read_up_to.end() ? 0 : known_floor->second;
    for (;;) {
        const store_record& s = *chosen.store;
        if (s.older == 0 || s.sequence <= floor || knows(a, s.by()) || fenced_before(a, s)) { break; }
        const bool forced = s.sequence > limit;  // so that the parts of one value are of one time
        if (!forced && (limit != ~0ull || !random_choices().one_in(3))) { break; }
        const older_store& before = older_at(s.older);
        chosen = {&before, &before, s.sequence};
    }
    if (!knows(a, chosen.store->by())) { read_up_to[floor_key(a, at)] = chosen.store->sequence; }
    return chosen;
}

inline void learn(const access& a, const store_record& s)
{
    if (s.message == 0 || !a.how.strong) { return; }
    const message& m = messages.at(s.message);
    if (!includes(m.scope, a.by.block, s.block) || !includes(a.how.scope, a.by.block, s.block)) { return; }
    if (a.acquires()) {
        if (a.thread.last_acquired == m.clock) { return; }
        a.thread.known.learn(*m.clock);
        a.thread.last_acquired = m.clock;
        return;
    }
    const unsigned reach = s.block == a.by.block                                       ? 0
                           : record_of(s.block).device == record_of(a.by.block).device ? 1
                                                                                       : 2;
    a.thread.seen[reach].learn(*m.clock);
}

inline message message_of(const access& a)
{
    if (a.releases()) { return {published(*a.c.b, a.by.thread), a.how.scope}; }
    if (a.how.strong && a.thread.fenced) { return {a.thread.fenced, std::min(a.how.scope, a.thread.fence_scope)}; }
    return {};
}

/// `before`: the cell's value until now.
inline void put_store(const access& a, const place& p, cell& at, std::uint32_t before, const message& m,
                      std::uint64_t sequence)
{
    if (p.space == space::shared ? known_to_block(a, at.block, at.epoch) : knows_end_of(a, at.block)) {
        // What was there before an operation that is over, or a barrier of the block, is too old for anyone.
        free_stores(at.older);
        at.older = 0;
    }
    const std::uint32_t last = older_stores.take();
    older_store& o = older_at(last);
    static_cast<store_record&>(o) = at;
    o.value = before;
    store_record& s = at;
    s = {a.by.block, a.by.epoch, a.by.thread, a.how, last, sequence, &a.i, new_message(m.clock, m.scope)};
    free_readers(at);
    std::uint32_t oldest = last;
    for (unsigned n = 2; n < kept_stores && oldest != 0; ++n) { oldest = older_at(oldest).older; }
    if (oldest != 0) {
        free_stores(older_at(oldest).older);
        older_at(oldest).older = 0;
    }
}

}  // namespace emulator
