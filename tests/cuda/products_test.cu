// Matrix products on tensor cores, with the checker on: every orientation, tiles that are whole, cut and unaligned.
#include "run/check.hpp"

#include <plait/plait.hpp>

namespace {

namespace pl = plait;
using harness::erased;

constexpr auto M = pl::dim<"M">;
constexpr auto K = pl::dim<"K">;
constexpr auto N = pl::dim<"N">;

struct sizes {
    std::int64_t m, k, n;
};

template <class T, class Product>
void check_product(Product product, const char* name)
{
    constexpr auto y = pl::tensor<"y", T>(pl::replicated, M, N);
    const harness::program p = erased(pl::program<"product">(pl::update(y, product)), name);
    for (const sizes& z : {sizes{128, 64, 128}, sizes{136, 40, 72}, sizes{129, 33, 130}, sizes{1, 1, 1}, sizes{5, 0, 3}, sizes{0, 4, 4}}) {
        CAPTURE(name);
        CAPTURE(z.m);
        const reference::inputs given = harness::random_inputs(p, 1, {{"M", z.m}, {"K", z.k}, {"N", z.n}}, 3, -1, 1);
        harness::check(p, 1, given, 4);
        harness::check(p, 1, given, 4, {.shift = 1});
    }
}
template <class T>
void check_orientations()
{
    constexpr auto a = pl::tensor<"a", T>(pl::replicated, M, K);
    constexpr auto b = pl::tensor<"b", T>(pl::replicated, K, N);
    constexpr auto at = pl::tensor<"at", T>(pl::replicated, K, M);
    constexpr auto bt = pl::tensor<"bt", T>(pl::replicated, N, K);
    check_product<T>(pl::matmul(a, b), "a b");
    check_product<T>(pl::matmul(at, b, pl::transposed_a), "at' b");
    check_product<T>(pl::matmul(a, bt, pl::transposed_b), "a bt'");
    check_product<T>(pl::matmul(at, bt, pl::transposed_both), "at' bt'");
}

TEST_CASE("CUDA: products of f16") { check_orientations<pl::f16>(); }
TEST_CASE("CUDA: products of bf16") { check_orientations<pl::bf16>(); }

}  // namespace
