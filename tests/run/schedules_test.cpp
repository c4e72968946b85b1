// Every schedule that explore finds of a program gives the bits of the unscheduled program.
#include "run/check.hpp"

#include <plait/optim/lamb.hpp>
#include <plait/optim/sgd.hpp>
#include <plait/tune/explore.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;

template <class Program>
std::vector<harness::program> all_schedules(Program p)
{
    std::vector<harness::program> all;
    pl::explore(p).for_each(
        [&](auto schedule, std::string_view how) { all.push_back(harness::erased(schedule, std::string(how))); });
    return all;
}

/// All against the first, which is checked against the oracle.
void check_all(const std::vector<harness::program>& all, const std::map<std::string, std::int64_t>& extents, int ranks,
               const std::map<std::string, double>& scalars, double ulps)
{
    reference::inputs given = harness::random_inputs(all[0], ranks, extents, 1, 0.1, 2);
    given.scalars = scalars;
    const harness::outcome first = harness::check(all[0], ranks, given, ulps);
    for (const harness::program& p : all) {
        CAPTURE(p.name);
        CAPTURE(ranks);
        CHECK(harness::run(p, ranks, given) == first);
    }
}

const std::map<std::string, double> scalars{
    {"lr", 0.01F}, {"beta1", 0.9F},    {"beta2", 0.99F},    {"eps", 1e-6F},         {"c1", 0.1F},
    {"c2", 0.01F}, {"momentum", 0.9F}, {"inv_scale", 0.5F}, {"weight_decay", 0.1F}, {"max_norm", 0.5F}};

TEST_CASE("Adam")
{
    const auto all = all_schedules(pl::optim::adam<>::unscheduled);
    CHECK(all.size() == 19);
    for (int ranks : {1, 2, 3, 5}) {
        for (std::int64_t n : {0, 1, 4, 1025, 3001}) { check_all(all, {{"N", n}}, ranks, scalars, 40); }
    }
}

TEST_CASE("clipped SGD with a bf16 model")
{
    const auto all = all_schedules(pl::optim::sgd<pl::bf16, pl::bf16, pl::optim::options{.clip = true}>::unscheduled);
    CHECK(all.size() == 19);
    for (int ranks : {1, 2, 4}) {
        for (std::int64_t n : {1, 3, 2050}) { check_all(all, {{"N", n}}, ranks, scalars, 200); }
    }
}

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
