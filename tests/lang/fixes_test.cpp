// The right-hand column of docs/rules.md: what to write instead of what a rule refuses.
#include "graph/inspect.hpp"
#include "graph/rows.hpp"

#include <plait/plan/lowered.hpp>
#include <plait/schedule/schedule.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;
using inspect::count;
using pl::op;
using rows::gives;

constexpr auto N = pl::dim<"N">;
constexpr auto M = pl::dim<"M">;
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto matrix = pl::tensor<"matrix", float>(pl::replicated, M, N);
constexpr auto rows = pl::tensor<"rows", float>(pl::sliced<0>, M, N);
constexpr auto columns = pl::tensor<"columns", float>(pl::sliced<1>, M, N);
constexpr auto indices = pl::tensor<"indices", std::int32_t>(pl::replicated, N);
constexpr auto mine = pl::tensor<"mine", float>(pl::local, M, N);
constexpr auto whole = pl::tensor<"whole", float>(pl::replicated, M, N);
constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, M, N);
constexpr auto one = pl::tensor<"one", float>(pl::sliced<0>, 1_c, N);
constexpr auto next = pl::tensor<"next", float>(pl::replicated, pl::group<1>, N);

constexpr std::array operations = {
    gives(0.9_c * x, "f32 [N] replicated"),
    gives(x * 3.14159265358979_c, "f32 [N] replicated"),
    gives(pl::tensor<"w", float>(pl::local, 64_c), "f32 [64] local"),
    gives(pl::sum(matrix, pl::axis<1>), "f32 [M] replicated"),
    gives(pl::sqrt(pl::cast<float>(indices)), "f32 [N] replicated"),
    gives(x + pl::cast<float>(indices), "f32 [N] replicated"),
    gives(matrix * x, "f32 [M, N] replicated"),
    gives(pl::all_gather(rows) + columns, "f32 [M, N] sliced<1>"),
    gives(matrix + pl::all_gather(one), "f32 [M, N] replicated"),
    gives(rows + pl::reduce_scatter(pl::sum, mine), "f32 [M, N] sliced<0>"),
    gives(pl::send(x, pl::next_group) + next, "f32 [N] replicated on group 1"),
    gives(pl::select(x > 0_c, x, 0_c), "f32 [N] replicated"),
    gives(pl::dropout(x, 0.1_c, 7_c), "f32 [N] replicated"),
    gives(pl::softmax(pl::all_gather(columns)), "f32 [M, N] replicated"),
    gives(pl::sum(x, pl::per_tensor), "f32 [tensors(N)] replicated"),
};
static_assert(rows::all_hold(operations));

constexpr std::array collectives = {
    gives(pl::all_reduce(pl::sum, mine), "f32 [M, N] replicated"),
    gives(pl::reduce_scatter(pl::sum, mine), "f32 [M, N] sliced<0>"),
    gives(pl::all_gather(part), "f32 [M, N] replicated"),
    gives(pl::reduce(pl::sum, mine, pl::root<0>), "f32 [M, N] local"),
    gives(pl::broadcast(mine, pl::root<0>), "f32 [M, N] replicated"),
    gives(pl::gather(part, pl::root<0>), "f32 [M, N] local"),
    gives(pl::slice(whole), "f32 [M, N] sliced<0>"),
    gives(pl::all_to_all(part, pl::axis<1>), "f32 [M, N] sliced<1>"),
    gives(pl::send(whole, pl::next_group), "f32 [M, N] replicated on group 1"),
};
static_assert(rows::all_hold(collectives));

constexpr auto a = pl::tensor<"a", float>(pl::replicated, M, 64_c);
constexpr auto a_columns = pl::tensor<"a_columns", float>(pl::sliced<1>, M, 64_c);
constexpr auto w = pl::tensor<"w", float>(pl::replicated, 64_c, 32_c);
constexpr auto image = pl::tensor<"image", float>(pl::replicated, M, 3_c, 32_c, 32_c);
constexpr auto tall = pl::tensor<"tall", float>(pl::sliced<2>, M, 3_c, 32_c, 32_c);
constexpr auto filter = pl::tensor<"filter", float>(pl::replicated, 8_c, 3_c, 5_c, 5_c);

constexpr auto tokens = pl::tensor<"tokens", std::int32_t>(pl::replicated, N);

constexpr std::array contractions = {
    gives(pl::matmul(a, w), "f32 [M, 32] replicated"),
    gives(pl::matmul(a_columns, pl::slice(w)), "f32 [M, 32] local"),
    gives(pl::conv2d(image, filter), "f32 [M, 8, 28, 28] replicated"),
    gives(pl::conv2d(pl::all_gather(tall), filter), "f32 [M, 8, 28, 28] replicated"),
    gives(pl::embedding(a, tokens), "f32 [N, 64] replicated"),
};
static_assert(rows::all_hold(contractions));

