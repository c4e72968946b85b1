// The programs of docs/schedules.md.
#include <plait/lang/linear.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/schedule/schedule.hpp>
#include <plait/tune/explore.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto B = pl::dim<"B">;
constexpr auto H = pl::dim<"H">;

// [block]
constexpr auto x = pl::tensor<"x", float>(pl::local, B, H);         // each rank's part of a sum
constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, H);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, B, H);

constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
constexpr auto block = pl::program<"block">(pl::update(y, pl::dropout(sum + bias, 0.1_c, 7_c) + y));
// [/block]

// [split]
constexpr auto in_two = block | pl::split<"sum">;       // slices of B; split<"sum", 1> makes slices of H
// [/split]
// [reorder]
constexpr auto moved = in_two | pl::reorder<"sum">;     // bias, dropout and addition work on slices
// [/reorder]
// [as-slice]
constexpr auto stored = moved | pl::as_slice<"y">;      // y is bound to this rank's slice; no all_gather is left
// [/as-slice]
// [fuse]
constexpr auto one_kernel = moved | pl::fuse;
// [/fuse]

// [overlap]
constexpr auto a = pl::tensor<"a", float>(pl::sliced<1>, B, H);
constexpr auto w = pl::tensor<"w", float>(pl::sliced<0>, H, H);
constexpr auto product = pl::label<"mm">(pl::matmul(a, w));         // each rank's part of a sum
constexpr auto total = pl::label<"sum">(pl::all_reduce(pl::sum, product));
constexpr auto projection = pl::program<"projection">(pl::update(y, pl::dropout(total + bias, 0.1_c, 7_c) + y));

constexpr auto pipelined = projection | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse | pl::overlap<"mm", "sum">;
// [/overlap]

constexpr int count(const auto& g, pl::op kind)
{
    int n = 0;
    for (int i = 0; i < g.size; ++i) { n += g[i].kind == kind ? 1 : 0; }
    return n;
}

TEST_CASE("the steps of the guide do what it says")
{
    static_assert(count(block.graph, pl::op::all_reduce) == 1);
    static_assert(count(in_two.graph, pl::op::all_reduce) == 0);
    static_assert(count(in_two.graph, pl::op::reduce_scatter) == 1 && count(in_two.graph, pl::op::all_gather) == 1);
    CHECK(count(moved.graph, pl::op::all_gather) == 1);
    CHECK(moved.graph[moved.graph[moved.graph.outputs[0]].args[1]].kind == pl::op::all_gather);
    CHECK(count(stored.graph, pl::op::all_gather) == 0);
    CHECK(stored.graph[stored.graph.tensor("y")].layout == pl::layout_kind::sliced);
    int fused = 0;
    for (int i = 0; i < one_kernel.graph.size; ++i) { fused += one_kernel.graph[i].fused ? 1 : 0; }
    CHECK(fused == 2);
    using lowered = pl::lowered<std::remove_const_t<decltype(pipelined)>>;
    static_assert(lowered::plan.violated == pl::rule::none);
    CHECK(lowered::view.passes.size() == 2);
    CHECK(lowered::view.passes[0].chunked_until == 2);
    CHECK(!lowered::view.passes[1].barrier_before);
}

TEST_CASE("explore lists every schedule once")
{
    std::vector<std::string> found;
    // [explore]
    pl::explore(block).for_each([&](auto schedule, std::string_view how) {
        found.push_back(std::string(how));  // "split<sum> | reorder<sum> | fuse"
        static_assert(schedule.graph.size > 0);
    });
    // [/explore]
    CHECK(found[0] == "unscheduled");
    CHECK(std::find(found.begin(), found.end(), "split<sum> | reorder<sum> | fuse") != found.end());
    CHECK(std::find(found.begin(), found.end(), "split<sum, 1> | reorder<sum> | as_slice<y>") != found.end());
    for (std::size_t i = 0; i < found.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) { CHECK(found[i] != found[j]); }
    }
}

}  // namespace
