// fuse: which collectives are marked to run inside kernels.
#include "graph/inspect.hpp"

#include <plait/optim/lamb.hpp>
#include <plait/optim/sgd.hpp>
#include <plait/schedule/schedule.hpp>

#include <doctest/doctest.h>

namespace {

namespace pl = plait;
using namespace pl::literals;
using inspect::count_collectives;
using inspect::count_fused;
using inspect::first;
using pl::op;

using adam = pl::optim::adam<>;
using lamb = pl::optim::lamb<>;

constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto q = pl::tensor<"q", float>(pl::sliced<0>, N);

TEST_CASE("fuse: marks all collectives of the optimizers, and changes nothing else")
{
    CHECK(count_fused(adam::sliced) == 0);
    CHECK(count_fused(adam::fused) == 2);  // reduce_scatter, all_gather
    CHECK(count_collectives(adam::fused) == 2);
    CHECK(count_fused(lamb::fused) == 4);  // and the all_reduces of the two norms
    CHECK(count_collectives(lamb::fused) == 4);
    CHECK(count_fused(pl::optim::sgd<>::fused) == 2);
    CHECK(count_fused(adam::unscheduled | pl::fuse) == 1);

    auto unmarked = adam::fused.graph;
    for (int i = 0; i < unmarked.size; ++i) { unmarked[i].fused = false; }
    CHECK(unmarked == adam::sliced.graph);
}

TEST_CASE("fuse: once is enough")
{
    CHECK((adam::fused | pl::fuse).graph == adam::fused.graph);
    CHECK((lamb::fused | pl::fuse).graph == lamb::fused.graph);
}

TEST_CASE("fuse: may come before as_slice")
{
    constexpr auto moved = adam::unscheduled | pl::split<"gradient"> | pl::reorder<"gradient">;
    CHECK((moved | pl::fuse | pl::as_slice<"m", "v">).graph == (moved | pl::as_slice<"m", "v"> | pl::fuse).graph);
}

TEST_CASE("fuse_only: the collectives with a label")
{
    CHECK((adam::sliced | pl::fuse_only<"gradient">).graph == adam::fused.graph);
    // The norms' all_reduces have no label: they belong to the kernels that they lie between.
    CHECK((lamb::sliced | pl::fuse_only<"gradient">).graph == lamb::fused.graph);

    constexpr auto a = pl::label<"a">(pl::all_reduce(pl::sum, g));
    constexpr auto b = pl::label<"b">(pl::all_reduce(pl::max, g));
    constexpr auto two = pl::program<"two">(pl::update(p, a * b));
    constexpr auto one = two | pl::fuse_only<"b">;
    CHECK(count_fused(one) == 1);
    CHECK(one.graph[one.graph.labelled("b")].fused);
    CHECK_FALSE(one.graph[one.graph.labelled("a")].fused);
    CHECK((one | pl::fuse_only<"a">).graph == (two | pl::fuse_only<"a", "b">).graph);
    CHECK((two | pl::fuse_only<"b", "a">).graph == (two | pl::fuse).graph);
}

TEST_CASE("fuse: a collective with no computation next to it is left alone")
{
    // Between tensors and collectives alone: the all_gather of a tensor, an all_to_all, a broadcast into an update.
    constexpr auto M = pl::dim<"M">;
    constexpr auto s = pl::tensor<"s", float>(pl::sliced<0>, M, N);
    constexpr auto t = pl::tensor<"t", float>(pl::sliced<1>, M, N);
    constexpr auto mixed = pl::program<"mixed">(pl::update(p, pl::all_gather(q) + pl::broadcast(g, pl::root<0>)),
                                                pl::update(t, pl::all_to_all(s * 2_c, pl::axis<1>) + 1_c)) |
                           pl::fuse;
    CHECK(count_fused(mixed) == 1);
    CHECK(first(mixed, op::broadcast).fused);
    CHECK_FALSE(first(mixed, op::all_gather).fused);
    CHECK_FALSE(first(mixed, op::all_to_all).fused);
}

TEST_CASE("fuse: an all_gather straight after a fused reduce_scatter joins its kernel")
{
    constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
    constexpr auto s = pl::program<"sum">(pl::update(p, sum), pl::update(q, q + pl::slice(sum))) | pl::split<"sum"> |
                       pl::reorder<"sum"> | pl::fuse;
    CHECK(count_collectives(s) == 2);
    CHECK((s | pl::fuse).graph == s.graph);
    CHECK(first(s, op::reduce_scatter).fused);
    CHECK(first(s, op::all_gather).fused);
    CHECK(s.graph[first(s, op::all_gather).args[0]].kind == op::reduce_scatter);
}

}  // namespace
