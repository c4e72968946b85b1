// reorder: what comes to work on slices, what stays whole, and what is gathered.
#include "graph/inspect.hpp"

#include <plait/optim/lamb.hpp>
#include <plait/schedule/schedule.hpp>

#include <doctest/doctest.h>

namespace {

namespace pl = plait;
using namespace pl::literals;
using inspect::count;
using inspect::first;
using pl::layout_kind;
using pl::op;

constexpr auto M = pl::dim<"M">;
constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto q = pl::tensor<"q", float>(pl::replicated, N);
constexpr auto avg = pl::label<"avg">(pl::all_reduce(pl::sum, g));

template <class Program>
constexpr auto moved(Program program)
{
    return program | pl::split<"avg"> | pl::reorder<"avg">;
}

TEST_CASE("reorder: elementwise operations work on slices, and the result is gathered once")
{
    constexpr auto s = moved(pl::program<"p">(pl::update(p, p - pl::sqrt(avg) * 0.1_c)));
    CHECK(pl::print(s) == R"(program "p"
  tensor p : f32 [N] replicated
  tensor g : f32 [N] local
  %2 = reduce_scatter<sum><axis 0>(g) : f32 [N] sliced<0>  "avg"
  %3 = sqrt(%2) : f32 [N] sliced<0>
  %5 = mul(%3, 0.1) : f32 [N] sliced<0>
  %6 = sub(p, %5) : f32 [N] sliced<0>
  %7 = all_gather(%6) : f32 [N] replicated  "avg"
  %8 = update(p, %7) : f32 [N] replicated
)");
    static_assert(inspect::is_sound(s));
}

TEST_CASE("reorder: one all_gather for each replicated result")
{
    // p, q and the updates' readers: the new q's slice is what p's update reads.
    constexpr auto q1 = pl::update(q, q + avg);
    constexpr auto s = moved(pl::program<"p">(pl::update(p, p * q1), q1));
    CHECK(count(s, op::all_gather) == 2);
    CHECK(first(s, op::mul).layout == layout_kind::sliced);
    static_assert(inspect::is_sound(s));
    // Two updates of one value share its all_gather.
    constexpr auto shared = moved(pl::program<"p">(pl::update(p, p + avg), pl::update(q, p + avg)));
    CHECK(count(shared, op::all_gather) == 1);
    CHECK(count(shared, op::update) == 2);
    // A sliced tensor needs none.
    constexpr auto state = pl::tensor<"state", float>(pl::sliced<0>, N);
    constexpr auto local = pl::program<"p">(pl::update(state, pl::slice(avg * 2_c)));
    CHECK(inspect::count_collectives(moved(local)) == 1);
    CHECK(count(moved(local), op::reduce_scatter) == 1);
    CHECK(count(moved(local), op::slice) == 0);
    // Also where a slice is all that is wanted.
    constexpr auto direct = moved(pl::program<"p">(pl::update(state, state + pl::slice(avg))));
    CHECK(inspect::count_collectives(direct) == 1);
    CHECK(first(direct, op::add).layout == layout_kind::sliced);
    static_assert(inspect::is_sound(direct));
}

TEST_CASE("reorder: a reduction over the slices gains a small all_reduce of the same kind")
{
    constexpr auto s = moved(pl::program<"p">(pl::update(p, avg * pl::max(avg))));
    CHECK(first(s, op::reduce).layout == layout_kind::local);
    CHECK(first(s, op::all_reduce).attrs.combine == pl::reduction::max);
    CHECK(first(s, op::all_reduce).dims == 0);
    static_assert(inspect::is_sound(s));
    // Means of the slices are parts of the whole mean: they add up.
    constexpr auto mean = moved(pl::program<"p">(pl::update(p, avg - pl::mean(avg))));
    CHECK(first(mean, op::reduce).attrs.combine == pl::reduction::mean);
    CHECK(first(mean, op::all_reduce).attrs.combine == pl::reduction::sum);
    // The norm of another value of that shape is taken slice by slice, too.
    constexpr auto norms = moved(pl::program<"p">(pl::update(p, avg * (pl::norm(q) / pl::norm(avg)))));
    CHECK(count(norms, op::all_reduce) == 2);
    CHECK(count(norms, op::slice) == 1);
    static_assert(inspect::is_sound(norms));
}

TEST_CASE("reorder: along rows that are whole on a rank, reductions stay on it")
{
    constexpr auto gm = pl::tensor<"gm", float>(pl::local, M, N);
    constexpr auto pm = pl::tensor<"pm", float>(pl::replicated, M, N);
    constexpr auto total = pl::label<"avg">(pl::all_reduce(pl::sum, gm));
    constexpr auto rowwise = pl::program<"p">(pl::update(pm, total / pl::sum(total, pl::axis<1>, pl::keep_dims)));
    constexpr auto s = moved(rowwise);
    CHECK(count(s, op::all_reduce) == 0);
    CHECK(first(s, op::reduce).layout == layout_kind::sliced);
    static_assert(inspect::is_sound(s));
    // Sliced along the rows, each rank has a part of each row: the sums are combined.
    constexpr auto columns = rowwise | pl::split<"avg", 1> | pl::reorder<"avg">;
    CHECK(first(columns, op::reduce).layout == layout_kind::local);
    CHECK(count(columns, op::all_reduce) == 1);
    CHECK(first(columns, op::all_reduce).shape[1] == 1);
    static_assert(inspect::is_sound(columns));
}

TEST_CASE("reorder: dropout and select work on slices, broadcast operands stay whole")
{
    constexpr auto gm = pl::tensor<"gm", float>(pl::local, M, N);
    constexpr auto pm = pl::tensor<"pm", float>(pl::replicated, M, N);
    constexpr auto total = pl::label<"avg">(pl::all_reduce(pl::sum, gm));
    constexpr auto s = moved(pl::program<"p">(
        pl::update(pm, pl::select(total > p, pl::dropout(total, 0.1_c, 7_c), pm))));
    CHECK(first(s, op::dropout).layout == layout_kind::sliced);
    CHECK(first(s, op::less).layout == layout_kind::sliced);
    CHECK(first(s, op::select).slice_dim == 0);
    CHECK(inspect::layout_of(s, "p") == layout_kind::replicated);
    CHECK(count(s, op::all_gather) == 1);
    static_assert(inspect::is_sound(s));
}

TEST_CASE("reorder: what cannot work on slices gets the whole value")
{
    constexpr auto both = pl::program<"p">(pl::update(p, avg + 1_c), pl::update(q, pl::broadcast(pl::gather(
                                                                         pl::slice(avg * 2_c), pl::root<0>), pl::root<0>)));
    constexpr auto s = moved(both);
    CHECK(count(s, op::gather) == 1);
    CHECK(count(s, op::slice) == 0);  // of the slices that are there already
    static_assert(inspect::is_sound(s));
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, N, 8_c);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, M, 8_c);
    constexpr auto columns = pl::label<"avg">(pl::all_reduce(pl::sum, pl::tensor<"gm", float>(pl::local, M, N)));
    constexpr auto product = pl::program<"p">(pl::update(y, pl::matmul(columns * 2_c, w)));
    constexpr auto outer = moved(product);
    CHECK(first(outer, op::matmul).layout == layout_kind::sliced);
    constexpr auto inner = product | pl::split<"avg", 1> | pl::reorder<"avg">;
    CHECK(first(inner, op::matmul).layout == layout_kind::replicated);
    CHECK(first(inner, op::mul).layout == layout_kind::sliced);
    static_assert(inspect::is_sound(outer) && inspect::is_sound(inner));
}

