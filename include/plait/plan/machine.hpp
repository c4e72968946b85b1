// What stages cost depends on: a machine, as numbers.
#pragma once

#include <limits>

namespace plait {

/// How ranks reach each other: up to so many of them by this link. A latency of 0 and an infinite bandwidth is shared
/// memory: what ranks read and write there counts as memory.
struct machine_level {
    int ranks = std::numeric_limits<int>::max();
    double latency = 0;
    double bandwidth = std::numeric_limits<double>::infinity();  ///< of a rank, in and out together
    constexpr bool operator==(const machine_level&) const = default;
};

/// A machine as one rank sees it while all ranks are at work. Measured by `calibrate`, or written down from data sheets.
/// Times are seconds, sizes bytes, rates per second.
struct machine {
    using level = machine_level;
    static constexpr int n_levels = 3;  ///< one host, one load/store domain, the network

    double launch = 5e-7;           ///< of a pass: its start, empty
    double meeting = 1e-6;          ///< of all ranks
    double bandwidth = 1e10;        ///< of memory, reads and writes together
    double cache = 0;               ///< bytes that a rank works on faster than memory
    double cache_bandwidth = 3e10;  ///< of these
    double product_rate = 3e10;     ///< floating-point operations of matrix products in f32
    double step_rate = 1e9;         ///< elementwise operations: an addition counts as one
    level levels[n_levels]{};

    /// The link that all of n ranks are connected by: the first level that has them all, else the last.
    [[nodiscard]] constexpr const level& between(int ranks) const
    {
        for (const level& l : levels) {
            if (ranks <= l.ranks) { return l; }
        }
        return levels[n_levels - 1];
    }
    constexpr bool operator==(const machine&) const = default;
};

}  // namespace plait
