// Programs on ranks of NCCL that cannot load from each other, one or two to a domain, with the checker on. Each has a device.
#if !defined(PLAIT_TEST_NCCL)
#define PLAIT_TEST_NCCL
#endif
#include "blocks/block.hpp"
#include "cuda/launches.cuh"
#include "cuda/nccl_cases.cuh"
#include "optim/workload.hpp"

#include <plait/blocks/pipeline.hpp>
#include <plait/blocks/sequence_parallel.hpp>
#include <plait/optim/adam.hpp>
#include <plait/optim/lamb.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::erased;
using nccl_test::domains_of;

constexpr auto N = pl::dim<"N">;
constexpr auto A = pl::dim<"A">;
constexpr auto B = pl::dim<"B">;

TEST_CASE("NCCL, apart: Adam in all schedules")
{
    const workload::optimizer adam = workload::make<pl::optim::adam<>>("adam");
    const domains_of one("1");
    for (const int ranks : {2, 3, 4}) { workload::check(adam, {.ranks = ranks, .n = 1100}); }
    for (const std::int64_t n : {0, 1, 2, 4, 2311}) { workload::check(adam, {.ranks = 3, .n = n, .how = {.shift = 1}}); }
    workload::check(adam, {.ranks = 3, .n = 1033, .how = {.scattered = true}, .counts = {3, 0, 1030}});
    const domains_of two("2");
    workload::check(adam, {.ranks = 4, .n = 1009});
}

TEST_CASE("NCCL, apart: LAMB of low precision in all schedules, whole and scattered")
{
    const workload::optimizer lamb = workload::make<pl::optim::lamb<pl::f16, pl::bf16>>("lamb");
    const domains_of one("1");
    workload::check(lamb, {.ranks = 2, .n = 1033, .how = {.partitioned = {"N"}}, .counts = {3, 0, 1030}});
    workload::check(lamb, {.ranks = 3, .n = 1033, .how = {.scattered = true}, .counts = {3, 0, 1030}});
    const domains_of two("2");
    workload::check(lamb, {.ranks = 4, .n = 127});
}

/// On one to a domain and two to a domain, with the bits that ranks in one domain get.
void check_apart(const harness::program& p, int ranks, const std::map<std::string, std::int64_t>& extents, double ulps)
{
    const reference::inputs given = harness::random_inputs(p, ranks, extents);
    const harness::outcome near = harness::check(p, ranks, given, ulps);
    for (const char* size : {"1", "2"}) {
        CAPTURE(size);
        const domains_of apart(size);
        CHECK(harness::check(p, ranks, given, ulps) == near);
    }
}

TEST_CASE("NCCL, apart: collectives of vectors, whole and fused")
{
    constexpr auto g = pl::tensor<"g", pl::bf16>(pl::local, N);
    constexpr auto x = pl::tensor<"x", float>(pl::local, N);
    constexpr auto s = pl::tensor<"s", float>(pl::sliced<0>, N);
    constexpr auto whole = pl::program<"whole">(
        pl::update(pl::tensor<"o0", pl::bf16>(pl::replicated, N), pl::all_reduce(pl::sum, g)),
        pl::update(pl::tensor<"o1", float>(pl::sliced<0>, N), pl::reduce_scatter(pl::max, x)),
        pl::update(pl::tensor<"o2", float>(pl::replicated, N), pl::all_gather(s)),
        pl::update(pl::tensor<"o3", float>(pl::replicated, N), pl::broadcast(x, pl::root<1>)),
        pl::update(pl::tensor<"o4", float>(pl::local, N), pl::reduce(pl::sum, x, pl::root<1>)),
        pl::update(pl::tensor<"o5", float>(pl::local, N), pl::gather(s, pl::root<0>)),
        pl::update(pl::tensor<"o6", float>(pl::sliced<0>, N), pl::scatter(x, pl::root<1>)));
    constexpr auto fused = pl::program<"fused">(
                               pl::update(pl::tensor<"o0", float>(pl::replicated, N), pl::all_reduce(pl::sum, x) * 2_c),
                               pl::update(pl::tensor<"o1", float>(pl::replicated, N),
                                          pl::all_gather(pl::reduce_scatter(pl::sum, x) * 3_c) + pl::all_gather(s))) |
                           pl::fuse;
    for (const int ranks : {2, 3, 4}) {
        for (const std::int64_t n : {0, 1, ranks - 1, ranks + 1, 1031, 1200}) {  // the last is the same for all
            CAPTURE(n);
            check_apart(erased(whole, "whole"), ranks, {{"N", n}}, 20);
            check_apart(erased(fused, "fused"), ranks, {{"N", n}}, 20);
        }
    }
    for (const std::int64_t n : {140000, 140003}) { check_apart(erased(whole, "whole"), 4, {{"N", n}}, 20); }  // slices are handed around
}

