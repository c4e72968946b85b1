// Accesses of whole operations, such as copies, as the race checker sees them.
#pragma once

#include "../memory/allocation.hpp"
#include "../schedule/operation.hpp"

namespace emulator {

void order_range(operation& o, allocation& a, std::uint64_t offset, std::uint64_t size, bool store);

}  // namespace emulator
