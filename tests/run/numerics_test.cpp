// Reductions of numbers that are hard to add: errors within bounds against float64, and what is no number travels.
#include "run/check.hpp"
#include "slow.hpp"

#include <plait/lang/program.hpp>
#include <plait/schedule/schedule.hpp>

#include <cmath>
#include <type_traits>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;

/// Sums, means, extremes and norms of each rank's numbers and of all ranks', in the schedules that move them.
template <class T>
struct reductions {
    static constexpr auto r = pl::replicated;
    static constexpr auto x = pl::tensor<"x", T>(r, N);
    static constexpr auto g = pl::tensor<"g", T>(pl::local, N);
    static constexpr auto all = pl::label<"all">(pl::all_reduce(pl::sum, g));
    using norm_type = std::conditional_t<(sizeof(T) < 4), float, T>;
    static constexpr auto prog = pl::program<"reductions">(
        pl::update(pl::tensor<"sum", T>(r), pl::sum(x)), pl::update(pl::tensor<"mean", T>(r), pl::mean(x)),
        pl::update(pl::tensor<"max", T>(r), pl::max(x)), pl::update(pl::tensor<"min", T>(r), pl::min(x)),
        pl::update(pl::tensor<"norm", norm_type>(r), pl::norm(x)), pl::update(pl::tensor<"ranks", T>(r, N), all),
        pl::update(pl::tensor<"high", T>(r, N), pl::all_reduce(pl::max, g)), pl::update(pl::tensor<"total", T>(r), pl::sum(all)));
    static std::vector<harness::program> schedules()
    {
        constexpr auto sliced = prog | pl::split<"all"> | pl::reorder<"all">;
        return {harness::erased(prog, "whole"), harness::erased(prog | pl::split<"all">, "split"), harness::erased(sliced, "sliced"),
                harness::erased(sliced | pl::fuse, "fused")};
    }
};

/// A number as T has it.
template <class T>
double of(double x)
{
    return static_cast<double>(static_cast<float>(static_cast<T>(static_cast<float>(x))));
}

template <class T>
struct limits {  // of the dtype: relative error of one rounding, smallest number
    static constexpr double epsilon = std::is_same_v<T, float> ? 0x1p-24 : std::is_same_v<T, pl::f16> ? 0x1p-11 : 0x1p-8;
    static constexpr double smallest = std::is_same_v<T, float> ? 0x1p-149 : std::is_same_v<T, pl::f16> ? 0x1p-24 : 0x1p-133;
};

/// Rank r's element i of an adversarial input.
using element = double (*)(std::size_t i, std::size_t r);

template <class T>
reference::inputs inputs(int ranks, std::int64_t n, element f)
{
    reference::inputs given;
    given.extents["N"] = n;
    const auto numbers = [&](std::size_t rank) {
        reference::numbers x(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < x.size(); ++i) { x[i] = of<T>(f(i, rank)); }
        return x;
    };
    given.tensors["x"] = {numbers(0)};
    for (int r = 0; r < ranks; ++r) { given.tensors["g"].push_back(numbers(static_cast<std::size_t>(r))); }
    for (const char* name : {"sum", "mean", "max", "min", "norm", "total"}) { given.tensors[name] = {{0.0}}; }
    for (const char* name : {"ranks", "high"}) { given.tensors[name] = {reference::numbers(static_cast<std::size_t>(n), 0.0)}; }
    return given;
}

