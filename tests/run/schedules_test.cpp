// Every schedule that explore finds of a program gives the bits of the unscheduled program.
#include "run/all_schedules.hpp"

#include <plait/lang/program.hpp>
#include <plait/schedule/schedule.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::all_schedules;
using harness::check_all;

TEST_CASE("a block of two dimensions, with a reduction along rows and a mean over the whole")
{
    constexpr auto A = pl::dim<"A">;
    constexpr auto B = pl::dim<"B">;
    constexpr auto g = pl::tensor<"g", float>(pl::local, A, B);
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, A, B);
    constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, B);
    constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
    constexpr auto y = pl::dropout(sum + bias, 0.25_c, 5_c) + x;
    constexpr auto rows =
        pl::update(pl::tensor<"rows", float>(pl::replicated, A, 1_c), pl::max(y, pl::axis<1>, pl::keep_dims));
    constexpr auto prog = pl::program<"block">(pl::update(x, y), rows);
    const auto all = all_schedules(prog);
    CHECK(all.size() > 4);
    for (int ranks : {1, 2, 3}) {
        for (const auto& [a, b] : {std::pair{1, 1}, std::pair{5, 3}, std::pair{3, 1100}, std::pair{0, 2}}) {
            check_all(all, {{"A", a}, {"B", b}}, ranks, {}, 4);
        }
    }
}

TEST_CASE("a sum that is one fma with its product keeps it, where the sum cannot move and the product can")
{
    constexpr auto mine = pl::tensor<"mine", float>(pl::local, pl::dim<"N">);
    constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, pl::tensor<"x", float>(pl::local, pl::dim<"N">)));
    constexpr auto p = pl::program<"kept">(pl::update(mine, sum * 1.7_c + mine));
    const harness::program whole = harness::erased(p, "whole");
    const harness::program moved = harness::erased(p | pl::split<"sum"> | pl::reorder<"sum">, "moved");
    for (int ranks = 1; ranks <= 3; ++ranks) {
        const reference::inputs given = harness::random_inputs(whole, ranks, {{"N", 77}});
        CHECK(harness::run(moved, ranks, given) == harness::run(whole, ranks, given));
    }
}

}  // namespace