TEST_CASE("reorder: a send moves below computations, and an all_gather below a send")
{
    constexpr auto next = pl::tensor<"next", float>(pl::replicated, pl::group<1>, N);
    constexpr auto piped = pl::program<"p">(pl::update(next, pl::label<"sent">(pl::send(avg, pl::next_group)) * 2_c));
    constexpr auto computed_here = piped | pl::reorder<"sent">;
    CHECK(first(computed_here, op::mul).group == 0);
    CHECK(first(piped, op::mul).group == 1);
    static_assert(inspect::is_sound(computed_here));
    constexpr auto s = moved(piped);  // the send carries 1/n, and the next group gathers
    CHECK(first(s, op::send).layout == layout_kind::sliced);
    CHECK(first(s, op::all_gather).group == 1);
    CHECK(count(s, op::all_gather) == 1);
    static_assert(inspect::is_sound(s));
}

TEST_CASE("reorder: LAMB's norms gain small all_reduces, one number per tensor")
{
    using lamb = pl::optim::lamb<>;
    constexpr auto s = lamb::unscheduled | pl::split<"gradient"> | pl::reorder<"gradient">;
    CHECK(count(lamb::unscheduled, op::all_reduce) == 1);
    // Of the norms of p and of u. The gradient's own all_reduce is split.
    CHECK(count(s, op::all_reduce) == 2);
    for (int i = 0; i < s.graph.size; ++i) {
        if (s.graph[i].kind != op::all_reduce) { continue; }
        CHECK(s.graph[i].dims == 1);
        CHECK(pl::is_per_tensor(s.graph[i].shape[0]));
    }
    // p, m and v: replicated tensors, each updated.
    CHECK(count(s, op::all_gather) == 3);
    static_assert(inspect::is_sound(s));
}

}  // namespace