/// Compares with sums in long double. A sum of n numbers may be wrong by as many roundings of the sum of their magnitudes as
/// a tree over blocks has levels, not by n of them; in f16 and bf16, which are added in f32, by those of f32 and one own.
template <class T>
void check_errors(const std::string& what, element f)
{
    constexpr double own = limits<T>::epsilon;
    constexpr double wide = 0x1p-24;
    const std::vector<harness::program> all = reductions<T>::schedules();
    for (const int ranks : runs_slowly ? std::vector{3} : std::vector{1, 2, 5}) {
        for (const std::int64_t n : runs_slowly ? std::vector<std::int64_t>{1, 1025} : std::vector<std::int64_t>{1, 7, 1023, 5000}) {
            CAPTURE(what);
            CAPTURE(ranks);
            CAPTURE(n);
            const reference::inputs given = inputs<T>(ranks, n, f);
            const harness::outcome first = harness::run(all[0], ranks, given);
            for (const harness::program& p : all) {  // the same bits in every schedule, and in the next run
                CAPTURE(p.name);
                CHECK(harness::run(p, ranks, given) == first);
            }
            long double sum = 0, magnitude = 0, squares = 0;
            double high = -INFINITY, low = INFINITY;
            for (const double x : given.tensors.at("x")[0]) {
                sum += static_cast<long double>(x);
                magnitude += std::fabs(static_cast<long double>(x));
                squares += static_cast<long double>(x) * static_cast<long double>(x);
                high = std::max(high, x);
                low = std::min(low, x);
            }
            const auto near = [&](const std::string& name, long double expected, long double scale, double roundings, long double lost = 0) {
                const auto error = std::fabs(static_cast<long double>(first.number(name, 0)) - expected);
                CAPTURE(name);
                CHECK(error <= roundings * wide * scale + (1.01 * own) * std::fabs(expected) + limits<T>::smallest + lost);
            };
            // A sum over a whole tensor has a part for each rank, which is rounded to the dtype as well.
            long double parts = 0;
            for (int r = 0; r < ranks; ++r) {
                const pl::slice_range slice = pl::slice_of(n, r, ranks);
                long double part = 0;
                for (std::int64_t i = slice.begin; i < slice.begin + slice.count; ++i) {
                    part += static_cast<long double>(given.tensors.at("x")[0][static_cast<std::size_t>(i)]);
                }
                parts += own * std::fabs(part);
            }
            const double levels = 64 + static_cast<double>(ranks);  // blocks of up to 64 lanes' sums, and a rank's part each
            near("sum", sum, magnitude, levels, parts);
            near("mean", sum / static_cast<long double>(n), magnitude / static_cast<long double>(n), levels + 2, parts / static_cast<long double>(n));
            near("norm", std::sqrt(squares), std::sqrt(squares), levels + 2,
                 std::sqrt(static_cast<long double>(n) * 0x1p-149L));  // squares that are less than the smallest number
            CHECK(first.number("max", 0) == high);
            CHECK(first.number("min", 0) == low);
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); i += 97) {
                long double over = 0, over_magnitude = 0;
                double most = -INFINITY;
                for (const reference::numbers& g : given.tensors.at("g")) {
                    over += static_cast<long double>(g[i]);
                    over_magnitude += std::fabs(static_cast<long double>(g[i]));
                    most = std::max(most, g[i]);
                }
                const auto error = std::fabs(static_cast<long double>(first.number("ranks", i)) - over);
                CHECK(error <= ranks * wide * over_magnitude + 1.01 * own * std::fabs(over) + limits<T>::smallest);
                CHECK(first.number("high", i) == most);
            }
        }
    }
}

template <class T>
void check_hard_numbers()
{
    check_errors<T>("cancellation", [](std::size_t i, std::size_t r) {
        const double x = 1 + static_cast<double>(i / 2 % 97) / 97;
        return (i % 2 == 0 ? x : -x) * (r % 2 == 0 ? 1 : -1);
    });
    check_errors<T>("one large number among small ones", [](std::size_t i, std::size_t r) { return i == 3 ? 1000.0 : 0.001 * static_cast<double>(1 + (i + r) % 7); });
    check_errors<T>("ratios of 2^20", [](std::size_t i, std::size_t r) { return std::ldexp(i % 3 == 0 ? -1.25 : 1.5, static_cast<int>((i * 7 + r) % 21) - 17); });
    check_errors<T>("denormals", [](std::size_t i, std::size_t r) { return limits<T>::smallest * static_cast<double>(1 + (i + r) % 100); });
}

TEST_CASE("hard sums, f32") { check_hard_numbers<float>(); }
TEST_CASE("hard sums, f16") { check_hard_numbers<pl::f16>(); }
TEST_CASE("hard sums, bf16") { check_hard_numbers<pl::bf16>(); }

/// What sums, extremes, norm and all_reduce make of one odd element among ones.
template <class T>
void check_odd(double odd, double sum, double high, double low, double norm)
{
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    for (const harness::program& p : reductions<T>::schedules()) {
        for (const int ranks : runs_slowly ? std::vector{3} : std::vector{1, 3}) {
            for (const std::int64_t n : runs_slowly ? std::vector<std::int64_t>{1, 65} : std::vector<std::int64_t>{1, 65, 2049}) {
                for (const std::size_t at : {std::size_t{0}, static_cast<std::size_t>(n - 1)}) {
                    CAPTURE(p.name);
                    CAPTURE(n);
                    CAPTURE(odd);
                    reference::inputs given = inputs<T>(ranks, n, [](std::size_t, std::size_t) { return 1.0; });
                    given.tensors["x"][0][at] = odd;
                    given.tensors["g"].back()[at] = odd;
                    const harness::outcome out = harness::run(p, ranks, given);
                    CHECK(same(out.number("sum", 0), sum));
                    CHECK(same(out.number("mean", 0), sum));
                    CHECK(same(out.number("max", 0), n == 1 ? odd : high));
                    CHECK(same(out.number("min", 0), n == 1 ? odd : low));
                    CHECK(same(out.number("norm", 0), norm));
                    CHECK(same(out.number("ranks", at), sum));
                    CHECK(same(out.number("high", at), ranks == 1 ? odd : high));
                    CHECK(same(out.number("total", 0), sum));
                }
            }
        }
    }
}

template <class T>
void check_no_numbers()
{
    const double nan = std::nan("");
    check_odd<T>(INFINITY, INFINITY, INFINITY, 1, INFINITY);
    check_odd<T>(-INFINITY, -INFINITY, 1, -INFINITY, INFINITY);
    check_odd<T>(nan, nan, nan, nan, nan);
}

TEST_CASE("infinities and NaN in one element reach every reduction over it")
{
    check_no_numbers<float>();
    check_no_numbers<pl::f16>();
    check_no_numbers<pl::bf16>();
}

}  // namespace
