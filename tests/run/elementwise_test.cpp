// Every elementwise operation on every dtype that it is defined for.
#include "run/check.hpp"

#include <plait/lang/program.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;

template <class T, pl::fixed_string Name>
constexpr auto vec = pl::tensor<Name, T>(pl::replicated, N);

void check_sizes(const harness::program& p, double ulps = 1, double low = -2, double high = 2)
{
    for (std::int64_t n : {0, 1, 31, 33, 1025}) {
        CAPTURE(n);
        harness::check(p, 2, harness::random_inputs(p, 2, {{"N", n}}, 3, low, high), ulps);
    }
    harness::check(p, 1, harness::random_inputs(p, 1, {{"N", 77}}, 4, low, high), ulps, {.shift = 1});
}

template <class T>
void check_arithmetic(const char* name)
{
    constexpr auto a = vec<T, "a">;
    constexpr auto b = vec<T, "b">;
    constexpr auto prog = pl::program<"arithmetic">(
        pl::update(vec<T, "o0">, a + b), pl::update(vec<T, "o1">, a - b), pl::update(vec<T, "o2">, a * b),
        pl::update(vec<T, "o3">, pl::min(a, b)), pl::update(vec<T, "o4">, pl::max(a, b)),
        pl::update(vec<T, "o5">, a + 3_c), pl::update(vec<T, "o6">, 2_c * b),
        pl::update(vec<T, "o7">, pl::select(a < b, a, b)), pl::update(vec<T, "o8">, a * pl::world_size),
        pl::update(vec<T, "o9">, pl::select(a == b || a > 1_c, b, 5_c)));
    check_sizes(harness::erased(prog, name));
}
template <class T>
void check_signed(const char* name)
{
    constexpr auto a = vec<T, "a">;
    constexpr auto b = vec<T, "b">;
    constexpr auto prog = pl::program<"signed">(pl::update(vec<T, "o0">, -a), pl::update(vec<T, "o1">, pl::abs(b)),
                                                pl::update(vec<T, "o2">, a / b), pl::update(vec<T, "o3">, 1_c / b));
    check_sizes(harness::erased(prog, name));
}
template <class T>
void check_functions(const char* name, double ulps)
{
    constexpr auto a = vec<T, "a">;
    constexpr auto prog =
        pl::program<"functions">(pl::update(vec<T, "o0">, pl::sqrt(a)), pl::update(vec<T, "o1">, pl::rsqrt(a)),
                                 pl::update(vec<T, "o2">, pl::exp(a)), pl::update(vec<T, "o3">, pl::log(a)),
                                 pl::update(vec<T, "o4">, pl::tanh(a)), pl::update(vec<T, "o5">, pl::erf(a)),
                                 pl::update(vec<T, "o6">, pl::pow(a, 2.5_c)));
    check_sizes(harness::erased(prog, name), ulps, 0.01, 4);
}

TEST_CASE("arithmetic, min, max and select on all dtypes")
{
    check_arithmetic<float>("f32");
    check_arithmetic<double>("f64");
    check_arithmetic<pl::f16>("f16");
    check_arithmetic<pl::bf16>("bf16");
    check_arithmetic<std::int32_t>("i32");
    check_arithmetic<std::int64_t>("i64");
    check_arithmetic<std::uint8_t>("u8");
}

TEST_CASE("negation, absolute value and division")
{
    check_signed<float>("f32");
    check_signed<double>("f64");
    check_signed<pl::f16>("f16");
    check_signed<pl::bf16>("bf16");
    check_signed<std::int32_t>("i32");
    check_signed<std::int64_t>("i64");
}

TEST_CASE("roots, exponentials and their like")
{
    check_functions<float>("f32", 4);
    check_functions<double>("f64", 4);
    check_functions<pl::f16>("f16", 1);
    check_functions<pl::bf16>("bf16", 1);
}

TEST_CASE("comparisons and logic give booleans")
{
    constexpr auto a = vec<float, "a">;
    constexpr auto b = vec<float, "b">;
    constexpr auto p = vec<bool, "p">;
    constexpr auto q = vec<bool, "q">;
    constexpr auto prog = pl::program<"logic">(
        pl::update(vec<bool, "o0">, a < b), pl::update(vec<bool, "o1">, a <= b), pl::update(vec<bool, "o2">, a > b),
        pl::update(vec<bool, "o3">, a >= b), pl::update(vec<bool, "o4">, a == a), pl::update(vec<bool, "o5">, a != b),
        pl::update(vec<bool, "o6">, p && q), pl::update(vec<bool, "o7">, p || q), pl::update(vec<bool, "o8">, !p),
        pl::update(vec<bool, "o9">, pl::select(p, q, a > 0_c)));
    check_sizes(harness::erased(prog, "logic"));
}

template <class From>
void check_casts(const char* name)
{
    constexpr auto a = vec<From, "a">;
    constexpr auto prog = pl::program<"casts">(
        pl::update(vec<float, "f32">, pl::cast<float>(a)), pl::update(vec<double, "f64">, pl::cast<double>(a)),
        pl::update(vec<pl::f16, "f16">, pl::cast<pl::f16>(a)), pl::update(vec<pl::bf16, "bf16">, pl::cast<pl::bf16>(a)),
        pl::update(vec<std::int32_t, "i32">, pl::cast<std::int32_t>(a)),
        pl::update(vec<std::int64_t, "i64">, pl::cast<std::int64_t>(a)),
        pl::update(vec<bool, "bool">, pl::cast<bool>(a)));
    const harness::program p = harness::erased(prog, name);
    check_sizes(p);
}

