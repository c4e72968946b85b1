// The innermost part of a matrix product, in portable C++: a tile of the result that stays in registers.
#pragma once

#include <cstddef>

namespace plait::host::detail {

/// How a tile is computed; every processor's variant (see gemm_tile_x86.hpp too) has these members. Each element of a
/// tile is a chain over p = 0, 1, ..., k - 1: sum = a[p] * b[p] + sum, with a single rounding a link where the
/// processor has fma. That chain is all there is: it does not depend on the tile or on the place in it.
struct portable_tile {
    /// Rows of a tile, which is also the stride of packed a.
    static constexpr int rows = 6;
    /// Columns of a tile.
    template <class S>
    static constexpr int columns = 32 / static_cast<int>(sizeof(S));
    /// The least height in which a tile with so many rows of use can be computed, when rows are few.
    static constexpr int height(int) { return rows; }
    /// How many rows the next tile takes when so many are left.
    static constexpr int next(std::size_t left) { return left < rows ? static_cast<int>(left) : rows; }

    static bool supported() { return true; }

    /// One link of the chain. Where fma is not sure to be an instruction it is a call; then the processor that the
    /// compiler writes for has none, and nothing contracts the product and the sum.
    template <class S>
    static S link(S a, S b, S sum)
    {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF)
        if constexpr (sizeof(S) == sizeof(float)) {
            return __builtin_fmaf(a, b, sum);
        } else {
            return __builtin_fma(a, b, sum);
        }
#else
        return a * b + sum;
#endif
    }

    /// c = a * b, or c += a * b unless `first`, of a tile's size: a is packed column by column, a row of b is b_row
    /// elements from the one before it, one of c is c_row. Height is as given by `height`.
    template <int Height, class S>
    [[gnu::noinline]] static void multiply(std::size_t k, const S* a, const S* b, std::ptrdiff_t b_row, S* c,
                                           std::ptrdiff_t c_row, bool first)
    {
        constexpr int width = columns<S>;
        S sum[rows][width];
        for (int r = 0; r < rows; ++r) {
            for (int j = 0; j < width; ++j) { sum[r][j] = first ? S{0} : c[r * c_row + j]; }
        }
        for (std::size_t p = 0; p < k; ++p, a += rows, b += b_row) {
            for (int r = 0; r < rows; ++r) {
                for (int j = 0; j < width; ++j) { sum[r][j] = link(a[r], b[j], sum[r][j]); }
            }
        }
        for (int r = 0; r < rows; ++r) {
            for (int j = 0; j < width; ++j) { c[r * c_row + j] = sum[r][j]; }
        }
    }

    /// to[i] = from[i], in the type of sums.
    template <class S, class T>
    static void widen(const T* from, S* to, std::size_t n)
    {
        for (std::size_t i = 0; i < n; ++i) { to[i] = static_cast<S>(from[i]); }
    }

    /// to[i] = from[i], rounded to the type that is stored.
    template <class S, class Out>
    static void narrow(const S* from, Out* to, std::size_t n)
    {
        for (std::size_t i = 0; i < n; ++i) { to[i] = static_cast<Out>(from[i]); }
    }
};

}  // namespace plait::host::detail
