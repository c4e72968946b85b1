// The matrix product of OpenBLAS, where PLAIT_HAS_OPENBLAS is 1 (CMake's target plait::openblas sees to that; one
// program must be compiled with one value throughout).
//
// Bits: OpenBLAS chooses its kernels and how it divides sums by the sizes of the matrices and the processor, so a
// product computed in parts can differ from the whole in the last bits. Seen with version 0.3.21:
// with its AVX-512 kernels halves and quarters of large products equal the whole, but single rows of 4 x 768 x 768
// differ in most elements, and 25 columns at a time of 64 x 100 x 130 in some; with its float kernels for AVX2
// (Haswell, Zen) parts of every size differ, in a few of a hundred elements or more. Where parts must equal the whole,
// call own::gemm.
//
// Threads: each rank computes its own products, so on its first use here OpenBLAS is told to use one thread, in the
// whole process, unless the environment has OPENBLAS_NUM_THREADS or OMP_NUM_THREADS.
#pragma once

#include <plait/target/host/gemm_scratch.hpp>
#include <plait/target/host/matrix_view.hpp>

#if !defined(PLAIT_HAS_OPENBLAS)
#define PLAIT_HAS_OPENBLAS 0
#endif

#if PLAIT_HAS_OPENBLAS

#include <cblas.h>

#include <algorithm>
#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdlib>

namespace plait::host {

namespace detail {

inline void blas_on_one_thread()
{
    static const bool done = [] {
        if (std::getenv("OPENBLAS_NUM_THREADS") == nullptr && std::getenv("OMP_NUM_THREADS") == nullptr) {
            openblas_set_num_threads(1);
        }
        return true;
    }();
    (void)done;
}

/// A matrix as BLAS takes it: row by row, or transposed, with a stride that fits an int.
struct blas_operand {
    CBLAS_TRANSPOSE order = CblasNoTrans;
    int stride = 0;  // 0: BLAS does not take it
};

template <class T>
blas_operand blas_operand_of(matrix_view<T> x, std::size_t rows, std::size_t columns)
{
    const auto fits = [](std::ptrdiff_t stride, std::ptrdiff_t inner, std::size_t lines, std::size_t length) {
        const auto least = static_cast<std::ptrdiff_t>(length);
        return (inner == 1 || length == 1) && (lines == 1 || (stride >= least && stride <= INT_MAX));
    };
    if (rows > INT_MAX || columns > INT_MAX) { return {}; }
    if (fits(x.row, x.column, rows, columns)) {
        return {CblasNoTrans, static_cast<int>(rows == 1 ? static_cast<std::ptrdiff_t>(columns) : x.row)};
    }
    if (fits(x.column, x.row, columns, rows)) {
        return {CblasTrans, static_cast<int>(columns == 1 ? static_cast<std::ptrdiff_t>(rows) : x.column)};
    }
    return {};
}

/// c = a * b + keep * c of row-major c, keep 0 or 1.
template <class S>
void blas_multiply(std::size_t m, std::size_t n, std::size_t k, const S* a, blas_operand of_a, const S* b,
                   blas_operand of_b, S keep, S* c, int c_row)
{
    const auto size = [](std::size_t s) { return static_cast<int>(s); };
    if constexpr (std::same_as<S, float>) {
        cblas_sgemm(CblasRowMajor, of_a.order, of_b.order, size(m), size(n), size(k), 1.0F, a, of_a.stride, b,
                    of_b.stride, keep, c, c_row);
    } else {
        cblas_dgemm(CblasRowMajor, of_a.order, of_b.order, size(m), size(n), size(k), 1.0, a, of_a.stride, b,
                    of_b.stride, keep, c, c_row);
    }
}

/// Edge of the blocks in which matrices that BLAS does not take are copied.
inline constexpr std::size_t blas_block = 512;

/// to = from, row-major, in another type.
template <class S, class T>
void blas_copy(matrix_view<const T> from, std::size_t rows, std::size_t columns, S* to)
{
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) { *to++ = static_cast<S>(from.at(i, j)); }
    }
}

