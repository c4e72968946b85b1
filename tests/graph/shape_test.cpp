// Shapes: broadcasting, reductions, contractions.
#include "graph/rows.hpp"

namespace {

namespace pl = plait;
using namespace pl::literals;
using rows::gives;
using rows::row;
using rows::violates;
using rows::violation;

constexpr auto B = pl::dim<"B">;
constexpr auto N = pl::dim<"N">;
template <class... Dims>
constexpr auto t(Dims... dims)
{
    return pl::tensor<"t", float>(pl::replicated, dims...);
}
constexpr auto matrix = t(B, 64_c);
constexpr auto vec = t(N);

constexpr std::array broadcasting = {
    gives(t(B, N) + t(B, N), "f32 [B, N] replicated"),
    gives(t(B, N) + t(N), "f32 [B, N] replicated"),
    gives(t(N) + t(B, N), "f32 [B, N] replicated"),
    gives(t(B, 1_c) * t(1_c, N), "f32 [B, N] replicated"),
    gives(t(B, 1_c) * t(N), "f32 [B, N] replicated"),
    gives(t(2_c, B, 3_c) - t(3_c), "f32 [2, B, 3] replicated"),
    gives(t(1_c) + t(), "f32 [1] replicated"),
    gives(t() * t(B, N), "f32 [B, N] replicated"),
    gives(t(1_c, 1_c) / t(N), "f32 [1, N] replicated"),
    gives(t(2_c, 3_c, 4_c, 5_c, N) + 1_c, "f32 [2, 3, 4, 5, N] replicated"),
    gives(pl::select(t(B, 1_c) > 0_c, t(N), 0_c), "f32 [B, N] replicated"),
    // One number per tensor of N stands for each element of that tensor.
    gives(pl::sum(vec, pl::per_tensor), "f32 [tensors(N)] replicated"),
    gives(vec * pl::sum(vec, pl::per_tensor), "f32 [N] replicated"),
    gives(pl::norm(vec, pl::per_tensor) / vec, "f32 [N] replicated"),
    gives(pl::norm(vec, pl::per_tensor) + pl::max(vec, pl::per_tensor), "f32 [tensors(N)] replicated"),
    gives(pl::sum(pl::norm(vec, pl::per_tensor)), "f32 [] replicated"),
};
static_assert(rows::all_hold(broadcasting));

constexpr std::array reductions = {
    gives(pl::sum(matrix), "f32 [] replicated"),
    gives(pl::sum(t()), "f32 [] replicated"),
    gives(pl::sum(matrix, pl::axis<0>), "f32 [64] replicated"),
    gives(pl::max(matrix, pl::axis<1>), "f32 [B] replicated"),
    gives(pl::max(matrix, pl::axis<-1>), "f32 [B] replicated"),
    gives(pl::mean(matrix, pl::axis<-2>), "f32 [64] replicated"),
    gives(pl::min(matrix, pl::axis<1>, pl::keep_dims), "f32 [B, 1] replicated"),
    gives(pl::product(matrix, pl::axis<-2>, pl::keep_dims), "f32 [1, 64] replicated"),
    gives(pl::sum(t(B, N, 4_c), pl::axis<1>), "f32 [B, 4] replicated"),
    gives(pl::softmax(matrix), "f32 [B, 64] replicated"),
    gives(pl::layer_norm(matrix, t(64_c), t(64_c), 1e-5_c), "f32 [B, 64] replicated"),
    gives(pl::rms_norm(t(B, N, 64_c), t(64_c), 1e-5_c), "f32 [B, N, 64] replicated"),
    gives(pl::norm(matrix), "f32 [] replicated"),
};
static_assert(rows::all_hold(reductions));

constexpr std::array contractions = {
    gives(pl::matmul(t(B, 64_c), t(64_c, N)), "f32 [B, N] replicated"),
    gives(pl::matmul(t(64_c, B), t(64_c, N), pl::transposed_a), "f32 [B, N] replicated"),
    gives(pl::matmul(t(B, 64_c), t(N, 64_c), pl::transposed_b), "f32 [B, N] replicated"),
    gives(pl::matmul(t(64_c, B), t(N, 64_c), pl::transposed_both), "f32 [B, N] replicated"),
    gives(pl::matmul(t(8_c, B, 64_c), t(64_c, N)), "f32 [8, B, N] replicated"),
    gives(pl::matmul(t(B, 64_c), t(8_c, 64_c, N)), "f32 [8, B, N] replicated"),
    gives(pl::matmul(t(8_c, 1_c, B, 64_c), t(4_c, 64_c, N)), "f32 [8, 4, B, N] replicated"),
    gives(pl::matmul(t(1_c, 64_c), t(64_c, 1_c)), "f32 [1, 1] replicated"),
    // (32 + 2 padding - filter) / stride + 1, rounded down
    gives(pl::conv2d(t(B, 3_c, 32_c, 32_c), t(8_c, 3_c, 5_c, 3_c)), "f32 [B, 8, 28, 30] replicated"),
    gives(pl::conv2d(t(B, 3_c, 32_c, 32_c), t(8_c, 3_c, 3_c, 3_c), pl::stride<1>, pl::padding<1>),
          "f32 [B, 8, 32, 32] replicated"),
    gives(pl::conv2d(t(B, 3_c, 32_c, 31_c), t(N, 3_c, 3_c, 3_c), pl::stride<2>), "f32 [B, N, 15, 15] replicated"),
    gives(pl::conv2d(t(B, 3_c, 2_c, 2_c), t(1_c, 3_c, 2_c, 2_c)), "f32 [B, 1, 1, 1] replicated"),
};
static_assert(rows::all_hold(contractions));

constexpr pl::attributes along(int axis) { return {pl::reduction::sum, axis, 0, 0}; }
constexpr pl::attributes numbers(int a, int b) { return {pl::reduction::sum, 0, a, b}; }

constexpr std::array mismatches = {
    violates(pl::rule::shape_mix, pl::op::add, t(N), t(B)),
    violates(pl::rule::shape_mix, pl::op::add, t(N), t(64_c)),
    violates(pl::rule::shape_mix, pl::op::add, t(3_c), t(4_c)),
    violates(pl::rule::shape_mix, pl::op::add, t(B, N), t(B)),
    violates(pl::rule::shape_mix, pl::op::select, t(N) > 0_c, t(N), t(B)),
    violates(pl::rule::shape_mix, pl::op::mul, pl::norm(t(N), pl::per_tensor), t(B)),
    violates(pl::rule::shape_mix, pl::op::mul, pl::norm(t(N), pl::per_tensor), t(B, N)),
    violates(pl::rule::axis, pl::op::reduce, along(2), matrix),
    violates(pl::rule::axis, pl::op::reduce, along(-3), matrix),
    violates(pl::rule::axis, pl::op::reduce, along(0), t()),
    violates(pl::rule::per_tensor, pl::op::reduce_per_tensor, matrix),
    violates(pl::rule::per_tensor, pl::op::reduce_per_tensor, t()),
    violates(pl::rule::per_tensor, pl::op::reduce_per_tensor, t(64_c)),
    violates(pl::rule::per_tensor, pl::op::reduce_per_tensor, pl::norm(vec, pl::per_tensor)),
    violates(pl::rule::matmul_dims, pl::op::matmul, t(B, 64_c), t(32_c, N)),
    violates(pl::rule::matmul_dims, pl::op::matmul, t(B, 64_c), t(64_c)),
    violates(pl::rule::matmul_dims, pl::op::matmul, t(2_c, B, 64_c), t(3_c, 64_c, N)),
    violates(pl::rule::matmul_dims, pl::op::matmul, numbers(1, 0), t(B, 64_c), t(64_c, N)),
    violates(pl::rule::conv2d_dims, pl::op::conv2d, numbers(1, 0), t(B, 3_c, N, 8_c), t(1_c, 3_c, 3_c, 3_c)),
    violates(pl::rule::conv2d_dims, pl::op::conv2d, numbers(1, 0), t(B, 3_c, 8_c, 8_c), t(1_c, 4_c, 3_c, 3_c)),
    violates(pl::rule::conv2d_dims, pl::op::conv2d, numbers(1, 0), t(B, 3_c, 8_c, 8_c), t(1_c, 3_c, 9_c, 3_c)),
    violates(pl::rule::conv2d_dims, pl::op::conv2d, numbers(0, 0), t(B, 3_c, 8_c, 8_c), t(1_c, 3_c, 3_c, 3_c)),
    violates(pl::rule::conv2d_dims, pl::op::conv2d, numbers(1, -1), t(B, 3_c, 8_c, 8_c), t(1_c, 3_c, 3_c, 3_c)),
    violates(pl::rule::update_shape, pl::op::update, vec, matrix),
    violates(pl::rule::none, pl::op::update, vec, 0_c),
    violates(pl::rule::none, pl::op::update, vec, pl::sum(matrix)),
};
static_assert(rows::all_hold(mismatches));

TEST_CASE("shapes: broadcasting from the last dimension") { rows::check(broadcasting); }
TEST_CASE("shapes: reductions drop a dimension, or keep it as 1") { rows::check(reductions); }
TEST_CASE("shapes: matmul and conv2d") { rows::check(contractions); }
TEST_CASE("shapes: what does not fit breaks a rule") { rows::check(mismatches); }

}  // namespace
