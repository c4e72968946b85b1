// Adam in every schedule that explore finds of it.
#include "run/all_schedules.hpp"

#include <plait/optim/adam.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::all_schedules;
using harness::check_all;

const std::map<std::string, double> scalars{{"lr", 0.01F}, {"beta1", 0.9F}, {"beta2", 0.99F}, {"eps", 1e-6F}, {"c1", 0.1F}, {"c2", 0.01F}};

TEST_CASE("Adam")
{
    const auto all = all_schedules(pl::optim::adam<>::unscheduled);
    CHECK(all.size() == 19);
    for (int ranks : {1, 2, 3, 5}) {
        for (std::int64_t n : {0, 1, 4, 1025, 3001}) { check_all(all, {{"N", n}}, ranks, scalars, 40); }
    }
}

}  // namespace
