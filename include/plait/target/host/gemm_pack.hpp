// Packing: parts of a matrix copied to where the innermost loop of a product reads them in order, in the type of sums.
#pragma once

#include <plait/target/host/matrix_view.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace plait::host::detail {

/// to[p * Width + r] = element (r, p), of `rows` rows (at most Group) of k elements.
template <int Width, int Group, class S, class T>
void transpose(matrix_view<const T> from, int rows, std::size_t k, S* to)
{
    const T* line = from.data;
    if (rows == Group && from.column == 1) {  // so that the innermost loop is unrolled
        for (std::size_t p = 0; p < k; ++p, ++line, to += Width) {
            for (int r = 0; r < Group; ++r) { to[r] = static_cast<S>(line[r * from.row]); }
        }
        return;
    }
    for (std::size_t p = 0; p < k; ++p, line += from.column, to += Width) {
        for (int r = 0; r < rows; ++r) { to[r] = static_cast<S>(line[r * from.row]); }
    }
}

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
