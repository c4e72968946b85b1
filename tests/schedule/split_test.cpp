// split: what becomes of the labelled collective, and of nothing else.
#include "graph/inspect.hpp"

#include <plait/schedule/schedule.hpp>

#include <doctest/doctest.h>

namespace {

namespace pl = plait;
using namespace pl::literals;
using inspect::count;
using inspect::first;
using pl::op;

constexpr auto M = pl::dim<"M">;
constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, M, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, M, N);
constexpr auto own = pl::tensor<"own", float>(pl::local, M, N);

template <class E>
constexpr auto program_of(E)
{
    return pl::program<"p">(pl::update(p, p - E{}));
}
constexpr auto reduced = program_of(pl::label<"x">(pl::all_reduce(pl::max, g)));

TEST_CASE("split: all_reduce is reduce_scatter and all_gather")
{
    constexpr auto s = reduced | pl::split<"x">;
    CHECK(pl::print(s) == R"(program "p"
  tensor p : f32 [M, N] replicated
  tensor g : f32 [M, N] local
  %2 = reduce_scatter<max><axis 0>(g) : f32 [M, N] sliced<0>  "x"
  %3 = all_gather(%2) : f32 [M, N] replicated  "x"
  %4 = sub(p, %3) : f32 [M, N] replicated
  %5 = update(p, %4) : f32 [M, N] replicated
)");
    static_assert(inspect::is_sound(s));
    CHECK(s.graph.size == reduced.graph.size + 1);
    CHECK(s.graph.name == reduced.graph.name);
}

TEST_CASE("split: along another axis, also counted from the end")
{
    constexpr auto s = reduced | pl::split<"x", 1>;
    CHECK(first(s, op::reduce_scatter).slice_dim == 1);
    CHECK(first(s, op::reduce_scatter).attrs.combine == pl::reduction::max);
    CHECK(first(s, op::all_gather).layout == pl::layout_kind::replicated);
    CHECK((reduced | pl::split<"x", -1>).graph == s.graph);
    CHECK((reduced | pl::split<"x", -2>).graph == (reduced | pl::split<"x">).graph);
    CHECK(s.graph != (reduced | pl::split<"x">).graph);
    static_assert(inspect::is_sound(s));
}

TEST_CASE("split: reduce is reduce_scatter and gather, on the same root")
{
    constexpr auto rooted =
        pl::program<"p">(pl::update(own, pl::label<"x">(pl::reduce(pl::product, g, pl::root<2>)) * 2_c));
    constexpr auto s = rooted | pl::split<"x">;
    CHECK(count(s, op::reduce_to_root) == 0);
    CHECK(first(s, op::reduce_scatter).attrs.combine == pl::reduction::product);
    CHECK(first(s, op::gather).attrs.a == 2);
    CHECK(first(s, op::gather).layout == pl::layout_kind::local);
    static_assert(inspect::is_sound(s));
}

TEST_CASE("split: broadcast is scatter and all_gather, from the same root")
{
    constexpr auto s = program_of(pl::label<"x">(pl::broadcast(g, pl::root<3>))) | pl::split<"x", 1>;
    CHECK(count(s, op::broadcast) == 0);
    CHECK(first(s, op::scatter).attrs.a == 3);
    CHECK(first(s, op::scatter).slice_dim == 1);
    CHECK(first(s, op::all_gather).layout == pl::layout_kind::replicated);
    static_assert(inspect::is_sound(s));
}

TEST_CASE("split: one collective of several, and both in either order")
{
    constexpr auto two = program_of(pl::label<"a">(pl::all_reduce(pl::sum, g)) + pl::label<"b">(pl::all_reduce(pl::max, g)));
    constexpr auto s = two | pl::split<"b">;
    CHECK(count(s, op::all_reduce) == 1);
    CHECK(first(s, op::all_reduce).attrs.combine == pl::reduction::sum);
    CHECK(first(s, op::reduce_scatter).attrs.combine == pl::reduction::max);
    CHECK((two | pl::split<"a"> | pl::split<"b">).graph == (two | pl::split<"b"> | pl::split<"a">).graph);
    CHECK(count(two | pl::split<"a"> | pl::split<"b">, op::all_gather) == 2);
}

TEST_CASE("split: multiply-adds stay as they were marked in the program")
{
    constexpr auto scaled = program_of(pl::label<"x">(pl::all_reduce(pl::sum, g)) * p);
    CHECK(first(scaled, op::sub).contracts == 2);
    CHECK(first(scaled | pl::split<"x">, op::sub).contracts == 2);
    CHECK(first(scaled | pl::split<"x"> | pl::reorder<"x">, op::sub).contracts == 2);
}

}  // namespace
