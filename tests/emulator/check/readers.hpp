// Who has read a cell since it was last stored to.
#pragma once

#include "access.hpp"
#include "race.hpp"

namespace emulator {

inline constexpr unsigned kept_readers = 8;  ///< beyond, some are forgotten

inline void check_readers(const access& a, const place& p, cell& at)
{
    for (std::uint32_t r = at.readers; r != 0; r = reader_at(r).next) {
        const reader_record& reader = reader_at(r);
        if (known_to_block(a, reader.block, reader.epoch) || may_meet(a, reader.block, reader.how)) { continue; }
        for_lanes(reader.lanes, [&](unsigned l) {
            const stamp by{reader.block, reader.epoch, static_cast<std::uint16_t>(reader.warp * n_lanes + l)};
            if (!knows(a, by)) { report_race(a.c, a.i, a.lane, p, true, by, false, reader.where); }
        });
    }
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
    const reader_record made{a.by.block, a.by.epoch, 1u << a.lane, static_cast<std::uint16_t>(a.c.w->number),
                             a.how,      0,          &a.i};
    unsigned n = 0;
    for (std::uint32_t r = at.readers; r != 0; r = reader_at(r).next, ++n) {
        reader_record& reader = reader_at(r);
        if (reader.block == a.by.block && reader.warp == made.warp && reader.how.strong == a.how.strong) {
            // What the warp read before is covered: whoever knows the later read of a lane knows the earlier one.
            if (reader.epoch == a.by.epoch || reader.lanes == made.lanes) {
                reader.epoch = a.by.epoch;
                reader.lanes |= made.lanes;
                return;
            }
        }
        if (n + 1 == kept_readers || covers(a, reader)) {
            const std::uint32_t next = reader.next;
            reader = made;
            reader.next = next;
            return;
        }
    }
    const std::uint32_t index = new_reader();
    reader_at(index) = made;
    reader_at(index).next = at.readers;
    at.readers = index;
}

}  // namespace emulator
