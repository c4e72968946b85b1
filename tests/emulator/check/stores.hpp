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
    if (at.last == 0) { return; }
    const store_record& s = store_at(at.last);
    if (!knows(a, s.by) && !may_meet(a, s.by.block, s.how)) {
        report_race(a.c, a.i, a.lane, p, is_store, s.by, true, s.where);
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
    const auto at = running_blocks().find(s.by.block);
    return at == running_blocks().end() || at->second->threads[s.by.thread].last_sequential > s.sequence;
}

/// Which store a load returns: the newest, or an older one when the thread knows of none after it and has read none.
inline std::uint32_t choose_store(const access& a, cell& at, std::uint64_t limit)
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

inline void learn(const access& a, const store_record& s)
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

inline message message_of(const access& a)
{
    if (a.releases()) { return {published(*a.c.b, a.by.thread), a.how.scope}; }
    if (a.how.strong && a.thread.fenced) { return {a.thread.fenced, std::min(a.how.scope, a.thread.fence_scope)}; }
    return {};
}

inline void put_store(const access& a, const place& p, cell& at, std::uint32_t value, std::uint32_t before,
                      const message& m, std::uint64_t sequence)
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
    const stamp& last_by = store_at(at.last).by;
    if (p.space == space::shared ? known_to_block(a, last_by.block, last_by.epoch) : knows_end_of(a, last_by.block)) {
        // What was there before an operation that is over, or a barrier of the block, is too old for anyone.
        free_stores(store_at(at.last).older);
        store_at(at.last).older = 0;
    }
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

}  // namespace emulator
