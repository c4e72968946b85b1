// The loop over a warp's instructions.
#pragma once

#include "../schedule/random.hpp"
#include "state.hpp"

namespace emulator {

/// Executes at most `budget` instructions of the warp's runnable lanes, and says how many. Throws kernel_fault.
unsigned run_warp(warp& w, unsigned budget, random_source& random);

}  // namespace emulator
