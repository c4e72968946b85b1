// Matrix products: plait's own by each kind of instructions, OpenBLAS's, and the one that the library picks.
#include <plait/target/host/gemm.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace host = plait::host;
using host::gemm_scratch, host::gemm_sum_t, host::matrix_view;
using plait::bf16, plait::f16;

template <class T>
double number(T x)
{
    if constexpr (std::is_same_v<T, double>) {
        return x;
    } else {
        return static_cast<double>(static_cast<float>(x));
    }
}

/// Half a unit in the last place, relative.
template <class T>
constexpr double epsilon = std::is_same_v<T, double>  ? 0x1p-53
                           : std::is_same_v<T, float> ? 0x1p-24
                           : std::is_same_v<T, f16>   ? 0x1p-11
                                                      : 0x1p-8;

/// How a matrix lies in memory.
enum class layout { rows, rows_apart, columns, columns_apart, scattered };
constexpr layout layouts[] = {layout::rows, layout::rows_apart, layout::columns, layout::columns_apart,
                              layout::scattered};

/// A matrix that owns its memory, which begins at an odd element and is full of a pattern.
template <class T>
struct matrix {
    std::size_t rows, columns;
    std::vector<T> memory;
    matrix_view<T> view;

    matrix(std::size_t m, std::size_t n, layout l) : rows(m), columns(n), view{}
    {
        const bool by_rows = l == layout::rows || l == layout::rows_apart || l == layout::scattered;
        const std::size_t inner = l == layout::scattered ? 2 : 1;
        std::size_t outer = (by_rows ? n : m) * inner + (l == layout::rows || l == layout::columns ? 0 : 5);
        if (outer == 0) { outer = 1; }
        memory.resize((by_rows ? m : n) * outer + 8);
        std::memset(static_cast<void*>(memory.data()), 0x5a, memory.size() * sizeof(T));
        view = {memory.data() + 3, static_cast<std::ptrdiff_t>(by_rows ? outer : inner),
                static_cast<std::ptrdiff_t>(by_rows ? inner : outer)};
    }

    /// Numbers of either sign, of which not all are round.
    void fill(std::uint32_t seed)
    {
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < columns; ++j) {
                seed = seed * 1664525U + 1013904223U;
                view.at(i, j) = static_cast<T>(static_cast<float>(static_cast<int>(seed >> 16U) - 32768) / 30011.0F);
            }
        }
    }

    /// Whether what lies between and around the elements is as it was. Overwrites the elements.
    bool is_clean_outside()
    {
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < columns; ++j) {
                std::memset(static_cast<void*>(&view.at(i, j)), 0x5a, sizeof(T));
            }
        }
        const auto* bytes = reinterpret_cast<const unsigned char*>(memory.data());
        return std::all_of(bytes, bytes + memory.size() * sizeof(T), [](unsigned char b) { return b == 0x5a; });
    }
};

template <class T, class Out>
using product = std::function<void(std::size_t, std::size_t, std::size_t, matrix_view<const T>, matrix_view<const T>,
                                   matrix_view<Out>, gemm_scratch&)>;

template <class T, class Out>
struct contestant {
    std::string name;
    product<T, Out> multiply;
    bool own;
    bool fma;
};

