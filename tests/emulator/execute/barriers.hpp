// Waiting for others: barriers of a block, and the gathering of lanes in .sync instructions.
#pragma once

#include "context.hpp"

namespace emulator {

/// Lets threads go on whose barrier is complete. Called when a thread arrives or exits.
void complete_barriers(block& b);

/// Executes it when all lanes of the member mask are at the instruction; else lets them wait. The mask is in
/// argument `mask_argument`.
void gather(context& c, const instruction& i, unsigned mask_argument, gathered_body body);
/// Lets lanes go on that waited for lanes which have arrived, or exited.
void release_lanes_in_sync(warp& w);

}  // namespace emulator
