// Graphs of programs: equal parts once, labels where they belong, multiply-adds marked.
#include "graph/inspect.hpp"

#include <plait/lang/program.hpp>

#include <doctest/doctest.h>

namespace {

namespace pl = plait;
using namespace pl::literals;
using inspect::count;
using pl::op;

constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, N);
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);

constexpr auto squares = pl::program<"squares">(pl::update(y, x * x + x * x));
static_assert(squares.graph.size == 5);  // y, x, mul, add, update
static_assert(count(squares, op::mul) == 1 && count(squares, op::add) == 1);
static_assert(inspect::is_sound(squares));

TEST_CASE("graph: equal sub-expressions are one node")
{
    CHECK(squares.graph.size == 5);
    const pl::node& add = inspect::first(squares, op::add);
    CHECK(add.args[0] == add.args[1]);
    // Written apart, in two outputs, and with a label on one of them.
    constexpr auto u = pl::label<"product">(x * y);
    constexpr auto v = x * y;
    constexpr auto two = pl::program<"two">(pl::update(x, v + 1_c), pl::update(y, u - 1_c));
    CHECK(count(two, op::mul) == 1);
    CHECK(two.graph.labelled("product") == inspect::find(two, op::mul));
    CHECK(count(two, op::constant) == 1);
    // The operands' order and the operation's attributes matter.
    constexpr auto others = pl::program<"others">(pl::update(y, x * y + y * x + pl::sum(x) + pl::max(x)));
    CHECK(count(others, op::mul) == 2);
    CHECK(count(others, op::reduce) == 2);
    static_assert(inspect::is_sound(two) && inspect::is_sound(others));
}

TEST_CASE("graph: what no output needs is not in the program")
{
    [[maybe_unused]] constexpr auto unused = pl::exp(x);
    constexpr auto p = pl::program<"p">(pl::update(y, x + 1_c));
    CHECK(count(p, op::exp) == 0);
    // pruned keeps the order of what it keeps.
    auto wide = p.graph.resized<16, 8, 1>();
    const int sum = wide.outputs[0];
    wide.add_op(op::exp, {}, wide.tensor("x"));
    CHECK(wide.size == p.graph.size + 1);
    CHECK(pl::pruned(wide) == p.graph.resized<16, 8, 1>());
    CHECK(pl::pruned(wide).outputs[0] == sum);
}

TEST_CASE("graph: a label is the collective's that its value is computed from")
{
    constexpr auto average = pl::label<"average">(pl::all_reduce(pl::sum, g) / pl::world_size);
    constexpr auto p = pl::program<"p">(pl::update(x, x - average));
    CHECK(p.graph.labelled("average") == inspect::find(p, op::all_reduce));
    CHECK(p.graph.labelled("x") == -1);

    constexpr auto plain = pl::program<"plain">(pl::update(x, pl::label<"twice">(x + x) * y));
    CHECK(plain.graph.labelled("twice") == inspect::find(plain, op::add));

    // Through elementwise operations, and not through reductions.
    constexpr auto total = pl::label<"total">(pl::sum(pl::all_reduce(pl::sum, g)) * 2_c);
    constexpr auto reduced = pl::program<"reduced">(pl::update(x, x * total));
    CHECK(reduced.graph.labelled("total") == inspect::find(reduced, op::mul));

    // The same label on the same value, in two places.
    constexpr auto same = pl::program<"same">(pl::update(x, average + x), pl::update(y, average + y));
    CHECK(count(same, op::all_reduce) == 1);
}

TEST_CASE("graph: an update reads the value, and later readers read the new value")
{
    constexpr auto x1 = pl::update(x, x * 2_c);
    constexpr auto p = pl::program<"p">(x1, pl::update(y, x1 + x));
    const pl::node& add = inspect::first(p, op::add);
    CHECK(p.graph[add.args[0]].kind == op::update);
    CHECK(p.graph[add.args[1]].kind == op::tensor);
    CHECK(p.graph.n_outputs == 2);
    CHECK(p.graph.is_output(add.args[0]));
    static_assert(inspect::is_sound(p));
}

template <class E>
constexpr int contracted(E e)
{
    constexpr auto p = pl::program<"p">(pl::update(y, E{}));
    return p.graph[p.graph[p.graph.outputs[0]].args[1]].contracts + 0 * static_cast<int>(sizeof(e));
}

TEST_CASE("graph: an addition takes a product of its own as one multiply-add, in f32 and f64")
{
    CHECK(contracted(x * y + y) == 1);
    CHECK(contracted(y + x * y) == 2);
    CHECK(contracted(x * y - x) == 1);
    CHECK(contracted(x - x * y) == 2);
    CHECK(contracted(x * y + y * x) == 1);  // one of both
    CHECK(contracted(x + y) == 0);
    CHECK(contracted(x * y + x * y) == 0);  // the product is used twice
    CHECK(contracted((x * y) * (x * y + x)) == 0);

    constexpr auto h = pl::tensor<"h", pl::f16>(pl::replicated, N);
    constexpr auto low = pl::program<"low">(pl::update(h, h * h + h));
    CHECK(inspect::first(low, op::add).contracts == 0);
    constexpr auto i = pl::tensor<"i", std::int32_t>(pl::replicated, N);
    constexpr auto integers = pl::program<"integers">(pl::update(i, i * i + i));
    CHECK(inspect::first(integers, op::add).contracts == 0);
    // A product in f16 that is then added in f32 has been rounded in between.
    constexpr auto mixed = pl::program<"mixed">(pl::update(y, h * h + y));
    CHECK(inspect::first(mixed, op::add).contracts == 0);
}

TEST_CASE("graph: named dimensions are equal by name, in all nodes")
{
    constexpr auto M = pl::dim<"M">;
    constexpr auto a = pl::tensor<"a", float>(pl::replicated, M, 4_c, N);
    constexpr auto p = pl::program<"p">(pl::update(a, a * pl::sum(a, pl::axis<1>, pl::keep_dims)));
    const pl::node& t = p.graph[p.graph.tensor("a")];
    CHECK(t.dims == 3);
    CHECK(p.graph.text(pl::symbol_of(t.shape[0])) == "M");
    CHECK(t.shape[1] == 4);
    CHECK(p.graph.text(pl::symbol_of(t.shape[2])) == "N");
    const pl::node& sum = inspect::first(p, op::reduce);
    CHECK(sum.shape[0] == t.shape[0]);
    CHECK(sum.shape[1] == 1);

    constexpr auto norms = pl::program<"norms">(pl::update(x, x * pl::sum(x, pl::per_tensor)));
    const pl::node& per_tensor = inspect::first(norms, op::reduce_per_tensor);
    CHECK(pl::is_per_tensor(per_tensor.shape[0]));
    CHECK(norms.graph.text(pl::symbol_of(per_tensor.shape[0])) == "N");
    static_assert(inspect::is_sound(p) && inspect::is_sound(norms));
}

}  // namespace