/// The product block by block, of any types and strides.
template <class T, class Out>
void blas_in_blocks(std::size_t m, std::size_t n, std::size_t k, matrix_view<const T> a, matrix_view<const T> b,
                    matrix_view<Out> c, std::byte* front)
{
    using S = gemm_sum_t<T>;
    const auto edge = [](std::size_t size, std::size_t at) { return std::min(blas_block, size - at); };
    S* left = gemm_take<S>(front, edge(m, 0) * edge(k, 0));
    S* right = gemm_take<S>(front, edge(k, 0) * edge(n, 0));
    S* sums = gemm_take<S>(front, edge(m, 0) * edge(n, 0));
    for (std::size_t i = 0; i < m; i += blas_block) {
        const std::size_t height = edge(m, i);
        for (std::size_t j = 0; j < n; j += blas_block) {
            const std::size_t width = edge(n, j);
            const auto stride = static_cast<int>(width);
            for (std::size_t p = 0; p < k; p += blas_block) {
                const std::size_t depth = edge(k, p);
                blas_copy(a.from(i, p), height, depth, left);
                blas_copy(b.from(p, j), depth, width, right);
                blas_multiply(height, width, depth, left, {CblasNoTrans, static_cast<int>(depth)}, right,
                              {CblasNoTrans, stride}, p == 0 ? S{0} : S{1}, sums, stride);
            }
            for (std::size_t r = 0; r < height; ++r) {
                for (std::size_t s = 0; s < width; ++s) { c.at(i + r, j + s) = static_cast<Out>(sums[r * width + s]); }
            }
        }
    }
}

}  // namespace detail

/// The matrix product of OpenBLAS.
namespace blas {

/// The most that `gemm` below takes of its scratch, in bytes: nothing of float and double with a stride of 1 each.
template <gemm_element T>
constexpr std::size_t gemm_scratch_bytes(std::size_t m, std::size_t n, std::size_t k)
{
    const auto edge = [](std::size_t size) { return std::min(detail::blas_block, size); };
    using S = gemm_sum_t<T>;
    return detail::gemm_bytes<S>(edge(m) * edge(k)) + detail::gemm_bytes<S>(edge(k) * edge(n)) +
           detail::gemm_bytes<S>(edge(m) * edge(n));
}

/// c = a * b, as own::gemm. Matrices with a stride of 1 are multiplied where they are, others in copied blocks.
template <gemm_element T, gemm_result<T> Out>
void gemm(std::size_t m, std::size_t n, std::size_t k, matrix_view<const T> a, matrix_view<const T> b,
          matrix_view<Out> c, gemm_scratch& scratch)
{
    if (m == 0 || n == 0) { return; }
    if (k == 0) {
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) { c.at(i, j) = Out(0); }
        }
        return;
    }
    detail::blas_on_one_thread();
    if constexpr (std::same_as<T, gemm_sum_t<T>>) {
        const detail::blas_operand of_c = detail::blas_operand_of(c, m, n);
        if (of_c.stride != 0 && of_c.order == CblasTrans) {
            return blas::gemm<T, Out>(n, m, k, b.transposed(), a.transposed(), c.transposed(), scratch);
        }
        const detail::blas_operand of_a = detail::blas_operand_of(a, m, k);
        const detail::blas_operand of_b = detail::blas_operand_of(b, k, n);
        if (of_a.stride != 0 && of_b.stride != 0 && of_c.stride != 0) {
            return detail::blas_multiply(m, n, k, a.data, of_a, b.data, of_b, T{0}, c.data, of_c.stride);
        }
    }
    scratch.reserve(blas::gemm_scratch_bytes<T>(m, n, k));
    detail::blas_in_blocks(m, n, k, a, b, c, scratch.data());
}

}  // namespace blas

}  // namespace plait::host
#endif
