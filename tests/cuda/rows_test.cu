// Passes over the same rows as one kernel that holds a row: the same results, from one launch.
#include "launches.cuh"
#include "values.cuh"
#include "run/check.hpp"

#include <plait/plait.hpp>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::erased;

constexpr auto R = pl::dim<"R">;
constexpr auto W = pl::dim<"W">;
using sizes = std::map<std::string, std::int64_t>;

/// Runs a program on so many ranks, compares it with the oracle, and says how often kernels ran that take row after row.
int rows_launched(const harness::program& p, int ranks, const sizes& z, double ulps, std::size_t shift = 0, harness::outcome* result = nullptr)
{
    CAPTURE(p.name);
    CAPTURE(ranks);
    CAPTURE(z);
    CAPTURE(shift);
    cuda_test::forget_launches();
    const harness::outcome found = harness::check(p, ranks, harness::random_inputs(p, ranks, z, 5), ulps, {.shift = shift});
    if (result != nullptr) { *result = found; }
    return cuda_test::launches_of("row_kernel");
}
int launches() { return cuda_test::launches_of("_kernel") - cuda_test::launches_of("meet_kernel"); }

template <class T>
constexpr auto sum_of = pl::label<"sum">(pl::all_reduce(pl::sum, pl::tensor<"x", T>(pl::local, R, W)));
template <class T>
constexpr auto residual_of = pl::tensor<"residual", T>(pl::replicated, R, W);
template <class T>
constexpr auto gamma_of = pl::tensor<"gamma", T>(pl::replicated, W);
template <class T>
constexpr auto y_of = pl::tensor<"y", T>(pl::replicated, R, W);
/// The residual's new value, and its norm.
template <class T>
constexpr auto rms = pl::program<"rms">(pl::update(pl::tensor<"h", T>(pl::replicated, R, W), residual_of<T> + sum_of<T>),
                                        pl::update(y_of<T>, pl::rms_norm(residual_of<T> + sum_of<T>, gamma_of<T>, 1e-2_c)));
constexpr auto layer = pl::program<"layer">(
    pl::update(y_of<float>, pl::layer_norm(residual_of<float> + sum_of<float>, gamma_of<float>, pl::tensor<"beta", float>(pl::replicated, W), 1e-2_c)));
constexpr auto soft = pl::program<"soft">(pl::update(y_of<float>, pl::softmax(pl::dropout(residual_of<float> + sum_of<float>, 0.25_c, 7_c))));

template <class P>
constexpr auto fused(P p)
{
    return p | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
}
/// Unscheduled and fused, on aligned buffers and others: fused, all of it is one kernel, in which ranks meet.
template <class P>
void check_both(P p, int ranks, const sizes& z, double ulps)
{
    for (const std::size_t shift : {0, 1}) {
        harness::outcome whole;
        harness::outcome sliced;
        CHECK(rows_launched(erased(p, "whole"), ranks, z, ulps, shift, &whole) == ranks);
        CHECK(rows_launched(erased(fused(p), "fused"), ranks, z, ulps, shift, &sliced) == ranks);
        CHECK(launches() == ranks);
        CHECK(sliced == whole);
    }
}

TEST_CASE("CUDA: a residual and its norm are one kernel, in f32")
{
    for (const int ranks : {1, 2, 3, 4}) { check_both(rms<float>, ranks, {{"R", 5}, {"W", 64}}, 60); }
    for (const std::int64_t w : {1, 3, 4, 31, 129}) { check_both(rms<float>, 2, {{"R", 7}, {"W", w}}, 60); }
}
TEST_CASE("CUDA: a residual and its norm are one kernel, in bf16")
{
    for (const std::int64_t w : {5, 64, 1024}) { check_both(rms<pl::bf16>, 2, {{"R", 3}, {"W", w}}, 8); }
}
TEST_CASE("CUDA: layer_norm, and softmax of what dropout leaves, are one kernel")
{
    check_both(layer, 2, {{"R", 3}, {"W", 260}}, 60);
    check_both(soft, 2, {{"R", 3}, {"W", 20}}, 60);
}