template <class T, class Out = T>
std::vector<contestant<T, Out>> contestants()
{
    namespace own = host::own;
    std::vector<contestant<T, Out>> all;
    const std::pair<own::instructions, const char*> kinds[] = {{own::instructions::portable, "own, portable"},
                                                               {own::instructions::avx2, "own, AVX2"},
                                                               {own::instructions::avx512, "own, AVX-512"}};
    for (const auto& [kind, name] : kinds) {
        if (!own::has(kind)) { continue; }
        all.push_back({name,
                       [by = kind](auto m, auto n, auto k, auto a, auto b, auto c, gemm_scratch& s) {
                           own::gemm<T, Out>(m, n, k, a, b, c, s, by);
                       },
                       true, kind != own::instructions::portable});
        // Packed on the way by one row or by all of them, which are one group or three, and then read.
        for (const bool by_one : {false, true}) {
            all.push_back({std::string(name) + (by_one ? ", packed before" : ", packed on the way"),
                           [by = kind, by_one](auto m, auto n, auto k, auto a, auto b, auto c, gemm_scratch& s) {
                               gemm_scratch packed;
                               const std::size_t group = m % 3 == 0 && m > 0 ? m / 3 : std::max<std::size_t>(m, 1);
                               const auto step = static_cast<std::ptrdiff_t>(group);
                               const host::row_groups<const T> rows{a, group, step * a.row};
                               const host::row_groups<Out> results{c, group, step * c.row};
                               own::gemm_packing<T, Out>(by_one ? std::min<std::size_t>(m, 1) : m, n, k, rows, b, packed, results, s, by);
                               if (by_one) { own::gemm_packed<T, Out>(m, n, k, rows, packed, results, s, by); }
                           },
                           true, kind != own::instructions::portable});
        }
    }
#if PLAIT_HAS_OPENBLAS
    all.push_back({"OpenBLAS", host::blas::gemm<T, Out>, false, false});
#endif
    all.push_back({"picked", host::gemm<T, Out>, !host::gemm_by_blas<T>, false});
    return all;
}

/// What a product must be near to, and how near: with sums of k terms rounded k times and then stored.
template <class T, class Out>
struct expected {
    std::size_t rows, columns;
    std::vector<double> value, allowed;

    expected(const matrix<T>& a, const matrix<T>& b)
        : rows(a.rows), columns(b.columns), value(rows * columns), allowed(rows * columns)
    {
        const double terms = static_cast<double>(a.columns);
        std::vector<double> of_b(b.rows * columns);
        for (std::size_t i = 0; i < of_b.size(); ++i) { of_b[i] = number(b.view.at(i / columns, i % columns)); }
        for (std::size_t i = 0; i < rows; ++i) {
            double* sums = value.data() + i * columns;
            double* sizes = allowed.data() + i * columns;
            for (std::size_t p = 0; p < a.columns; ++p) {
                const double x = number(a.view.at(i, p));
                const double* line = of_b.data() + p * columns;
                for (std::size_t j = 0; j < columns; ++j) {
                    sums[j] += x * line[j];
                    sizes[j] += std::fabs(x * line[j]);
                }
            }
            for (std::size_t j = 0; j < columns; ++j) {
                // The reference itself is rounded to double.
                sizes[j] = sizes[j] * terms * (epsilon<gemm_sum_t<T>> + epsilon<double>)*1.01 +
                           std::fabs(sums[j]) * epsilon<Out> + (std::is_same_v<Out, f16> ? 0x1p-25 : 0);
            }
        }
    }

    bool agrees(const matrix<Out>& c) const
    {
        for (std::size_t i = 0; i < rows * columns; ++i) {
            const double found = number(c.view.at(i / columns, i % columns));
            if (!(std::fabs(found - value[i]) <= allowed[i])) {
                MESSAGE("element " << i / columns << ", " << i % columns << ": " << found << ", not " << value[i]);
                return false;
            }
        }
        return true;
    }
};

template <class T, class Out>
void check(std::size_t m, std::size_t n, std::size_t k, layout of_a, layout of_b, layout of_c)
{
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(static_cast<int>(of_a));
    CAPTURE(static_cast<int>(of_b));
    CAPTURE(static_cast<int>(of_c));
    matrix<T> a(m, k, of_a), b(k, n, of_b);
    a.fill(1);
    b.fill(2);
    const expected<T, Out> right(a, b);
    for (const auto& c : contestants<T, Out>()) {
        CAPTURE(c.name);
        matrix<Out> result(m, n, of_c);
        gemm_scratch scratch;
        c.multiply(m, n, k, a.view, b.view, result.view, scratch);
        REQUIRE(right.agrees(result));
        REQUIRE(result.is_clean_outside());
        if (c.name == "picked") { REQUIRE(scratch.bytes() <= host::gemm_scratch_bytes<T>(m, n, k)); }
    }
}

/// The same bits in two matrices.
template <class T>
bool equal(const matrix<T>& x, const matrix<T>& y)
{
    for (std::size_t i = 0; i < x.rows; ++i) {
        for (std::size_t j = 0; j < x.columns; ++j) {
            if (std::memcmp(&x.view.at(i, j), &y.view.at(i, j), sizeof(T)) != 0) {
                MESSAGE("element " << i << ", " << j << ": " << number(x.view.at(i, j)) << " and "
                                   << number(y.view.at(i, j)));
                return false;
            }
        }
    }
    return true;
}

}  // namespace

