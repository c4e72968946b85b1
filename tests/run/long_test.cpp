// A program of many operations in one kernel.
#include "run/check.hpp"

#include <plait/lang/program.hpp>
#include <plait/schedule/schedule.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto z = pl::tensor<"z", float>(pl::replicated, N);
constexpr auto g = pl::tensor<"g", float>(pl::local, N);

template <int I, int Last, class E>
constexpr auto long_chain(E e)
{
    if constexpr (I == Last) {
        return e;
    } else {
        return long_chain<I + 1, Last>(pl::max(e * 0.5_c + x, y));
    }
}

TEST_CASE("three hundred operations in one kernel")
{
    constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
    constexpr auto prog = pl::program<"long">(pl::update(z, long_chain<0, 100>(sum)));
    constexpr auto scheduled = prog | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
    const harness::program p = harness::erased(scheduled, "long chain");
    for (int ranks : {1, 3}) {
        for (std::int64_t n : {1, 2049}) { harness::check(p, ranks, harness::random_inputs(p, ranks, {{"N", n}}), 100); }
    }
}

}  // namespace
