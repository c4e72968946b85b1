// AdamW in all its schedules.
#include "workload.hpp"

#include <plait/optim/adam.hpp>

namespace {

using namespace plait::optim;

TEST_CASE("adamw: every schedule gives the same bits, close to float64, at every size")
{
    workload::check_sizes(workload::make<adamw<>>("adamw"));
}

TEST_CASE("adamw: many tensors of odd sizes, scattered or in one vector")
{
    workload::check_tensors(workload::make<adamw<>>("adamw"));
}

TEST_CASE("adamw: low-precision gradients and model copy, scaled and clipped")
{
    const auto mixed =
        workload::make<adamw<plait::f16, plait::bf16, options{.scale = true, .clip = true}>>("mixed adamw");
    workload::check_sizes(mixed, 64);
    workload::check_tensors(mixed, 64);
}

}  // namespace