TEST_CASE_TEMPLATE("products of all small sizes", T, float, double, f16, bf16)
{
    const std::size_t sizes[] = {0, 1, 2, 3, 5, 7, 16, 17, 31, 64, 97, 130};
    std::size_t turn = 0;
    for (const std::size_t m : sizes) {
        for (const std::size_t n : sizes) {
            for (const std::size_t k : sizes) {
                ++turn;
                if (m * n * k > 64UL * 64 * 64 && (m != n || n != k)) { continue; }  // time
                check<T, T>(m, n, k, layouts[turn % 5], layouts[turn / 5 % 5], layouts[turn / 25 % 5]);
            }
        }
    }
}

TEST_CASE_TEMPLATE("products of matrices in any order", T, float, double, f16, bf16)
{
    for (const layout a : layouts) {
        for (const layout b : layouts) {
            for (const layout c : layouts) {
                check<T, T>(37, 66, 19, a, b, c);
                check<T, T>(1, 40, 33, a, b, c);
                check<T, T>(40, 1, 33, a, b, c);
                check<T, gemm_sum_t<T>>(13, 33, 41, a, b, c);
            }
        }
    }
}

TEST_CASE_TEMPLATE("products of more than a block", T, float, double, f16, bf16)
{
    check<T, T>(300, 517, 611, layout::rows, layout::rows, layout::rows);
    check<T, T>(517, 300, 611, layout::columns_apart, layout::rows_apart, layout::columns);
    check<T, T>(300, 517, 611, layout::scattered, layout::columns, layout::scattered);
    check<T, T>(9, 1700, 300, layout::rows, layout::rows_apart, layout::rows);
    check<T, T>(45, 40, 2500, layout::rows, layout::rows, layout::rows_apart);
    check<T, gemm_sum_t<T>>(1000, 40, 530, layout::rows, layout::columns, layout::rows_apart);
}

TEST_CASE_TEMPLATE("an element of plait's own product is one chain of fma in the order of k", T, float, double, f16,
                   bf16)
{
    using S = gemm_sum_t<T>;
    matrix<T> a(29, 531, layout::rows), b(531, 83, layout::columns), right(29, 83, layout::rows);
    a.fill(3);
    b.fill(4);
    for (std::size_t i = 0; i < a.rows; ++i) {
        for (std::size_t j = 0; j < b.columns; ++j) {
            S sum{0};
            for (std::size_t p = 0; p < a.columns; ++p) {
                sum = std::fma(static_cast<S>(a.view.at(i, p)), static_cast<S>(b.view.at(p, j)), sum);
            }
            right.view.at(i, j) = static_cast<T>(sum);
        }
    }
    gemm_scratch scratch;
    for (const auto& c : contestants<T>()) {
        if (!c.fma) { continue; }
        CAPTURE(c.name);
        matrix<T> result(a.rows, b.columns, layout::rows_apart);
        c.multiply(a.rows, b.columns, a.columns, a.view, b.view, result.view, scratch);
        CHECK(equal(result, right));
    }
}

TEST_CASE_TEMPLATE("plait's own product in parts has the bits of the whole", T, float, double, f16, bf16)
{
    const std::size_t m = 77, n = 71, k = 270;
    for (const layout of_b : {layout::rows, layout::columns}) {
        for (const layout of_c : layouts) {
            matrix<T> a(m, k, layout::rows), b(k, n, of_b);
            a.fill(5);
            b.fill(6);
            for (const auto& c : contestants<T>()) {
                if (!c.own) { continue; }
                CAPTURE(c.name);
                gemm_scratch scratch;
                matrix<T> whole(m, n, layout::rows);
                c.multiply(m, n, k, a.view, b.view, whole.view, scratch);
                for (const std::size_t step : {1UL, 5UL, 13UL, 64UL}) {
                    CAPTURE(step);
                    matrix<T> by_rows(m, n, of_c), by_columns(m, n, of_c);
                    for (std::size_t i = 0; i < m; i += step) {
                        c.multiply(std::min(step, m - i), n, k, a.view.from(i, 0), b.view, by_rows.view.from(i, 0),
                                   scratch);
                    }
                    for (std::size_t j = 0; j < n; j += step) {
                        c.multiply(m, std::min(step, n - j), k, a.view, b.view.from(0, j), by_columns.view.from(0, j),
                                   scratch);
                    }
                    CHECK(equal(by_rows, whole));
                    CHECK(equal(by_columns, whole));
                }
            }
        }
    }
}

