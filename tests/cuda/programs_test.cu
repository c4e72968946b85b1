// Whole programs on CUDA peers with the checker on: no race, no byte outside of a buffer, nothing uninitialised, in several
// orders of execution, on one device and on several.
#include "optim/workload.hpp"
#include "run/check.hpp"

#include <plait/optim/adam.hpp>
#include <plait/optim/lamb.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::erased;

constexpr auto N = pl::dim<"N">;
constexpr auto M = pl::dim<"M">;

TEST_CASE("CUDA peers: Adam in all schedules, one buffer and many, on 1 to 8 ranks")
{
    const workload::optimizer adam = workload::make<pl::optim::adam<>>("adam");
    for (const int ranks : {1, 2, 3, 4, 8}) { workload::check(adam, {.ranks = ranks, .n = 1100}); }
    for (const std::int64_t n : {0, 1, 4, 2311}) { workload::check(adam, {.ranks = 3, .n = n, .how = {.shift = 1}}); }
    workload::check(adam, {.ranks = 3, .n = 1033, .how = {.scattered = true}, .counts = {3, 0, 1030}});
}

TEST_CASE("CUDA peers: LAMB of low precision in all schedules")
{
    const workload::optimizer lamb = workload::make<pl::optim::lamb<pl::f16, pl::bf16>>("lamb");
    workload::check(lamb, {.ranks = 3, .n = 1033, .how = {.partitioned = {"N"}}, .counts = {3, 0, 1030}});
}

TEST_CASE("CUDA peers: rows, columns and dropout on slices of two dimensions")
{
    constexpr auto x = pl::tensor<"x", float>(pl::local, N, M);
    constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, M);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, N, M);
    constexpr auto z = pl::tensor<"z", float>(pl::replicated, N, 1_c);
    constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
    constexpr auto dropped = pl::dropout(sum + bias, 0.25_c, 7_c);
    constexpr auto p = pl::program<"rows">(pl::update(y, pl::softmax(dropped)), pl::update(z, pl::max(dropped, pl::axis<1>, pl::keep_dims)));
    constexpr auto fused = p | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
    for (const int ranks : {2, 3}) {
        for (const auto& [n, m] : {std::pair{5, 7}, std::pair{8, 64}}) {
            const harness::program whole = erased(p, "rows");
            const reference::inputs given = harness::random_inputs(whole, ranks, {{"N", n}, {"M", m}});
            const harness::outcome first = harness::check(whole, ranks, given, 40);
            CHECK(harness::check(erased(fused, "rows, fused"), ranks, given, 40) == first);
        }
    }
}

}  // namespace
