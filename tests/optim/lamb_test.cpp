// LAMB in all its schedules.
#include "workload.hpp"

#include <plait/optim/lamb.hpp>

namespace {

using namespace plait::optim;

TEST_CASE("lamb: every schedule gives the same bits, close to float64, at every size")
{
    workload::check_sizes(workload::make<lamb<>>("lamb"));
}

TEST_CASE("lamb: many tensors of odd sizes, scattered or in one vector")
{
    workload::check_tensors(workload::make<lamb<>>("lamb"));
}

TEST_CASE("lamb: low-precision gradients and model copy, scaled and clipped")
{
    const auto mixed =
        workload::make<lamb<plait::f16, plait::bf16, options{.scale = true, .clip = true}>>("mixed lamb");
    workload::check_sizes(mixed, 64);
    workload::check_tensors(mixed, 64);
}

}  // namespace
