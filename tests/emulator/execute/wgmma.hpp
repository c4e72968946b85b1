// Registers of wgmma.mma_async while it is under way.
#pragma once

#include "context.hpp"

namespace emulator {

/// Reports that an instruction of the warp accesses an accumulator before wgmma.wait_group, if it does.
void check_accumulators(context& c, const instruction& i);

}  // namespace emulator
