// Ranks of NCCL with the checker on: whole programs, on symmetric and on plain buffers, and failures.
#if !defined(PLAIT_TEST_NCCL)
#define PLAIT_TEST_NCCL
#endif
#include "optim/workload.hpp"
#include "run/check.hpp"

#include <plait/optim/adam.hpp>
#include <plait/optim/lamb.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using namespace std::chrono_literals;
using harness::erased;

static_assert(pl::communicator<pl::nccl_communicator>);

constexpr auto N = pl::dim<"N">;
constexpr auto M = pl::dim<"M">;
constexpr auto x = pl::tensor<"x", float>(pl::local, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
constexpr auto add = pl::program<"add">(pl::update(y, y + sum));
constexpr auto fused_add = add | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;

/// Buffers of the harness are symmetric while it lives.
struct in_symmetric_memory {
    in_symmetric_memory() { nccl_test::symmetric_buffers = true; }
    ~in_symmetric_memory() { nccl_test::symmetric_buffers = false; }
};

TEST_CASE("NCCL: Adam in all schedules, in symmetric memory and staged, on 1 to 8 ranks")
{
    const workload::optimizer adam = workload::make<pl::optim::adam<>>("adam");
    for (const int ranks : {1, 2, 3, 4}) { workload::check(adam, {.ranks = ranks, .n = 1100}); }
    const in_symmetric_memory here;
    for (const int ranks : {1, 2, 4, 8}) { workload::check(adam, {.ranks = ranks, .n = 1100}); }
    for (const std::int64_t n : {0, 1, 3, 2311}) { workload::check(adam, {.ranks = 3, .n = n, .how = {.shift = 1}}); }
    workload::check(adam, {.ranks = 3, .n = 1033, .how = {.scattered = true}, .counts = {3, 0, 1030}});
}

TEST_CASE("NCCL: LAMB of low precision in all schedules, scattered over many plain buffers")
{
    const workload::optimizer lamb = workload::make<pl::optim::lamb<pl::f16, pl::bf16>>("lamb");
    workload::check(lamb, {.ranks = 3, .n = 1033, .how = {.scattered = true}, .counts = {3, 0, 1030}});
}

TEST_CASE("NCCL: an all_reduce, whole and fused")
{
    for (const bool symmetric : {false, true}) {
        nccl_test::symmetric_buffers = symmetric;
        for (const std::int64_t n : {0, 1, 3, 1100}) {
            const harness::program whole = erased(add, "add");
            const reference::inputs given = harness::random_inputs(whole, 3, {{"N", n}});
            CHECK(harness::check(erased(fused_add, "add, fused"), 3, given, 4) == harness::check(whole, 3, given, 4));
        }
    }
    nccl_test::symmetric_buffers = false;
}

TEST_CASE("NCCL: softmax of rows in slices")
{
    constexpr auto rows = pl::tensor<"x", float>(pl::local, N, M);
    constexpr auto out = pl::tensor<"y", float>(pl::replicated, N, M);
    constexpr auto total = pl::label<"sum">(pl::all_reduce(pl::sum, rows));
    constexpr auto p = pl::program<"rows">(pl::update(out, pl::softmax(total)));
    constexpr auto fused = p | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
    for (const bool symmetric : {false, true}) {
        nccl_test::symmetric_buffers = symmetric;
        const harness::program whole = erased(p, "rows");
        const reference::inputs given = harness::random_inputs(whole, 2, {{"N", 5}, {"M", 7}});
        const harness::outcome first = harness::check(whole, 2, given, 40);
        CHECK(harness::check(erased(fused, "rows, fused"), 2, given, 40) == first);
    }
    nccl_test::symmetric_buffers = false;
}

}  // namespace
