// Products by warpgroups (PLAIT_WGMMA, sm_90a), with the checker on: orientations, cut and unaligned tiles, epilogues, chunks.
#include "blocks/block.hpp"
#include "launches.cuh"
#include "run/check.hpp"

#include <plait/blocks/model_parallel.hpp>
#include <plait/plait.hpp>

#include <span>
#include <string>

#if !defined PLAIT_WGMMA
#error "compile this with PLAIT_WGMMA, for compute_90a"
#endif

namespace {

namespace pl = plait;
using harness::erased;

constexpr auto M = pl::dim<"M">;
constexpr auto K = pl::dim<"K">;
constexpr auto N = pl::dim<"N">;

struct sizes {
    std::int64_t m, k, n;
};
constexpr sizes all_sizes[] = {{128, 64, 128}, {129, 65, 127}, {63, 7, 65}, {13, 33, 24}, {1, 1, 1}, {5, 0, 3}, {0, 4, 4}};
constexpr sizes few_sizes[] = {{65, 17, 63}, {257, 3, 129}, {257, 0, 129}};

/// Instructions of a class that all threads have executed since forget_launches().
std::uint64_t executed(const std::string& kind)
{
    const std::string all = emulator_counters_json();
    const std::string key = "\"" + kind + "\": ";
    std::uint64_t sum = 0;
    for (std::size_t at = all.find(key); at != all.npos; at = all.find(key, at + 1)) { sum += std::stoull(all.substr(at + key.size())); }
    return sum;
}

template <class T, class Product>
void check_product(Product product, const char* name, std::span<const sizes> shapes)
{
    constexpr auto y = pl::tensor<"y", T>(pl::replicated, M, N);
    const harness::program p = erased(pl::program<"product">(pl::update(y, product)), name);
    for (const sizes& z : shapes) {
        CAPTURE(name);
        CAPTURE(z.m);
        const reference::inputs given = harness::random_inputs(p, 1, {{"M", z.m}, {"K", z.k}, {"N", z.n}}, 3, -1, 1);
        cuda_test::forget_launches();
        harness::check(p, 1, given, 4);
        CHECK(executed("matrix") == 0);  // none of the warps' own products
        CHECK((executed("warpgroup") > 0) == (z.m > 0 && z.k > 0));
        harness::check(p, 1, given, 4, {.shift = 1});
    }
}
template <class T>
void check_orientations(std::span<const sizes> shapes)
{
    constexpr auto a = pl::tensor<"a", T>(pl::replicated, M, K);
    constexpr auto b = pl::tensor<"b", T>(pl::replicated, K, N);
    constexpr auto at = pl::tensor<"at", T>(pl::replicated, K, M);
    constexpr auto bt = pl::tensor<"bt", T>(pl::replicated, N, K);
    check_product<T>(pl::matmul(a, b), "a b", shapes);
    check_product<T>(pl::matmul(at, b, pl::transposed_a), "at' b", shapes);
    check_product<T>(pl::matmul(a, bt, pl::transposed_b), "a bt'", shapes);
    check_product<T>(pl::matmul(at, bt, pl::transposed_both), "at' bt'", shapes);
}
TEST_CASE("CUDA: products of f16 by warpgroups") { check_orientations<pl::f16>(all_sizes); }
TEST_CASE("CUDA: products of bf16 by warpgroups") { check_orientations<pl::bf16>(few_sizes); }

TEST_CASE("CUDA: bias and gelu in the epilogue of a product by warpgroups")
{
    constexpr auto a = pl::tensor<"a", pl::f16>(pl::replicated, M, K);
    constexpr auto b = pl::tensor<"b", pl::f16>(pl::replicated, K, N);
    constexpr auto c = pl::tensor<"c", pl::f16>(pl::replicated, M, N);
    constexpr auto y = pl::tensor<"y", pl::f16>(pl::replicated, M, N);
    constexpr auto bias = pl::tensor<"bias", pl::f16>(pl::replicated, N);
    const auto after = pl::gelu(pl::matmul(a, b) + bias);
    const harness::program one = erased(pl::program<"one">(pl::update(y, after)), "one");
    const harness::program two = erased(pl::program<"two">(pl::update(c, pl::matmul(a, b)), pl::update(y, after)), "two");
    for (const sizes& z : {sizes{128, 16, 128}, {127, 7, 129}, {64, 3, 63}, {1, 1, 1}, {5, 0, 12}}) {
        CAPTURE(z.m);
        const reference::inputs given = harness::random_inputs(two, 1, {{"M", z.m}, {"K", z.k}, {"N", z.n}}, 3, -1, 1);
        cuda_test::forget_launches();
        harness::check(one, 1, given, 40);
        CHECK(cuda_test::launches_of("map_kernel") == 0);
        CHECK((executed("warpgroup") > 0) == (z.k > 0));
        CHECK(harness::run(one, 1, given).written.at("y") == harness::run(two, 1, given).written.at("y"));
    }
}

TEST_CASE("CUDA peers: a product by warpgroups is one launch for all chunks, with the bits of the unscheduled program")
{
    using projection = pl::blocks::row_parallel<pl::f16, 1>;
    const harness::program unscheduled = erased(projection::unscheduled, "unscheduled");
    const harness::program overlapped = erased(projection::overlapped, "overlapped");
    for (const block::sizes& z : {block::sizes{2, 33, 24, 9}, block::sizes{1, 1, 1, 1}}) {
        const reference::inputs given = block::inputs(unscheduled, 2, z);
        cuda_test::forget_launches();
        const harness::outcome first = harness::run(unscheduled, 2, given);
        CHECK(executed("warpgroup") > 0);
        for (const int chunks : {1, 2, 5}) {
            CAPTURE(chunks);
            CHECK(harness::run(harness::in_chunks(overlapped, chunks), 2, given, 2) == first);
        }
    }
}

}  // namespace
