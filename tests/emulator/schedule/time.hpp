// Emulated time: it advances with executed instructions, so that it is the same in every run with a seed.
#pragma once

#include <cstdint>

namespace emulator {

/// What %globaltimer, %clock and nanosleep go by.
std::uint64_t emulated_nanoseconds();
/// Called by the scheduler; counts warp instructions, or jumps ahead when all threads sleep.
void advance_time(std::uint64_t nanoseconds);

}  // namespace emulator
