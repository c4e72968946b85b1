// as_slice: tensors that are stored in slices, and the all_gathers that this saves.
#include "graph/inspect.hpp"

#include <plait/optim/lamb.hpp>
#include <plait/schedule/schedule.hpp>
#include <plait/tune/explore.hpp>

#include <doctest/doctest.h>

namespace {

namespace pl = plait;
using namespace pl::literals;
using inspect::count;
using inspect::layout_of;
using pl::layout_kind;
using pl::op;

using adam = pl::optim::adam<>;
constexpr auto moved = adam::unscheduled | pl::split<"gradient"> | pl::reorder<"gradient">;

TEST_CASE("as_slice: the tensor is sliced and its all_gather is gone")
{
    CHECK(count(moved, op::all_gather) == 3);
    constexpr auto m = moved | pl::as_slice<"m">;
    CHECK(layout_of(m, "m") == layout_kind::sliced);
    CHECK(layout_of(m, "v") == layout_kind::replicated);
    CHECK(count(m, op::all_gather) == 2);
    constexpr auto both = m | pl::as_slice<"v">;
    CHECK(layout_of(both, "v") == layout_kind::sliced);
    CHECK(count(both, op::all_gather) == 1);
    // p is what the model computes with: every rank still has all of it.
    CHECK(layout_of(both, "p") == layout_kind::replicated);
    CHECK(inspect::count_collectives(both) == 2);
    static_assert(inspect::is_sound(m) && inspect::is_sound(both));
}

TEST_CASE("as_slice: of several tensors is one after the other")
{
    CHECK((moved | pl::as_slice<"m", "v">).graph == (moved | pl::as_slice<"m"> | pl::as_slice<"v">).graph);
    CHECK(pl::detail::schedule_hash((moved | pl::as_slice<"v", "m">).graph) ==
          pl::detail::schedule_hash((moved | pl::as_slice<"m", "v">).graph));
    CHECK(pl::detail::schedule_hash((moved | pl::as_slice<"m">).graph) !=
          pl::detail::schedule_hash((moved | pl::as_slice<"v">).graph));
}

TEST_CASE("as_slice: master parameters, where the model has a copy in low precision")
{
    using mixed = pl::optim::adam<pl::f16, pl::bf16>;
    constexpr auto s = mixed::sliced;
    CHECK(layout_of(s, "p") == layout_kind::sliced);
    CHECK(layout_of(s, "model") == layout_kind::replicated);
    // What is gathered is the copy, in two bytes an element.
    CHECK(count(s, op::all_gather) == 1);
    CHECK(inspect::first(s, op::all_gather).type == pl::dtype::bf16);
    static_assert(inspect::is_sound(s));
}

TEST_CASE("as_slice: LAMB's small all_reduces stay")
{
    using lamb = pl::optim::lamb<>;
    CHECK(count(lamb::sliced, op::all_reduce) == 2);
    CHECK(count(lamb::sliced, op::all_gather) == 1);
    CHECK(count(lamb::sliced, op::reduce_scatter) == 1);
    CHECK(layout_of(lamb::sliced, "m") == layout_kind::sliced);
    static_assert(inspect::is_sound(lamb::sliced));
}

TEST_CASE("as_slice: a tensor that is only read, and one along another dimension")
{
    constexpr auto M = pl::dim<"M">;
    constexpr auto N = pl::dim<"N">;
    constexpr auto g = pl::tensor<"g", float>(pl::local, M, N);
    constexpr auto p = pl::tensor<"p", float>(pl::replicated, M, N);
    constexpr auto decay = pl::tensor<"decay", float>(pl::replicated, M, N);
    constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, N);
    constexpr auto total = pl::label<"total">(pl::all_reduce(pl::sum, g));
    constexpr auto step = pl::program<"step">(pl::update(p, p * decay + total * bias));
    constexpr auto s = step | pl::split<"total", 1> | pl::reorder<"total"> | pl::as_slice<"bias">;
    CHECK(s.graph[s.graph.tensor("bias")].slice_dim == 0);  // its dimension 0 is dimension 1 of the product
    CHECK(layout_of(s, "bias") == layout_kind::sliced);
    constexpr auto q = pl::tensor<"q", float>(pl::replicated, M, N);
    constexpr auto stored =
        pl::program<"stored">(pl::update(p, p + pl::update(q, q + total)), pl::update(q, q + total)) |
        pl::split<"total", 1> | pl::reorder<"total"> | pl::as_slice<"q">;
    CHECK(stored.graph[stored.graph.tensor("q")].slice_dim == 1);
    CHECK(count(stored, op::all_gather) == 1);
    static_assert(inspect::is_sound(s) && inspect::is_sound(stored));
}

TEST_CASE("as_slice: the program may become larger, by one tensor or by several")
{
    constexpr auto N = pl::dim<"N">;
    constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
    constexpr auto z = pl::tensor<"z", float>(pl::replicated, N);
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, N);
    // z * 2 is still needed whole for w: its slice for y is one more node.
    constexpr auto step = pl::program<"step">(pl::update(part, part + y), pl::update(y, z * 2_c), pl::update(w, z * 2_c));
    constexpr auto one = step | pl::as_slice<"y">;
    CHECK(one.graph.size == step.graph.size + 1);
    CHECK(layout_of(one, "y") == layout_kind::sliced);
    CHECK(count(one, op::slice) == 1);
    constexpr auto v = pl::tensor<"v", float>(pl::replicated, N);
    constexpr auto two = pl::program<"two">(pl::update(part, part + y + v), pl::update(y, z * 2_c), pl::update(v, z * 3_c),
                                            pl::update(w, z * 2_c + z * 3_c)) |
                         pl::as_slice<"y", "v">;
    CHECK(layout_of(two, "y") == layout_kind::sliced);
    CHECK(layout_of(two, "v") == layout_kind::sliced);
    CHECK(count(two, op::slice) == 2);
    static_assert(inspect::is_sound(one) && inspect::is_sound(two));
}

}  // namespace