TEST_CASE("NCCL, apart: slices of the second dimension, and all_to_all")
{
    constexpr auto x = pl::tensor<"x", float>(pl::local, A, B);
    constexpr auto s = pl::tensor<"s", float>(pl::sliced<0>, A, B);
    constexpr auto p = pl::program<"matrices">(
        pl::update(pl::tensor<"o0", float>(pl::sliced<1>, A, B), pl::all_to_all(s, pl::axis<1>)),
        pl::update(pl::tensor<"o1", float>(pl::sliced<1>, A, B), pl::reduce_scatter(pl::sum, x, pl::axis<1>)),
        pl::update(pl::tensor<"o2", float>(pl::replicated, A, B), pl::all_gather(pl::all_to_all(s, pl::axis<1>))));
    for (const int ranks : {2, 3, 4}) {
        for (const auto& [a, b] : {std::pair{5, 7}, {1, 3}, {0, 4}, {16, 32}, {33, 2}}) { check_apart(erased(p, "matrices"), ranks, {{"A", a}, {"B", b}}, 20); }
    }
}

TEST_CASE("NCCL, apart: products overlapped with collectives, in any number of chunks")
{
    using projection = pl::blocks::sequence_projection<>;
    const std::vector<harness::program> all{erased(projection::unscheduled, "unscheduled"), erased(projection::overlapped, "overlapped")};
    const domains_of one("1");
    block::check(all, 2, {2, 9, 6, 5});
    for (const int ranks : {2, 3}) {
        const reference::inputs given = block::inputs(all[0], ranks, {1, 17, 6, 9});
        const harness::outcome first = harness::run(all[0], ranks, given);
        for (const int chunks : {1, 2, 5}) {
            CHECK(harness::run(harness::in_chunks(all[1], chunks), ranks, given, 2) == first);
        }
    }
}

TEST_CASE("NCCL, apart: a norm after a collective is one kernel, in chunks as well")
{
    constexpr auto x = pl::tensor<"x", float>(pl::sliced<1>, A, N);
    constexpr auto w = pl::tensor<"w", float>(pl::sliced<0>, N, B);
    constexpr auto residual = pl::tensor<"residual", float>(pl::replicated, A, B);
    constexpr auto h = residual + pl::label<"sum">(pl::all_reduce(pl::sum, pl::label<"mm">(pl::matmul(x, w))));
    constexpr auto p = pl::program<"norm">(
        pl::update(pl::tensor<"h", float>(pl::replicated, A, B), h),
        pl::update(pl::tensor<"y", float>(pl::replicated, A, B), pl::rms_norm(h, pl::tensor<"gamma", float>(pl::replicated, B), 1e-2_c)));
    constexpr auto fused = p | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
    const harness::program whole = erased(p, "whole"), one = erased(fused, "fused"), cut = erased(fused | pl::overlap<"mm", "sum">, "overlapped");
    const auto check = [&](int ranks, std::int64_t rows, std::int64_t width) {
        CAPTURE(ranks);
        CAPTURE(rows);
        const reference::inputs given = harness::random_inputs(whole, ranks, {{"A", rows}, {"N", 5}, {"B", width}}, 5, -1, 1);
        const harness::outcome near = harness::check(whole, ranks, given, 300);
        for (const char* size : {"1", "2"}) {
            CAPTURE(size);
            const domains_of apart(size);
            cuda_test::forget_launches();
            CHECK(harness::run(one, ranks, given, 2) == near);
            CHECK(cuda_test::launches_of("row_kernel") == 2 * ranks);
            for (const int chunks : {1, 2, 5}) {
                CAPTURE(chunks);
                cuda_test::forget_launches();
                CHECK(harness::run(harness::in_chunks(cut, chunks), ranks, given, 2) == near);
                CHECK(cuda_test::launches_of("row_kernel") == 2 * ranks * chunks);
            }
            CHECK(cuda_test::launches_of("axis_kernel") == 0);
        }
    };
    for (const int ranks : {2, 3, 4}) { check(ranks, 23, 9); }
    check(2, 11, 64);
}

TEST_CASE("NCCL, apart: two pipeline groups")
{
    using block_t = pl::blocks::pipeline<float, 2>;
    const std::vector<harness::program> all{erased(block_t::unscheduled, "AR, C, P2P"), erased(block_t::fused, "fuse(RS-C-P2P), AG"),
                                            erased(block_t::fused_overlapped, "overlap(fuse(RS-C-P2P), AG)")};
    for (const char* size : {"1", "2"}) {
        const domains_of apart(size);
        block::check(all, 1, {2, 3, 5, 7});
        block::check(all, 2, {2, 3, 5, 7});
        block::check(all, 2, {1, 17, 6, 3});
    }
}

}  // namespace
