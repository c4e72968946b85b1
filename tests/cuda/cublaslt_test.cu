// Matrix products by cuBLASLt, and pipelines with them.
#define PLAIT_CUBLASLT 1
#include "blocks/block.hpp"

#include <plait/plait.hpp>

namespace {

namespace pl = plait;
using harness::erased;

constexpr auto B = pl::dim<"B">;
constexpr auto M = pl::dim<"M">;
constexpr auto K = pl::dim<"K">;
constexpr auto N = pl::dim<"N">;

template <class T>
void check_products()
{
    constexpr auto a = pl::tensor<"a", T>(pl::replicated, M, K);
    constexpr auto b = pl::tensor<"b", T>(pl::replicated, K, N);
    constexpr auto at = pl::tensor<"at", T>(pl::replicated, B, K, M);
    constexpr auto bt = pl::tensor<"bt", T>(pl::replicated, B, N, K);
    constexpr auto y = pl::tensor<"y", T>(pl::replicated, M, N);
    constexpr auto z = pl::tensor<"z", T>(pl::replicated, B, M, N);
    const harness::program p = erased(pl::program<"products">(pl::update(y, pl::matmul(a, b)), pl::update(z, pl::matmul(at, bt, pl::transposed_both))), "products");
    for (const auto& [batch, m, k, n] : {std::array<std::int64_t, 4>{1, 1, 1, 1}, {2, 3, 5, 7}, {3, 17, 33, 16}, {1, 8, 0, 3}, {2, 64, 40, 24}}) {
        CAPTURE(m);
        const reference::inputs given = harness::random_inputs(p, 1, {{"B", batch}, {"M", m}, {"K", k}, {"N", n}}, 3, -1, 1);
        harness::check(p, 1, given, 40);
        harness::check(p, 1, given, 40, {.shift = 1});
    }
}

TEST_CASE("cuBLASLt: f32") { check_products<float>(); }
TEST_CASE("cuBLASLt: f64") { check_products<double>(); }
TEST_CASE("cuBLASLt: f16") { check_products<pl::f16>(); }
TEST_CASE("cuBLASLt: bf16") { check_products<pl::bf16>(); }

TEST_CASE("cuBLASLt: overlapped with the collective after it")
{
    using mlp = pl::blocks::mlp<>;
    for (const int ranks : {2, 3}) {
        const harness::program overlapped = erased(mlp::overlapped, "overlapped");
        const reference::inputs given = block::inputs(overlapped, ranks, {2, 17, 6, 9});
        harness::check(overlapped, ranks, given, 200);
    }
}

}  // namespace
