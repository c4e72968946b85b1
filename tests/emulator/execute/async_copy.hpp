// What cp.async and mbarrier share.
#pragma once

#include "../decode/binding.hpp"
#include "context.hpp"

namespace emulator {

/// Lets all copies of these lanes land.
void land_copies(context& c, const instruction& i, std::uint32_t lanes);
/// cp.async.mbarrier.arrive.
void bind_copy_arrival(binding& b);

}  // namespace emulator
