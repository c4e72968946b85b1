// Matrix products as plain loops that the compiler turns into vector instructions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace demo {

/// A matrix in memory of someone else: element (i, j) is data[i * row_step + j * column_step].
template <class T>
struct matrix {
    T* data;
    std::size_t rows;
    std::size_t columns;
    std::size_t row_step = columns;
    std::size_t column_step = 1;

    T& operator()(std::size_t i, std::size_t j) const { return data[i * row_step + j * column_step]; }
    matrix transposed() const { return {data, columns, rows, column_step, row_step}; }

    operator matrix<const T>() const
        requires(!std::is_const_v<T>)
    {
        return {data, rows, columns, row_step, column_step};
    }
};

namespace detail {

// The tile of the result that stays in registers: the shapes that each compiler vectorises well.
inline constexpr std::size_t tile_rows = 4;
#if defined(__clang__)
inline constexpr std::size_t tile_columns = 16;
#else
inline constexpr std::size_t tile_columns = 32;
#endif

/// Copies columns [first, first + tile_columns) of b into rows that lie one after the other; zeros beyond the last.
template <class T>
void pack(matrix<const T> b, std::size_t first, T* packed)
{
    const std::size_t columns = std::min(tile_columns, b.columns - first);
    if (columns < tile_columns) { std::fill(packed, packed + b.rows * tile_columns, T{}); }
    const T* from = b.data + first * b.column_step;
    if (b.column_step == 1) {
        for (std::size_t k = 0; k < b.rows; ++k) {
            for (std::size_t j = 0; j < columns; ++j) { packed[k * tile_columns + j] = from[k * b.row_step + j]; }
        }
    } else {
        for (std::size_t j = 0; j < columns; ++j) {
            const T* column = from + j * b.column_step;
            for (std::size_t k = 0; k < b.rows; ++k) { packed[k * tile_columns + j] = column[k * b.row_step]; }
        }
    }
}

}  // namespace detail

/// c += a b. `scratch` is working memory, kept by the caller so that it is allocated once.
/// a: (m, k), b: (k, n), c: (m, n); none of them overlap.
template <class T>
void add_product(std::type_identity_t<matrix<const T>> a, std::type_identity_t<matrix<const T>> b, matrix<T> c,
                 std::vector<T>& scratch)
{
    using detail::tile_columns;
    using detail::tile_rows;
    if (scratch.size() < b.rows * tile_columns) { scratch.resize(b.rows * tile_columns); }
    for (std::size_t j0 = 0; j0 < c.columns; j0 += tile_columns) {
        detail::pack(b, j0, scratch.data());
        for (std::size_t i0 = 0; i0 < c.rows; i0 += tile_rows) {
            // At the lower edge the last row is computed several times, and stored once.
            std::size_t row[tile_rows];
            for (std::size_t i = 0; i < tile_rows; ++i) { row[i] = std::min(i0 + i, c.rows - 1) * a.row_step; }
            T sum[tile_rows][tile_columns] = {};
            const T* from_a = a.data;
            const T* from_b = scratch.data();
            for (std::size_t k = 0; k < a.columns; ++k, from_a += a.column_step, from_b += tile_columns) {
                for (std::size_t i = 0; i < tile_rows; ++i) {
                    const T x = from_a[row[i]];
                    for (std::size_t j = 0; j < tile_columns; ++j) { sum[i][j] += x * from_b[j]; }
                }
            }
            const std::size_t rows = std::min(tile_rows, c.rows - i0);
            const std::size_t columns = std::min(tile_columns, c.columns - j0);
            for (std::size_t i = 0; i < rows; ++i) {
                for (std::size_t j = 0; j < columns; ++j) { c(i0 + i, j0 + j) += sum[i][j]; }
            }
        }
    }
}

}  // namespace demo
