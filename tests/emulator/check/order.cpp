#include "order.hpp"
#include "shadow.hpp"
namespace emulator {
block::block() = default;
block::~block() = default;
void order_begin(operation&) {}
void order_end(operation&) {}
void order_block_begin(operation&, block&) {}
void order_block_end(operation&, block&) {}
void order_host_waited(operation&) {}
}  // namespace emulator
#include "ranges.hpp"
namespace emulator {
void order_range(operation&, allocation&, std::uint64_t, std::uint64_t, bool) {}
}  // namespace emulator
