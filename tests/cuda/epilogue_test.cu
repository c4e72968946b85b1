// Products whose epilogue does the pass over elements after them: the same bits as in two passes, and one kernel.
#include "launches.cuh"
#include "run/check.hpp"

#include <plait/plait.hpp>

#include <array>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::erased;

constexpr auto B = pl::dim<"B">;
constexpr auto M = pl::dim<"M">;
constexpr auto K = pl::dim<"K">;
constexpr auto N = pl::dim<"N">;
constexpr auto p = pl::scalar<"p", float>;
constexpr auto seed = pl::scalar<"seed", std::int64_t>;

using sizes = std::map<std::string, std::int64_t>;
/// Whole tiles, one more, one less, primes, single elements, nothing; rows whose groups are aligned, and others.
constexpr std::int64_t all_sizes[][3] = {{128, 16, 128}, {127, 7, 129}, {65, 3, 64}, {63, 5, 66}, {13, 33, 24},
                                         {1, 1, 1},     {2, 3, 8},    {5, 0, 12}, {0, 4, 4},  {4, 4, 0}};

bool is_empty(const sizes& z)
{
    return std::ranges::any_of(z, [](const auto& e) { return e.first != "K" && e.second == 0; });
}
/// What tensor "y" holds after two runs, of which the second has other scalars.
std::vector<harness::bytes> result(const harness::program& program, int ranks, const reference::inputs& given, std::size_t shift)
{
    const auto scalars = [](int step) { return std::map<std::string, double>{{"p", 0.25 + 0.125 * step}, {"seed", 7 + step}}; };
    return harness::run(program, ranks, given, 2, scalars, {.shift = shift}).written.at("y");
}
/// The same program as one kernel and as two; `joined`: whether it must be one.
void check(const harness::program& one, const harness::program& two, int ranks, const sizes& z, bool joined = true, double ulps = 40)
{
    CAPTURE(one.name);
    CAPTURE(ranks);
    CAPTURE(z);
    reference::inputs given = harness::random_inputs(two, ranks, z, 3, -1, 1);
    given.scalars = {{"p", 0.25}, {"seed", 7}};
    cuda_test::forget_launches();
    harness::check(one, ranks, given, ulps);
    CHECK(cuda_test::launches_of("map_kernel") == (joined ? 0 : is_empty(z) ? cuda_test::launches_of("map_kernel") : ranks));
    for (const std::size_t shift : {0, 1}) { CHECK(result(one, ranks, given, shift) == result(two, ranks, given, shift)); }
}
/// y = after(product), and the same with the product stored in c as well.
template <class Y, class C, class Product, class After>
void check_both(const char* name, Y y, C c, Product product, After after, const sizes& z, bool joined = true)
{
    const auto result = after(product);
    check(erased(pl::program<"one">(pl::update(y, result)), name),
          erased(pl::program<"two">(pl::update(c, product), pl::update(y, result)), name), 1, z, joined);
}

template <class T>
void check_matrices(const char* name)
{
    constexpr auto a = pl::tensor<"a", T>(pl::replicated, M, K);
    constexpr auto b = pl::tensor<"b", T>(pl::replicated, K, N);
    constexpr auto c = pl::tensor<"c", T>(pl::replicated, M, N);
    constexpr auto y = pl::tensor<"y", T>(pl::replicated, M, N);
    constexpr auto bias = pl::tensor<"bias", T>(pl::replicated, N);
    constexpr auto row = pl::tensor<"row", T>(pl::replicated, M, 1_c);
    constexpr auto residual = pl::tensor<"residual", T>(pl::replicated, M, N);
    // Dtypes that share the tiles of another one: a few sizes of each kind.
    const bool shares = std::is_same_v<T, double> || std::is_same_v<T, pl::bf16>;
    for (const auto& [m, k, n] : all_sizes) {
        if (shares && m > 100) { continue; }
        const sizes z{{"M", m}, {"K", k}, {"N", n}};
        check_both(name, y, c, pl::matmul(a, b), [&](auto x) { return pl::gelu(x + bias); }, z);
        check_both(name, y, c, pl::matmul(a, b), [&](auto x) { return residual + pl::dropout(x * row, p, seed); }, z);
    }
}
TEST_CASE("CUDA: bias, gelu, residual and dropout in the epilogue of a product of f32") { check_matrices<float>("f32"); }
TEST_CASE("CUDA: bias, gelu, residual and dropout in the epilogue of a product of f64") { check_matrices<double>("f64"); }
TEST_CASE("CUDA: bias, gelu, residual and dropout in the epilogue of a product of f16") { check_matrices<pl::f16>("f16"); }
TEST_CASE("CUDA: bias, gelu, residual and dropout in the epilogue of a product of bf16") { check_matrices<pl::bf16>("bf16"); }