TEST_CASE_TEMPLATE("NaN and infinity reach the elements they belong to, and no others", T, float, double, f16, bf16)
{
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const std::size_t m = 21, n = 45, k = 23;
    matrix<T> a(m, k, layout::rows), b(k, n, layout::rows);
    a.fill(7);
    b.fill(8);
    for (std::size_t p = 0; p < k; ++p) { b.view.at(p, 4) = T(0.0F); }  // which stops neither
    a.view.at(2, 5) = T(nan);
    a.view.at(20, 22) = T(-infinity);
    b.view.at(11, 44) = T(infinity);
    for (std::size_t p = 0; p < k; ++p) { a.view.at(6, p) = T(1.0F); }
    gemm_scratch scratch;
    for (const auto& c : contestants<T>()) {
        CAPTURE(c.name);
        matrix<T> result(m, n, layout::rows);
        c.multiply(m, n, k, a.view, b.view, result.view, scratch);
        bool right = true;
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                const double x = number(result.view.at(i, j));
                if (i == 2) {
                    right = right && std::isnan(x);
                } else if (i == 20) {
                    right = right && (j == 4 ? std::isnan(x) : !std::isfinite(x));
                } else if (j == 44) {
                    right = right && !std::isfinite(x);
                } else {
                    right = right && std::isfinite(x);
                }
            }
        }
        CHECK(right);
        CHECK(number(result.view.at(6, 44)) == static_cast<double>(infinity));
        CHECK(number(result.view.at(20, 0)) ==
              (number(b.view.at(22, 0)) > 0 ? -1.0 : 1.0) * static_cast<double>(infinity));
    }
}

TEST_CASE("low-precision sums are rounded once")
{
    // 2048 + 1 + 1 + ... stays 2048 when sums are f16.
    matrix<f16> a(1, 601, layout::rows), b(601, 1, layout::rows);
    for (std::size_t p = 0; p < 601; ++p) {
        a.view.at(0, p) = f16(p == 0 ? 2048.0F : 1.0F);
        b.view.at(p, 0) = f16(1.0F);
    }
    gemm_scratch scratch;
    for (const auto& c : contestants<f16>()) {
        matrix<f16> result(1, 1, layout::rows);
        c.multiply(1, 1, 601, a.view, b.view, result.view, scratch);
        CHECK(static_cast<float>(result.view.at(0, 0)) == 2648.0F);
    }
    for (const auto& c : contestants<f16, float>()) {
        b.view.at(5, 0) = f16(0x1p-10F);
        matrix<float> result(1, 1, layout::rows);
        c.multiply(1, 1, 601, a.view, b.view, result.view, scratch);
        CHECK(result.view.at(0, 0) == 2647.0F + 0x1p-10F);
    }
}

TEST_CASE("a scratch grows, is used again and moves")
{
    gemm_scratch scratch;
    CHECK(scratch.bytes() == 0);
    scratch.reserve(100);
    CHECK(scratch.bytes() == 100);
    const std::byte* memory = scratch.data();
    scratch.reserve(50);
    CHECK(scratch.data() == memory);
    gemm_scratch other = std::move(scratch);
    CHECK(other.data() == memory);
    CHECK(scratch.bytes() == 0);  // NOLINT(bugprone-use-after-move)
    scratch = std::move(other);
    CHECK(scratch.data() == memory);
    // However large the matrices.
    const std::size_t large = 1U << 20U;
    CHECK(host::own::gemm_scratch_bytes<float>(large, large, large) < std::size_t{4} << 20U);
    CHECK(host::own::gemm_scratch_bytes<f16>(large, large, large) < std::size_t{8} << 20U);
    CHECK(host::gemm_scratch_bytes<double>(large, large, large) < std::size_t{8} << 20U);
}