constexpr auto g = pl::tensor<"g", pl::f16>(pl::local, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto m = pl::tensor<"m", float>(pl::replicated, N);
constexpr auto half = pl::tensor<"half", float>(pl::sliced<0>, N);
constexpr auto square = pl::tensor<"square", float>(pl::replicated, N, N);
constexpr auto total = pl::all_reduce(pl::sum, g);

constexpr std::array updates = {
    gives(pl::update(p, pl::cast<float>(total)), "f32 [N] replicated"),
    gives(pl::update(p, pl::sum(square, pl::axis<0>)), "f32 [N] replicated"),
    gives(pl::update(p, pl::all_gather(half)), "f32 [N] replicated"),
};
static_assert(rows::all_hold(updates));

constexpr auto lr_tensor = pl::tensor<"lr", float>(pl::replicated, N);
constexpr auto m1 = pl::update(m, m * 0.9_c);

TEST_CASE("fixes: operations, collectives and updates that the rules ask for")
{
    rows::check(operations);
    rows::check(collectives);
    rows::check(contractions);
    rows::check(updates);
}

TEST_CASE("fixes: programs")
{
    CHECK(count(pl::program<"prog">(pl::update(lr_tensor, p)), op::update) == 1);
    CHECK(count(pl::program<"prog">(pl::update(p, (p + 1_c) * 2_c)), op::update) == 1);
    CHECK(count(pl::program<"prog">(pl::update(p, p - m1), m1), op::update) == 2);
    CHECK(count(pl::program<"prog">(pl::update(p, p + m)), op::add) == 1);
    constexpr auto other = pl::tensor<"other", float>(pl::local, N);
    CHECK(count(pl::program<"prog">(pl::update(m, p + pl::all_reduce(pl::sum, other))), op::tensor) == 3);
    constexpr auto h = pl::tensor<"h", pl::f16>(pl::local, N);
    constexpr auto both = pl::label<"g">(total) + pl::label<"h">(pl::all_reduce(pl::sum, h));
    CHECK(count(pl::program<"prog">(pl::update(p, pl::cast<float>(both))), op::all_reduce) == 2);
    constexpr auto twice = pl::program<"prog">(pl::update(p, pl::label<"x">(p * 2_c)));
    CHECK(twice.graph.labelled("x") == inspect::find(twice, op::mul));
    constexpr auto each = pl::label<"sum">(total) + pl::label<"max">(pl::all_reduce(pl::max, g));
    CHECK(count(pl::program<"prog">(pl::update(p, pl::cast<float>(each))), op::all_reduce) == 2);
}

constexpr auto gradient = pl::tensor<"gradient", float>(pl::local, N);
constexpr auto avg = pl::label<"avg">(pl::all_reduce(pl::sum, gradient) / pl::world_size);
constexpr auto new_m = pl::update(m, 0.9_c * m + avg);
constexpr auto step = pl::program<"step">(pl::update(p, p - new_m), new_m);
constexpr auto moved = step | pl::split<"avg"> | pl::reorder<"avg">;

TEST_CASE("fixes: schedules")
{
    CHECK(count(step | pl::split<"avg">, op::reduce_scatter) == 1);
    constexpr auto s = step | pl::split<"avg"> | pl::reorder<"avg">;
    CHECK(inspect::first(s, op::sub).layout == pl::layout_kind::sliced);
    CHECK(inspect::layout_of(moved | pl::as_slice<"m">, "m") == pl::layout_kind::sliced);
    CHECK(inspect::count_fused(step | pl::fuse_only<"avg">) == 1);
    constexpr auto joined = pl::label<"joined">(pl::all_gather(half));
    constexpr auto sum = pl::program<"sum">(pl::update(p, joined + p)) | pl::reorder<"joined">;
    CHECK(inspect::first(sum, op::add).layout == pl::layout_kind::sliced);
    constexpr auto first = pl::label<"first">(pl::all_reduce(pl::sum, gradient));
    constexpr auto second = pl::label<"second">(pl::all_reduce(pl::sum, gradient * first));
    constexpr auto third = pl::label<"third">(pl::all_reduce(pl::sum, gradient * second));
    constexpr auto chain = pl::program<"chain">(pl::update(p, p + third));
    CHECK(inspect::count_fused(chain | pl::fuse_only<"first", "second", "third">) == 3);
    constexpr auto part = pl::tensor<"part", float>(pl::local, M, 64_c);
    constexpr auto product = pl::label<"mm">(pl::matmul(part, w));
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, M, 32_c);
    constexpr auto all = pl::label<"joint">(pl::all_reduce(pl::sum, product));
    constexpr auto joint = pl::program<"joint">(pl::update(y, all * 2_c)) | pl::split<"joint"> | pl::reorder<"joint">;
    CHECK(pl::lowered<decltype(joint | pl::overlap<"mm", "joint">)>::plan.violated == pl::rule::none);
    CHECK(pl::lowered<decltype(step)>::plan.violated == pl::rule::none);
    constexpr auto dropped = pl::program<"drop">(pl::update(p, pl::dropout(p, 0.1_c, 42_c)));
    CHECK(pl::lowered<decltype(dropped)>::plan.violated == pl::rule::none);
}

}  // namespace