TEST_CASE("CUDA: rows of one warp, of several, of parts; and rows that are too long to be held")
{
    const auto check = [](int ranks, std::int64_t rows, std::int64_t width, bool held) {
        const int expected = held ? ranks : 0;
        CHECK(rows_launched(erased(fused(rms<float>), "rms"), ranks, {{"R", rows}, {"W", width}}, 60) == expected);
    };
    check(1, 3, 512, true);
    check(1, 2, 516, true);
    check(1, 1, 8192, true);
    check(1, 1, 8193, false);
    check(2, 2, 1300, true);
    check(3, 4, 2000, true);
    check(8, 9, 4096, true);
    check(8, 3, 8192, true);
    check(8, 3, 8196, false);
    check(2, 40, 12, true);
    check(3, 2, 5, true);  // more ranks than rows
    for (const int ranks : {1, 3}) {
        CHECK(rows_launched(erased(fused(rms<float>), "rms"), ranks, {{"R", 0}, {"W", 8}}, 60) == ranks);
        CHECK(rows_launched(erased(fused(rms<float>), "rms"), ranks, {{"R", 3}, {"W", 0}}, 60) == 0);
    }
}

TEST_CASE("CUDA: rows of which every thread has all of its groups, by teams that are constants and others; and rows that are left over")
{
    for (const std::int64_t w : {256, 512, 1024}) { check_both(rms<float>, 2, {{"R", 36}, {"W", w}}, 60); }
    for (const std::int64_t w : {512, 1024}) { check_both(rms<float>, 4, {{"R", 43}, {"W", w}}, 60); }
    check_both(layer, 2, {{"R", 19}, {"W", 256}}, 60);
}

TEST_CASE("CUDA: a sum has the same bits beside the passes that use it and alone")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, R, W);
    constexpr auto z = pl::tensor<"z", float>(pl::replicated, R, 1_c);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, R, W);
    constexpr auto total = pl::mean(x * x, pl::axis<1>, pl::keep_dims);
    const auto alone = erased(pl::program<"alone">(pl::update(z, total)), "alone");
    const auto used = erased(pl::program<"used">(pl::update(z, total), pl::update(y, x - total)), "used");
    for (const int ranks : {1, 2, 3, 8}) {
        for (const std::int64_t w : {1, 4, 7, 128, 513, 2048, 5001}) {
            harness::outcome by_itself;
            harness::outcome beside;
            CHECK(rows_launched(alone, ranks, {{"R", 3}, {"W", w}}, 4, 0, &by_itself) == 0);
            CHECK(rows_launched(used, ranks, {{"R", 3}, {"W", w}}, 4, 0, &beside) == ranks);
            CHECK(by_itself.written.at("z") == beside.written.at("z"));
        }
    }
}

TEST_CASE("CUDA: rows of three dimensions, reductions of every kind, values that are kept for later passes")
{
    constexpr auto B = pl::dim<"B">;
    constexpr auto x = pl::tensor<"x", double>(pl::replicated, B, R, W);
    constexpr auto i = pl::tensor<"i", std::int32_t>(pl::replicated, B, R, W);
    constexpr auto y = pl::tensor<"y", double>(pl::replicated, B, R, W);
    constexpr auto z = pl::tensor<"z", std::int32_t>(pl::replicated, B, R, W);
    constexpr auto least = pl::tensor<"least", double>(pl::replicated, B, R);
    constexpr auto low = pl::min(x, pl::axis<2>, pl::keep_dims);
    constexpr auto all = pl::program<"all">(pl::update(y, (x - low) / (pl::max(x, pl::axis<2>, pl::keep_dims) - low + 1_c)),
                                            pl::update(z, i - pl::sum(i, pl::axis<2>, pl::keep_dims)), pl::update(least, pl::min(x, pl::axis<2>)));
    for (const int ranks : {1, 2}) {
        for (const std::int64_t w : {1, 5, 96}) { CHECK(rows_launched(erased(all, "all"), ranks, {{"B", 2}, {"R", 3}, {"W", w}}, 8) > 0); }
    }
}

