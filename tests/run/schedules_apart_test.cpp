// Two labelled collectives, in every schedule that explore finds of them.
#include "run/all_schedules.hpp"

#include <plait/lang/program.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::all_schedules;
using harness::check_all;

TEST_CASE("two labelled collectives, scheduled apart and together")
{
    constexpr auto N = pl::dim<"N">;
    constexpr auto g = pl::tensor<"g", float>(pl::local, N);
    constexpr auto h = pl::tensor<"h", float>(pl::local, N);
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
    constexpr auto a = pl::label<"a">(pl::all_reduce(pl::sum, g));
    constexpr auto b = pl::label<"b">(pl::broadcast(h, pl::root<0>));
    constexpr auto prog = pl::program<"two">(pl::update(x, x - a * 0.5_c), pl::update(y, y * b + a));
    const auto all = all_schedules(prog);
    CHECK(all.size() > 20);
    for (int ranks : {1, 3}) {
        for (std::int64_t n : {1, 2, 2500}) { check_all(all, {{"N", n}}, ranks, {}, 4); }
    }
}

}  // namespace