TEST_CASE("CUDA: the epilogue of a product of transposed operands, of other dtypes, of batches")
{
    constexpr auto at = pl::tensor<"at", pl::f16>(pl::replicated, K, M);
    constexpr auto bt = pl::tensor<"bt", pl::f16>(pl::replicated, N, K);
    constexpr auto c = pl::tensor<"c", pl::f16>(pl::replicated, M, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, M, N);
    constexpr auto wide = pl::tensor<"wide", float>(pl::replicated, M, N);
    constexpr auto a3 = pl::tensor<"a3", float>(pl::replicated, B, M, K);
    constexpr auto b3 = pl::tensor<"b3", pl::bf16>(pl::replicated, B, K, N);
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, N, K);
    constexpr auto c3 = pl::tensor<"c3", float>(pl::replicated, B, M, N);
    constexpr auto y3 = pl::tensor<"y", float>(pl::replicated, B, M, N);
    constexpr auto each = pl::tensor<"each", float>(pl::replicated, B, 1_c, N);
    constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, N);
    for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{67, 9, 72}, {5, 4, 7}, {0, 2, 3}, {3, 1, 16}}) {
        check_both("transposed", y, c, pl::matmul(at, bt, pl::transposed_both),
                   [&](auto x) { return pl::cast<float>(x) * wide + pl::dropout(wide, p, seed); }, {{"M", m}, {"K", k}, {"N", n}});
        const sizes z{{"B", 3}, {"M", m}, {"K", k}, {"N", n}};
        check_both("batches", y3, c3, pl::matmul(a3, b3), [&](auto x) { return pl::dropout(pl::relu(x + each), p, seed); }, z);
        check_both("batches of one matrix", y3, c3, pl::matmul(a3, w, pl::transposed_b), [&](auto x) { return pl::tanh(x + bias) * x; }, z);
    }
}

TEST_CASE("CUDA: the epilogue of a convolution")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, B, 3_c, 9_c, 7_c);
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, M, 3_c, 3_c, 2_c);
    constexpr auto c = pl::tensor<"c", float>(pl::replicated, B, M, 7_c, 6_c);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, B, M, 7_c, 6_c);
    constexpr auto channel = pl::tensor<"channel", float>(pl::replicated, M, 1_c, 1_c);
    for (const auto& [b, m] : {std::array<std::int64_t, 2>{2, 5}, {1, 1}, {0, 3}, {3, 0}}) {
        check_both("convolution", y, c, pl::conv2d(x, w), [&](auto v) { return pl::relu(v + channel); }, {{"B", b}, {"M", m}});
    }
}