TEST_CASE("CUDA: a value for each row that is bound to the memory of what every row reads")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, R, W);
    constexpr auto gamma = pl::tensor<"gamma", float>(pl::replicated, W);
    constexpr auto t = pl::tensor<"t", float>(pl::replicated, R, W);
    constexpr auto scaled = x * gamma;
    constexpr auto program = pl::program<"shared">(pl::update(t, scaled), pl::update(pl::tensor<"s", float>(pl::replicated, R), pl::sum(scaled, pl::axis<1>)));
    pl::cuda_peers::run(
        1,
        [&](pl::cuda_communicator& comm) {
            constexpr std::int64_t n = 300;
            const auto in = comm.symmetric<float>(n * n);
            const auto out = comm.symmetric<float>(n * n);
            const auto shared = comm.symmetric<float>(n);
            cuda_test::set(comm, in, 1);
            cuda_test::set(comm, shared, 2);
            pl::executable run{program, comm};
            run(x = in, gamma = shared, t = out, pl::tensor<"s", float>(pl::replicated, R) = shared, R = n, W = n);
            CHECK(cuda_test::get(comm, shared) == std::vector<float>(n, 2 * n));
            CHECK(cuda_test::get(comm, out) == std::vector<float>(n * n, 2));
        },
        cuda_test::devices());
}

TEST_CASE("CUDA: values of rows that are held need no memory")
{
    constexpr auto a = pl::tensor<"a", float>(pl::replicated, R, W);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, R, W);
    constexpr auto program = pl::program<"held">(pl::update(y, pl::softmax(a * 0.5_c + 1_c)));
    pl::cuda_peers::run(
        1,
        [&](pl::cuda_communicator& comm) {
            constexpr std::int64_t longest = 8192;
            const auto in = comm.symmetric<float>(2 * longest + 2);
            const auto out = comm.symmetric<float>(2 * longest + 2);
            pl::cuda::check(cudaMemsetAsync(in.data(), 0, in.size() * sizeof(float), comm.stream()), "zeros");
            pl::executable run{program, comm};
            const auto first_of = [&](std::int64_t rows, std::int64_t width) {
                const auto count = static_cast<std::size_t>(rows * width);
                run(a = std::span(in.data(), count), y = std::span(out.data(), count), R = rows, W = width);
                float y0 = 0;
                pl::cuda::check(cudaMemcpyAsync(&y0, out.data(), sizeof y0, cudaMemcpyDeviceToHost, comm.stream()), "a result");
                comm.synchronize();
                return y0;
            };
            CHECK(first_of(2, 64) == doctest::Approx(1.0 / 64));
            CHECK(run.workspace_bytes() == 0);
            CHECK(first_of(2, longest) == doctest::Approx(1.0 / longest));
            CHECK(run.workspace_bytes() == 0);
            CHECK(first_of(2, longest + 1) == doctest::Approx(1.0 / (longest + 1)));
            CHECK(run.workspace_bytes() >= 2 * (longest + 1) * sizeof(float));
            CHECK(first_of(3, 5) == doctest::Approx(0.2));
        },
        cuda_test::devices());
}

TEST_CASE("CUDA: a row's tensor is updated from its own old values")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, R, W);
    constexpr auto z = pl::tensor<"z", float>(pl::replicated, R, 1_c);
    constexpr auto total = pl::sum(x, pl::axis<1>, pl::keep_dims);
    constexpr auto centred = x - pl::mean(x, pl::axis<1>, pl::keep_dims);
    constexpr auto p = pl::program<"in place">(pl::update(x, centred), pl::update(z, total + pl::sum(centred * centred, pl::axis<1>, pl::keep_dims)));
    for (const std::int64_t w : {4, 9, 200}) { CHECK(rows_launched(erased(p, "in place"), 2, {{"R", 3}, {"W", w}}, 200) == 2); }
}

}  // namespace
