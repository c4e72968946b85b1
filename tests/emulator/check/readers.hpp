// Who has read a cell since it was last stored to.
#pragma once

#include "access.hpp"
#include "race.hpp"

namespace emulator {

inline void check_readers(const access& a, const place& p, cell& at)
{
    any_reader(at, [&](const reader_record& reader) {
        if (known_to_block(a, reader.block, reader.epoch) || may_meet(a, reader.block, reader.how)) { return false; }
        for_lanes(reader.lanes, [&](unsigned l) {
            const stamp by{reader.block, reader.epoch, static_cast<std::uint16_t>(reader.warp * n_lanes + l)};
            if (!knows(a, by)) { report_race(a.c, a.i, a.lane, p, true, by, false, reader.where); }
        });
        return false;
    });
}

/// Whoever knows this read knows one of an operation that this thread knows to be over, or from before a barrier of its
/// block.
inline bool covers(const access& a, const reader_record& earlier)
{
    return earlier.how.strong == a.how.strong && earlier.how.scope == a.how.scope &&
           (known_to_block(a, earlier.block, earlier.epoch) || knows_end_of(a, earlier.block));
}

inline void add_reader(const access& a, cell& at)
{
    const reader_record made{&a.i,        a.by.block, a.by.epoch, 1u << a.lane, static_cast<std::uint8_t>(a.c.w->number),
                             a.how};
    const bool is_known = any_reader(at, [&](reader_record& reader) {
        if (reader.block == a.by.block && reader.warp == made.warp && reader.how.strong == a.how.strong) {
            // What the warp read before is covered: whoever knows the later read of a lane knows the earlier one.
            if (reader.epoch == a.by.epoch || reader.lanes == made.lanes) {
                reader.epoch = a.by.epoch;
                reader.lanes |= made.lanes;
                return true;
            }
        }
        if (!covers(a, reader)) { return false; }
        reader = made;
        return true;
    });
    if (is_known) { return; }
    if (at.reader.block == 0) {
        at.reader = made;
        return;
    }
    if (at.more == 0) { at.more = readers.take(); }
    more_readers& more = readers.at(at.more);
    if (more.count < more.all.size()) {
        more.all[more.count++] = made;
        return;
    }
    const unsigned replaced = more.turn++ % kept_readers;
    (replaced == 0 ? at.reader : more.all[replaced - 1]) = made;
}

}  // namespace emulator
