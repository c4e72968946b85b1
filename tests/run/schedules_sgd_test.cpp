// SGD with momentum and clipping in every schedule that explore finds of it.
#include "run/all_schedules.hpp"

#include <plait/optim/sgd.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::all_schedules;
using harness::check_all;

const std::map<std::string, double> scalars{{"lr", 0.01F}, {"momentum", 0.9F}, {"inv_scale", 0.5F}, {"weight_decay", 0.1F}, {"max_norm", 0.5F}};

TEST_CASE("clipped SGD with a bf16 model")
{
    const auto all = all_schedules(pl::optim::sgd<pl::bf16, pl::bf16, pl::optim::options{.clip = true}>::unscheduled);
    CHECK(all.size() == 19);
    for (int ranks : {1, 2, 4}) {
        for (std::int64_t n : {1, 3, 2050}) { check_all(all, {{"N", n}}, ranks, scalars, 200); }
    }
}

}  // namespace
