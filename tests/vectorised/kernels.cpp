// Kernels whose loops must vectorise: looked at by vectorised.cmake in the compiler's output.
#include <plait/optim/adam.hpp>
#include <plait/plan/kernel_of.hpp>
#include <plait/target/host/reducer.hpp>

#include <span>

namespace {

template <class Program>
void run(Program, const plait::kernels::tile_pointers& pointers, std::size_t n)
{
    plait::kernel_of<plait::lowered<Program>, 0>::run(pointers, n);
}

}  // namespace

void fused_adam(const plait::kernels::tile_pointers& pointers, std::size_t n) { run(plait::optim::adam<>::fused, pointers, n); }

void sum(const std::byte* tile, std::size_t n, plait::host::lane_state& state)
{
    plait::host::lane_reducing<plait::dtype::f32, plait::reduction::sum>::add(tile, n, state);
}

void three_ranks(std::span<const std::byte* const> ranks, std::size_t n, std::byte* tile)
{
    plait::host::combining<plait::dtype::bf16, plait::reduction::sum>::combine(ranks, n, tile);
}
