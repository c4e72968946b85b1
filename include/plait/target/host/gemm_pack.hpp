// Packing: parts of a matrix copied to where the innermost loop of a product reads them in order, in the type of sums.
#pragma once

#include <plait/target/host/matrix_view.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace plait::host::detail {

/// to[p * Width + r] = element (r, p), of `rows` rows (at most Group) of k elements.
template <int Width, int Group, class S, class T>
void transpose(matrix_view<const T> from, int rows, std::size_t k, S* to)
{
    const T* line = from.data;
    if (rows == Group) {  // so that the innermost loop is unrolled
        for (std::size_t p = 0; p < k; ++p, line += from.column, to += Width) {
            for (int r = 0; r < Group; ++r) { to[r] = static_cast<S>(line[r * from.row]); }
        }
        return;
    }
    for (std::size_t p = 0; p < k; ++p, line += from.column, to += Width) {
        for (int r = 0; r < rows; ++r) { to[r] = static_cast<S>(line[r * from.row]); }
    }
}

#if defined(__SSE2__)
/// The same of four rows of floats that lie in order, in squares of four.
template <int Width>
void transpose_four(matrix_view<const float> from, std::size_t k, float* to)
{
    std::size_t p = 0;
    for (; p + 4 <= k; p += 4, to += 4 * Width) {
        const float* part = from.data + p;
        __m128 a = _mm_loadu_ps(part), b = _mm_loadu_ps(part + from.row);
        __m128 c = _mm_loadu_ps(part + 2 * from.row), d = _mm_loadu_ps(part + 3 * from.row);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps(to, a);
        _mm_storeu_ps(to + Width, b);
        _mm_storeu_ps(to + 2 * Width, c);
        _mm_storeu_ps(to + 3 * Width, d);
    }
    transpose<Width, 4>(from.from(0, p), 4, k - p, to);
}

template <int Width, int Group>
void transpose(matrix_view<const float> from, int rows, std::size_t k, float* to)
{
    int r = 0;
    for (; from.column == 1 && r + 4 <= rows; r += 4) {
        transpose_four<Width>(from.from(static_cast<std::size_t>(r), 0), k, to + r);
    }
    if (r == 0) { return transpose<Width, Group, float, float>(from, rows, k, to); }
    if (r < rows) { transpose<Width, Group % 4>(from.from(static_cast<std::size_t>(r), 0), rows - r, k, to + r); }
}
#endif

/// Packs `used` rows of `from` (at most Width) of k elements each: to[p * Width + r] is element (r, p), and 0 in the
/// rows from `used` on. Rows of a are packed as they are, columns of b transposed.
template <class Tile, int Width, class S, class T>
void pack_panel(matrix_view<const T> from, int used, std::size_t k, S* to)
{
    constexpr int group = Width % 8 == 0 ? 8 : Width;  // rows read side by side: more would evict each other's lines
    if (used < Width) { std::fill_n(to, k * static_cast<std::size_t>(Width), S{0}); }
    if (from.row == 1) {
        const T* line = from.data;
        for (std::size_t p = 0; p < k; ++p, line += from.column, to += Width) {
            if constexpr (std::same_as<S, T>) {
                if (used == Width) {  // so that the size is known
                    std::copy_n(line, Width, to);
                } else {
                    std::copy_n(line, used, to);
                }
            } else {
                Tile::widen(line, to, static_cast<std::size_t>(used));
            }
        }
        return;
    }
    constexpr std::size_t piece = 64;
    for (int r0 = 0; r0 < used; r0 += group) {
        const int rows = std::min(group, used - r0);
        for (std::size_t p0 = 0; p0 < k; p0 += piece) {
            const std::size_t length = std::min(piece, k - p0);
            matrix_view<const T> part = from.from(static_cast<std::size_t>(r0), p0);
            S* out = to + p0 * static_cast<std::size_t>(Width) + r0;
            if constexpr (!std::same_as<S, T>) {
                S wide[static_cast<std::size_t>(group) * piece];
                if (from.column == 1) {
                    for (int r = 0; r < rows; ++r) {
                        Tile::widen(part.data + r * part.row, wide + static_cast<std::size_t>(r) * piece, length);
                    }
                    transpose<Width, group>(matrix_view<const S>{wide, piece, 1}, rows, length, out);
                    continue;
                }
            }
            transpose<Width, group>(part, rows, length, out);
        }
    }
}

}  // namespace plait::host::detail
