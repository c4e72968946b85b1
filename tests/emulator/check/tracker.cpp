#include "tracker.hpp"

namespace emulator {

void ordered_load(context&, const instruction&, unsigned, const place& p, unsigned size, unsigned elements,
                  std::uint8_t* out)
{
    std::memcpy(out, p.bytes, size * elements);
}
void ordered_store(context&, const instruction&, unsigned, const place& p, unsigned size, unsigned elements,
                   const std::uint8_t* in)
{
    std::memcpy(p.bytes, in, size * elements);
}
void before_atomic(context&, const instruction&, unsigned, const place&, unsigned) {}
void after_atomic(context&, const instruction&, unsigned, const place&, unsigned, const std::uint8_t*, bool) {}
void order_fence(context&, const instruction&) {}
void order_barrier(block&, const std::vector<std::uint32_t>&) {}
void order_warp(warp&, std::uint32_t) {}

}  // namespace emulator
