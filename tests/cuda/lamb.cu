// The scheduled LAMB program compiles as CUDA, and its stages instantiate kernels. Compiled only: no device runs this.
#include <plait/optim/lamb.hpp>
#include <plait/plan/kernel_of.hpp>

namespace {

/// One stage of a program over n elements. The template argument is a type of types and integers alone.
template <class Kernel>
__global__ void run_stage(plait::kernels::tile_pointers pointers, std::size_t n)
{
    const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
        Kernel::run_element(pointers, i);
    }
}

/// The kernel's type is deduced here: see plait::make_kernel.
template <class Kernel>
void launch(Kernel, const plait::kernels::tile_pointers& pointers, std::size_t n)
{
    run_stage<Kernel><<<128, 256>>>(pointers, n);
}

template <class Program>
void launch_all(Program, const plait::kernels::tile_pointers& pointers, std::size_t n)
{
    using program = plait::lowered<Program>;
    [&]<int... P>(std::integer_sequence<int, P...>) {
        (launch(plait::make_kernel<program, P>(), pointers, n), ...);
    }(std::make_integer_sequence<int, program::plan.n_passes>{});
}

}  // namespace

void launch_lamb(const plait::kernels::tile_pointers& pointers, std::size_t n)
{
    using f32 = plait::optim::lamb<>;
    launch_all(f32::unscheduled, pointers, n);
    launch_all(f32::sliced, pointers, n);
    launch_all(f32::fused, pointers, n);
    using mixed = plait::optim::lamb<plait::f16, plait::bf16>;
    launch_all(mixed::fused, pointers, n);
}
