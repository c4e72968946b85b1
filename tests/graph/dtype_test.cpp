// Element types: how they are promoted, and which operations take them.
#include "graph/rows.hpp"

#include <iterator>

namespace {

namespace pl = plait;
using namespace pl::literals;
using pl::dtype;
using rows::gives;
using rows::row;
using rows::violates;
using rows::violation;

constexpr auto N = pl::dim<"N">;
template <class T>
constexpr auto v = pl::tensor<"v", T>(pl::replicated, N);
template <class T>
constexpr auto w = pl::tensor<"w", T>(pl::replicated, N);

constexpr auto none = dtype::none;  // of a number; as a result: the two do not mix
constexpr dtype kinds[] = {none,        dtype::boolean, dtype::u8,  dtype::i32, dtype::i64,
                           dtype::f16, dtype::bf16,    dtype::f32, dtype::f64};
// Row: left operand, column: right operand, in the order of `kinds`.
constexpr dtype promoted[9][9] = {
    {none, dtype::boolean, dtype::u8, dtype::i32, dtype::i64, dtype::f16, dtype::bf16, dtype::f32, dtype::f64},
    {dtype::boolean, dtype::boolean, none, none, none, none, none, none, none},
    {dtype::u8, none, dtype::u8, dtype::i32, dtype::i64, none, none, none, none},
    {dtype::i32, none, dtype::i32, dtype::i32, dtype::i64, none, none, none, none},
    {dtype::i64, none, dtype::i64, dtype::i64, dtype::i64, none, none, none, none},
    {dtype::f16, none, none, none, none, dtype::f16, dtype::f32, dtype::f32, dtype::f64},
    {dtype::bf16, none, none, none, none, dtype::f32, dtype::bf16, dtype::f32, dtype::f64},
    {dtype::f32, none, none, none, none, dtype::f32, dtype::f32, dtype::f32, dtype::f64},
    {dtype::f64, none, none, none, none, dtype::f64, dtype::f64, dtype::f64, dtype::f64},
};
constexpr bool promotes_as_in_the_table()
{
    for (int i = 0; i < 9; ++i) {
        for (int j = 0; j < 9; ++j) {
            if (pl::promote(kinds[i], kinds[j]) != promoted[i][j]) { return false; }
        }
    }
    return true;
}
static_assert(promotes_as_in_the_table());

constexpr std::array arithmetic = {
    gives(v<float> + w<float>, "f32 [N] replicated"),
    gives(v<pl::f16> * w<pl::f16>, "f16 [N] replicated"),
    gives(v<pl::f16> - w<pl::bf16>, "f32 [N] replicated"),
    gives(v<pl::bf16> / w<double>, "f64 [N] replicated"),
    gives(v<std::uint8_t> + w<std::int32_t>, "i32 [N] replicated"),
    gives(v<std::int32_t> * w<std::int64_t>, "i64 [N] replicated"),
    gives(-v<pl::f16>, "f16 [N] replicated"),
    gives(pl::abs(v<std::int64_t>), "i64 [N] replicated"),
    gives(pl::min(v<float>, w<double>), "f64 [N] replicated"),
    // A number follows its partner, and stays a number among numbers.
    gives(v<pl::f16> * 0.5_c, "f16 [N] replicated"),
    gives(1_c + v<std::uint8_t>, "u8 [N] replicated"),
    gives(v<double> / pl::world_size, "f64 [N] replicated"),
    gives((1_c - 0.9_c) * v<pl::bf16>, "bf16 [N] replicated"),
    gives(1_c / pl::world_size, "number [] replicated"),
    gives(pl::scalar<"s", pl::f16> * v<float>, "f32 [N] replicated"),
};
static_assert(rows::all_hold(arithmetic));

constexpr std::array functions = {
    gives(pl::sqrt(v<pl::f16>), "f16 [N] replicated"),
    gives(pl::rsqrt(v<float>), "f32 [N] replicated"),
    gives(pl::exp(v<double>), "f64 [N] replicated"),
    gives(pl::log(v<pl::bf16>), "bf16 [N] replicated"),
    gives(pl::tanh(v<float>), "f32 [N] replicated"),
    gives(pl::erf(v<float>), "f32 [N] replicated"),
    gives(pl::pow(v<float>, 2_c), "f32 [N] replicated"),
    gives(v<float> < 0_c, "boolean [N] replicated"),
    gives(v<std::int32_t> >= w<std::int64_t>, "boolean [N] replicated"),
    gives(v<bool> == w<bool>, "boolean [N] replicated"),
    gives(v<pl::f16> != 1_c, "boolean [N] replicated"),
    gives(!(v<bool> && w<bool>) || v<bool>, "boolean [N] replicated"),
    gives(pl::select(v<bool>, v<pl::f16>, w<float>), "f32 [N] replicated"),
    gives(pl::select(v<bool>, v<bool>, w<bool>), "boolean [N] replicated"),
    gives(pl::select(v<bool>, 1_c, v<std::int32_t>), "i32 [N] replicated"),
    gives(pl::cast<pl::f16>(v<float>), "f16 [N] replicated"),
    gives(pl::cast<float>(v<bool>), "f32 [N] replicated"),
    gives(pl::cast<bool>(v<std::int32_t>), "boolean [N] replicated"),
    gives(pl::cast<std::uint8_t>(v<double>), "u8 [N] replicated"),
    gives(pl::dropout(v<pl::bf16>, 0.1_c, pl::scalar<"seed", std::int64_t>), "bf16 [N] replicated"),
    gives(pl::sum(v<pl::f16>), "f16 [] replicated"),
    gives(pl::product(v<std::int32_t>), "i32 [] replicated"),
    gives(pl::max(v<std::uint8_t>), "u8 [] replicated"),
    gives(pl::mean(v<float>, pl::axis<0>, pl::keep_dims), "f32 [1] replicated"),
    // Functions made of simpler ones compute f16 and bf16 in f32; norms stay f32.
    gives(pl::gelu(v<pl::f16>), "f16 [N] replicated"),
    gives(pl::silu(v<float>), "f32 [N] replicated"),
    gives(pl::relu(v<std::int32_t>), "i32 [N] replicated"),
    gives(pl::softmax(v<pl::bf16>), "bf16 [N] replicated"),
    gives(pl::layer_norm(v<pl::f16>, w<float>, w<float>, 1e-5_c), "f16 [N] replicated"),
    gives(pl::rms_norm(v<double>, w<double>, 1e-5_c), "f64 [N] replicated"),
    gives(pl::norm(v<pl::f16>), "f32 [] replicated"),
    gives(pl::norm(v<double>), "f64 [] replicated"),
};
static_assert(rows::all_hold(functions));

constexpr pl::attributes of(pl::reduction r) { return {r, pl::attributes::all_axes, 0, 0}; }

constexpr std::array mismatches = {
    violates(pl::rule::dtype_mix, pl::op::add, v<float>, v<std::int32_t>),
    violates(pl::rule::dtype_mix, pl::op::less, v<std::int64_t>, v<double>),
    violates(pl::rule::dtype_mix, pl::op::equal, v<bool>, v<std::uint8_t>),
    violates(pl::rule::dtype_mix, pl::op::select, v<bool>, v<float>, v<std::int32_t>),
    violates(pl::rule::dtype, pl::op::add, v<bool>, v<bool>),
    violates(pl::rule::dtype, pl::op::less, v<bool>, v<bool>),
    violates(pl::rule::dtype, pl::op::neg, v<bool>),
    violates(pl::rule::dtype, pl::op::sqrt, v<std::int32_t>),
    violates(pl::rule::dtype, pl::op::exp, v<bool>),
    violates(pl::rule::dtype, pl::op::pow, v<float>, v<std::uint8_t>),
    violates(pl::rule::dtype, pl::op::logical_or, v<bool>, v<float>),
    violates(pl::rule::dtype, pl::op::logical_not, v<std::uint8_t>),
    violates(pl::rule::dtype, pl::op::reduce, of(pl::reduction::sum), v<bool>),
    violates(pl::rule::dtype, pl::op::reduce, of(pl::reduction::mean), v<std::int64_t>),
    violates(pl::rule::none, pl::op::reduce, of(pl::reduction::mean), v<pl::f16>),
    violates(pl::rule::select, pl::op::select, v<float>, v<float>, v<float>),
    violates(pl::rule::dropout, pl::op::dropout, v<std::int32_t>, 0.5_c, 1_c),
    violates(pl::rule::dropout, pl::op::dropout, v<float>, pl::scalar<"p", std::int32_t>, 1_c),
    violates(pl::rule::dropout, pl::op::dropout, v<float>, 0.5_c, pl::scalar<"seed", float>),
    violates(pl::rule::dropout, pl::op::dropout, v<float>, v<float>, 1_c),
};
static_assert(rows::all_hold(mismatches));

TEST_CASE("dtypes: names and sizes")
{
    CHECK(pl::name_of(dtype::bf16) == "bf16");
    CHECK(pl::name_of(none) == "number");
    CHECK(pl::size_of(dtype::f16) == sizeof(pl::f16));
    CHECK(pl::size_of(dtype::i64) == 8);
    CHECK(pl::dtype_of<const float> == dtype::f32);
    CHECK(pl::dtype_of<long double> == none);
}

TEST_CASE("dtypes: promotion is symmetric and idempotent")
{
    for (dtype a : kinds) {
        CHECK(pl::promote(a, a) == a);
        for (dtype b : kinds) { CHECK(pl::promote(a, b) == pl::promote(b, a)); }
    }
}

TEST_CASE("dtypes: arithmetic promotes") { rows::check(arithmetic); }
TEST_CASE("dtypes: of functions") { rows::check(functions); }
TEST_CASE("dtypes: what does not fit breaks a rule") { rows::check(mismatches); }

}  // namespace
