// Kernels by multicast must compile for every architecture: those before 9.0 without them.
#include <plait/cuda.cuh>
#include <plait/fabric/nccl_multicast.cuh>
#include <plait/optim/adam.hpp>

#if defined(PLAIT_HAS_NCCL)
namespace pl = plait;
using namespace pl::literals;

namespace {

constexpr auto N = pl::dim<"N">;
template <class T>
constexpr auto reduced = pl::program<"reduced">(pl::update(pl::tensor<"y", T>(pl::replicated, N), pl::all_reduce(pl::sum, pl::tensor<"x", T>(pl::local, N))));

template <class Program>
void use(Program p, pl::nccl_multicast_communicator& comm)
{
    pl::executable run{p, comm};
    run.set_parameters({.multicast = true});
}

}  // namespace

void use_all(pl::nccl_multicast_communicator& comm)
{
    use(reduced<float>, comm);
    use(reduced<pl::f16>, comm);
    use(reduced<pl::bf16>, comm);
    use(pl::optim::adam<>::fused, comm);
}
#endif
