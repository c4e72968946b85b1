// What must not be done while a wgmma.mma_async is under way.
#pragma once

#include "context.hpp"

namespace emulator {

/// Reports that an instruction of the warp accesses an accumulator before wgmma.wait_group, if it does.
void check_accumulators(context& c, const instruction& i);

/// Reports that a warp ends while products are under way, if it does.
void check_products_at_end(context& c, const instruction& i);

}  // namespace emulator