TEST_CASE("CUDA: a tensor is updated in place by the epilogue; one that the product reads is not")
{
    constexpr auto a = pl::tensor<"a", float>(pl::replicated, M, M);
    constexpr auto b = pl::tensor<"b", float>(pl::replicated, M, M);
    constexpr auto c = pl::tensor<"c", float>(pl::replicated, M, M);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, M, M);
    constexpr auto other = pl::tensor<"other", float>(pl::replicated, M, M);
    for (const std::int64_t m : {70, 64, 1}) {
        check_both("in place", y, c, pl::matmul(a, b), [&](auto x) { return y * 0.5_c + x; }, {{"M", m}});
        const auto read = pl::matmul(y, b);  // the new y must wait until all of the old one is read
        check(erased(pl::program<"one">(pl::update(y, pl::relu(read))), "operand"),
              erased(pl::program<"two">(pl::update(c, read), pl::update(y, pl::relu(read))), "operand"), 1, {{"M", m}}, false);
        // Two products, of which both are read by one pass: the second one's epilogue.
        const auto two = pl::matmul(a, b) * pl::matmul(b, other);
        check(erased(pl::program<"one">(pl::update(y, two)), "two products"),
              erased(pl::program<"two">(pl::update(c, pl::matmul(b, other)), pl::update(y, two)), "two products"), 1, {{"M", m}});
    }
}

TEST_CASE("CUDA: sums, and values that others read, keep a product in memory")
{
    constexpr auto a = pl::tensor<"a", float>(pl::replicated, M, K);
    constexpr auto b = pl::tensor<"b", float>(pl::replicated, K, N);
    constexpr auto c = pl::tensor<"c", float>(pl::replicated, M, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated);
    const auto both = [&](auto x) { return pl::sum(pl::relu(x)); };
    check_both("sum", y, c, pl::matmul(a, b), both, {{"M", 67}, {"K", 5}, {"N", 12}}, false);
}

TEST_CASE("CUDA: slices, and results that go to all ranks from the epilogue")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, M, K);
    constexpr auto columns = pl::tensor<"columns", float>(pl::sliced<1>, K, N);
    constexpr auto bias = pl::tensor<"bias", float>(pl::sliced<0>, N);
    constexpr auto c = pl::tensor<"c", float>(pl::sliced<1>, M, N);
    constexpr auto y = pl::tensor<"y", float>(pl::sliced<1>, M, N);
    constexpr auto rows = pl::tensor<"rows", pl::f16>(pl::sliced<0>, M, K);
    constexpr auto w = pl::tensor<"w", pl::f16>(pl::replicated, K, N);
    constexpr auto mine = pl::tensor<"mine", pl::f16>(pl::sliced<0>, M, N);
    constexpr auto all = pl::tensor<"y", pl::f16>(pl::replicated, M, N);
    for (const int ranks : {1, 2, 4}) {
        for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{67, 5, 32}, {9, 3, 7}, {1, 4, 65}}) {
            const sizes z{{"M", m}, {"K", k}, {"N", n}};
            const auto inner = pl::dropout(pl::gelu(pl::matmul(x, columns) + bias), p, seed);
            check(erased(pl::program<"one">(pl::update(y, inner)), "columns"),
                  erased(pl::program<"two">(pl::update(c, pl::matmul(x, columns)), pl::update(y, inner)), "columns"), ranks, z);
            const auto gathered = pl::all_gather(pl::dropout(pl::relu(pl::matmul(rows, w)), p, seed));
            check(erased(pl::program<"one">(pl::update(all, gathered)) | pl::fuse, "gathered"),
                  erased(pl::program<"two">(pl::update(mine, pl::matmul(rows, w)), pl::update(all, gathered)) | pl::fuse, "gathered"), ranks, z);
        }
    }
}

/// Puts numbers into memory of a rank, and gets them back.
template <class Buffer>
void put(pl::cuda_communicator& comm, const Buffer& to, const std::vector<float>& numbers)
{
    pl::cuda::check(cudaMemcpyAsync(to.data(), numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice, comm.stream()), "put");
    comm.synchronize();
}
template <class Buffer>
std::vector<float> get(pl::cuda_communicator& comm, const Buffer& from)
{
    std::vector<float> all(from.size());
    pl::cuda::check(cudaMemcpyAsync(all.data(), from.data(), all.size() * sizeof(float), cudaMemcpyDeviceToHost, comm.stream()), "get");
    comm.synchronize();
    return all;
}
std::vector<float> some_numbers(std::size_t count)
{
    std::vector<float> numbers(count);
    for (std::size_t i = 0; i < count; ++i) { numbers[i] = static_cast<float>(i * 7919 % 17) / 16 - 0.5F; }
    return numbers;
}