TEST_CASE("casts between all dtypes")
{
    check_casts<float>("from f32");
    check_casts<double>("from f64");
    check_casts<pl::f16>("from f16");
    check_casts<pl::bf16>("from bf16");
    check_casts<std::int32_t>("from i32");
    check_casts<std::int64_t>("from i64");
    check_casts<std::uint8_t>("from u8");
    check_casts<bool>("from bool");
}

TEST_CASE("dtypes are promoted: f16 with bf16 to f32, narrow to wide")
{
    constexpr auto h = vec<pl::f16, "h">;
    constexpr auto b = vec<pl::bf16, "b">;
    constexpr auto f = vec<float, "f">;
    constexpr auto d = vec<double, "d">;
    constexpr auto i = vec<std::int32_t, "i">;
    constexpr auto l = vec<std::int64_t, "l">;
    constexpr auto prog = pl::program<"promotion">(
        pl::update(vec<float, "o0">, h * b), pl::update(vec<float, "o1">, h + f), pl::update(vec<double, "o2">, b - d),
        pl::update(vec<std::int64_t, "o3">, i * l), pl::update(vec<bool, "o4">, h < d));
    check_sizes(harness::erased(prog, "promotion"));
}

TEST_CASE("NaN wins in min and max, zeros keep their sign, division by zero follows the dtype")
{
    constexpr auto a = vec<float, "a">;
    constexpr auto b = vec<float, "b">;
    constexpr auto i = vec<std::int32_t, "i">;
    constexpr auto j = vec<std::int32_t, "j">;
    constexpr auto prog =
        pl::program<"edges">(pl::update(vec<float, "low">, pl::min(a, b)),
                             pl::update(vec<float, "high">, pl::max(a, b)), pl::update(vec<float, "neg">, -a),
                             pl::update(vec<float, "quotient">, a / b), pl::update(vec<std::int32_t, "whole">, i / j));
    const double nan = std::nan("");
    reference::inputs given;
    given.extents["N"] = 6;
    given.tensors["a"] = {{nan, 1, 0, -0.0, INFINITY, 1}};
    given.tensors["b"] = {{2, nan, 0, 1, -INFINITY, 0}};
    given.tensors["i"] = {{7, -7, 1, 0, 9, 5}};
    given.tensors["j"] = {{2, 2, 0, 0, -4, 5}};
    for (const char* output : {"low", "high", "neg", "quotient", "whole"}) {
        given.tensors[output] = {{0, 0, 0, 0, 0, 0}};
    }
    const harness::outcome out = harness::run(harness::erased(prog, "edges"), 1, given);
    CHECK(std::isnan(out.number("low", 0)));
    CHECK(std::isnan(out.number("low", 1)));
    CHECK(std::isnan(out.number("high", 0)));
    CHECK(std::isnan(out.number("high", 1)));
    CHECK(out.number("low", 4) == -INFINITY);
    CHECK(out.number("high", 4) == INFINITY);
    CHECK(std::signbit(out.number("neg", 2)));
    CHECK_FALSE(std::signbit(out.number("neg", 3)));
    CHECK(std::isnan(out.number("quotient", 2)));
    CHECK(out.number("quotient", 5) == INFINITY);
    CHECK(out.number("whole", 0) == 3);
    CHECK(out.number("whole", 1) == -3);
    CHECK(out.number("whole", 2) == 0);
    CHECK(out.number("whole", 4) == -2);
}

TEST_CASE("integers wrap around")
{
    constexpr auto i = vec<std::int32_t, "i">;
    constexpr auto j = vec<std::int32_t, "j">;
    constexpr auto prog = pl::program<"wrap">(
        pl::update(vec<std::int32_t, "sum">, i + j), pl::update(vec<std::int32_t, "difference">, i - j),
        pl::update(vec<std::int32_t, "product">, i * j), pl::update(vec<std::int32_t, "quotient">, i / j),
        pl::update(vec<std::int32_t, "negative">, -i), pl::update(vec<std::int32_t, "absolute">, pl::abs(i)));
    reference::inputs given;
    given.extents["N"] = 3;
    given.tensors["i"] = {{-0x1p31, 0x1p31 - 1, 65536}};
    given.tensors["j"] = {{-1, 1, 65536}};
    for (const char* output : {"sum", "difference", "product", "quotient", "negative", "absolute"}) {
        given.tensors[output] = {{0, 0, 0}};
    }
    const harness::outcome out = harness::run(harness::erased(prog, "wrap"), 1, given);
    CHECK(out.number("sum", 0) == 0x1p31 - 1);
    CHECK(out.number("sum", 1) == -0x1p31);
    CHECK(out.number("difference", 1) == 0x1p31 - 2);
    CHECK(out.number("product", 0) == -0x1p31);
    CHECK(out.number("product", 2) == 0);
    CHECK(out.number("quotient", 0) == -0x1p31);
    CHECK(out.number("quotient", 2) == 1);
    CHECK(out.number("negative", 0) == -0x1p31);
    CHECK(out.number("absolute", 0) == -0x1p31);
}

TEST_CASE("an update with a value without dimensions fills its tensor")
{
    constexpr auto prog =
        pl::program<"fill">(pl::update(vec<float, "x">, pl::scalar<"value">),
                            pl::update(vec<std::int32_t, "i">, pl::cast<std::int32_t>(pl::scalar<"value">)));
    const harness::program p = harness::erased(prog, "fill");
    for (std::int64_t n : {0, 1, 1030}) {
        reference::inputs given = harness::random_inputs(p, 2, {{"N", n}});
        given.scalars["value"] = 2.75;
        harness::check(p, 2, given);
    }
    constexpr auto l = pl::tensor<"l", float>(pl::local, N);
    constexpr auto own = pl::program<"own">(pl::update(l, pl::sum(l)));
    const harness::program q = harness::erased(own, "own");
    harness::check(q, 3, harness::random_inputs(q, 3, {{"N", 33}}), 10);
}

}  // namespace
