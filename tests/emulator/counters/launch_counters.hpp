// What a kernel did, in numbers.
#pragma once

#include "../execute/state.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace emulator {

/// Traffic of one state space.
struct space_counters {
    std::uint64_t load_requests = 0;
    std::uint64_t store_requests = 0;
    std::uint64_t bytes_loaded = 0;
    std::uint64_t bytes_stored = 0;
    std::uint64_t sectors_loaded = 0;
    std::uint64_t sectors_stored = 0;
    std::uint64_t wide_requests = 0;  ///< of 16 bytes for each lane
    std::uint64_t wide_bytes = 0;     ///< moved by them
    std::uint64_t atomics = 0;        ///< requests
};

struct launch_counters {
    std::string kernel;
    int device = 0;
    std::uint64_t blocks = 0;
    std::uint64_t threads = 0;
    space_counters global, shared, local;
    std::uint64_t bank_conflicts = 0;  ///< passes over shared memory beyond one for each request
    std::uint64_t barriers = 0;        ///< completed ones of blocks
    std::map<const function*, std::vector<execution_count>> executed;

    execution_count* of(const function& f)
    {
        auto& counts = executed[&f];
        if (counts.empty()) { counts.resize(f.code.size()); }
        return counts.data();
    }
};

}  // namespace emulator
