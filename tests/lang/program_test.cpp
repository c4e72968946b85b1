// Programs: deep and wide ones, what functions are made of, and that types stay small.
#include "graph/inspect.hpp"

#include <plait/lang/program.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include <utility>

namespace {

namespace pl = plait;
using namespace pl::literals;
using inspect::count;
using pl::op;

constexpr auto M = pl::dim<"M">;
constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);

/// x -> x * x + y, so many times: each step reads the one before twice, so that paths double with every step.
template <int Steps, class E>
constexpr auto iterate(E e)
{
    if constexpr (Steps == 0) {
        return e;
    } else {
        return iterate<Steps - 1>(e * e + y);
    }
}

TEST_CASE("program: a chain of 300 operations")
{
    constexpr auto p = pl::program<"deep">(pl::update(x, iterate<150>(x)));
    CHECK(count(p, op::mul) == 150);
    CHECK(count(p, op::add) == 150);
    CHECK(p.graph.size == 303);  // with x, y and the update
    CHECK(p.graph.nodes[p.graph.outputs[0]].args[1] == 301);
    static_assert(sizeof(p) == 1);
}

template <int I>
constexpr auto numbered = pl::tensor<pl::fixed_string{std::string_view{
                                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM~OPQRSTUVWXYZ0123456789+-*/:;=_()[]{}<>"}
                                         .substr(I, 1)},
                                     float>(pl::replicated, N);
template <int... I>
constexpr auto sum_of(std::integer_sequence<int, I...>)
{
    return (numbered<I> + ...);
}

TEST_CASE("program: many names and many outputs")
{
    constexpr auto p = pl::program<"wide">(pl::update(x, sum_of(std::make_integer_sequence<int, 78>{})));
    CHECK(count(p, op::tensor) == 78);  // x is one of them
    CHECK(count(p, op::add) == 77);
    CHECK(p.graph.tensor("Q") >= 0);
    constexpr auto updates = []<int... I>(std::integer_sequence<int, I...>) {
        return pl::program<"updates">(pl::update(numbered<I>, numbered<I> * 2_c)...);
    }(std::make_integer_sequence<int, 60>{});
    CHECK(updates.graph.n_outputs == 60);
    CHECK(count(updates, op::update) == 60);
}

TEST_CASE("program: values are empty and have no state")
{
    static_assert(std::is_empty_v<decltype(x)>);
    static_assert(std::is_empty_v<decltype(x * y + 1_c)>);
    static_assert(std::is_same_v<decltype(x * y), decltype(x * y)>);
    CHECK_FALSE(std::is_same_v<decltype(x * y), decltype(y * x)>);
    CHECK(std::is_same_v<decltype(x > y), decltype(y < x)>);
    CHECK_FALSE(std::is_same_v<decltype(pl::label<"a">(x * y)), decltype(pl::label<"b">(x * y))>);
}

template <class E>
constexpr auto made_of(E)
{
    return pl::program<"p">(pl::update(pl::tensor<"out", float>(pl::replicated, M, N), E{}));
}
constexpr auto rows = pl::tensor<"rows", float>(pl::replicated, M, N);
constexpr auto low = pl::tensor<"low", pl::f16>(pl::replicated, M, N);

TEST_CASE("program: what functions are made of")
{
    constexpr auto soft = made_of(pl::softmax(rows));
    CHECK(count(soft, op::reduce) == 2);
    CHECK(count(soft, op::exp) == 1);
    CHECK(count(soft, op::div) == 1);
    constexpr auto layer = made_of(pl::layer_norm(rows, x, y, 1e-5_c));
    CHECK(count(layer, op::reduce) == 2);
    CHECK(count(layer, op::rsqrt) == 1);
    constexpr auto rms = made_of(pl::rms_norm(rows, x, 1e-5_c));
    CHECK(count(rms, op::reduce) == 1);
    CHECK(count(made_of(pl::gelu(rows)), op::erf) == 1);
    CHECK(count(made_of(pl::silu(rows)), op::exp) == 1);
    CHECK(count(made_of(pl::relu(rows)), op::max) == 1);
    // f32 values are not cast; f16 ones once on the way in, and once on the way out where the result is f16.
    CHECK(count(soft, op::cast) == 0);
    CHECK(count(made_of(pl::cast<float>(pl::softmax(low))), op::cast) == 3);
    CHECK(count(made_of(rows * pl::norm(low)), op::cast) == 1);
    // The norm of a sliced value adds the ranks' parts; of a replicated one there are none.
    constexpr auto sliced = pl::tensor<"sliced", float>(pl::sliced<0>, M, N);
    CHECK(count(made_of(rows * pl::norm(sliced)), op::all_reduce) == 1);
    CHECK(count(made_of(rows * pl::norm(rows)), op::all_reduce) == 0);
    static_assert(inspect::is_sound(soft) && inspect::is_sound(layer) && inspect::is_sound(rms));
}

}  // namespace
