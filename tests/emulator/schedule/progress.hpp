// Whether anything happened that a waiting thread could wait for. Without it for long, waits can never end.
#pragma once

#include "../execute/state.hpp"

#include <cstdint>

namespace emulator {

inline std::uint64_t progress_count = 0;
inline void note_progress() { ++progress_count; }

/// progress_count when a thread last read a clock: it may wait for a time.
inline std::uint64_t clock_read_at = ~std::uint64_t{0};

/// Called for each load of a warp, and for atomics that change nothing: a warp that waits loads the same address again
/// and again.
inline void note_load(warp& w, const instruction& i, std::uint64_t address)
{
    std::uint64_t& last = w.last_loads[i.index % w.last_loads.size()];
    const std::uint64_t now = address ^ std::uint64_t{i.index} << 48;
    if (last != now || w.repeated_since != progress_count) {
        last = now;
        w.repeated_since = progress_count;
        w.repeated_loads = 0;
    } else {
        ++w.repeated_loads;
    }
}

/// Whether the warp does nothing but wait, as far as can be seen.
inline bool spins(const warp& w) { return w.repeated_since == progress_count && w.repeated_loads > 64; }

}  // namespace emulator
