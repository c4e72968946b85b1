// What a warp's memory request costs: bytes, sectors of 32 bytes, and passes over the banks of shared memory.
#pragma once

#include "../execute/context.hpp"

#include <array>

namespace emulator {

/// The addresses that lanes of a warp access together.
struct request {
    std::array<std::uint64_t, n_lanes> address;
    std::uint32_t lanes = 0;
    unsigned bytes = 0;  ///< of each lane
    bool is_store = false;
    bool is_atomic = false;
};

/// Adds it to the launch's counters; i.space and the addresses tell the space.
void count_request(context& c, const instruction& i, const request& r);

}  // namespace emulator
