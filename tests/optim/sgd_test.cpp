// SGD with momentum in all its schedules.
#include "workload.hpp"

#include <plait/optim/sgd.hpp>

namespace {

using namespace plait::optim;

TEST_CASE("sgd: every schedule gives the same bits, close to float64, at every size")
{
    workload::check_sizes(workload::make<sgd<>>("sgd"));
}

TEST_CASE("sgd: many tensors of odd sizes, scattered or in one vector")
{
    workload::check_tensors(workload::make<sgd<>>("sgd"));
}

TEST_CASE("sgd: low-precision gradients and model copy, scaled and clipped")
{
    const auto mixed = workload::make<sgd<plait::f16, plait::bf16, options{.scale = true, .clip = true}>>("mixed sgd");
    workload::check_sizes(mixed, 64);
    workload::check_tensors(mixed, 64);
}

}  // namespace