TEST_CASE("CUDA: a result that is bound to the memory of what the product reads")
{
    constexpr auto a = pl::tensor<"a", float>(pl::replicated, M, M);
    constexpr auto b = pl::tensor<"b", float>(pl::replicated, M, M);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, M, M);
    constexpr auto program = pl::program<"alias">(pl::update(y, pl::relu(pl::matmul(a, b))));
    pl::cuda_peers::run(
        1,
        [&](pl::cuda_communicator& comm) {
            constexpr std::int64_t m = 150;  // three tiles each way
            const std::vector<float> numbers = some_numbers(m * m);
            const auto left = comm.symmetric<float>(m * m);
            const auto right = comm.symmetric<float>(m * m);
            const auto out = comm.symmetric<float>(m * m);
            put(comm, left, numbers);
            put(comm, right, numbers);
            pl::executable run{program, comm};
            cuda_test::forget_launches();
            run(a = left, b = right, y = out, M = m);
            const std::vector<float> expected = get(comm, out);
            CHECK(cuda_test::launches_of("map_kernel") == 0);
            CHECK(run.workspace_bytes() == 0);  // the product is in no memory
            run(a = left, b = right, y = left, M = m);
            CHECK(run.workspace_bytes() >= m * m * sizeof(float));
            CHECK(get(comm, left) == expected);
            CHECK(cuda_test::launches_of("map_kernel") == 1);
            put(comm, left, numbers);
            run(a = left, b = right, y = right, M = m);
            CHECK(get(comm, right) == expected);
        },
        cuda_test::devices());
}

TEST_CASE("CUDA: one operand alone that is not aligned, with a product and without")
{
    constexpr auto a = pl::tensor<"a", float>(pl::replicated, M, K);
    constexpr auto b = pl::tensor<"b", float>(pl::replicated, K, N);
    constexpr auto x_in = pl::tensor<"x", float>(pl::replicated, M, N);
    constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, M, N);
    pl::cuda_peers::run(
        1,
        [&](pl::cuda_communicator& comm) {
            constexpr std::int64_t m = 9, n = 64;
            const auto x = comm.symmetric<float>(m * n);
            const auto one = comm.symmetric<float>(m);
            const auto longer = comm.symmetric<float>(n + 1);
            const auto out = comm.symmetric<float>(m * n);
            const std::vector<float> numbers = some_numbers(m * n);
            const std::vector<float> added = some_numbers(n + 1);
            put(comm, x, numbers);
            put(comm, one, std::vector<float>(m, 1));
            put(comm, longer, added);
            std::vector<float> sums = numbers;
            std::vector<float> last = numbers;
            for (std::size_t i = 0; i < sums.size(); ++i) {
                sums[i] += added[i % n + 1];
                last[i] = added[i % n + 1] + numbers[i % n];  // a product of a column of ones and x's first row
            }
            const std::span past(longer.data() + 1, n);
            pl::executable plain{pl::program<"plain">(pl::update(y, x_in + bias)), comm};
            plain(x_in = x, bias = past, y = out, M = m, N = n);
            CHECK(get(comm, out) == sums);
            pl::executable product{pl::program<"product">(pl::update(y, pl::matmul(a, b) + bias)), comm};
            product(a = one, b = std::span(x.data(), n), bias = past, y = out, M = m, K = 1, N = n);
            CHECK(get(comm, out) == last);
        },
        cuda_test::devices());
}

}  // namespace
