// A matrix product by blocks that fit the caches, packed, and multiplied tile by tile in registers.
#pragma once

#include <plait/target/host/gemm_pack.hpp>
#include <plait/target/host/gemm_scratch.hpp>
#include <plait/target/host/matrix_view.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace plait::host::detail {

// The blocks (after Goto, and BLIS): `deep` by `wide` of b is packed and stays in the last cache, `high` by `deep` of a
// in the second one, and a panel of b of a tile's width in the first. Sums that are not stored as they are (of
// low-precision results) wait for their next part in a block of `tall` rows.
inline constexpr std::size_t gemm_deep = 256;
inline constexpr std::size_t gemm_high = 192;
inline constexpr std::size_t gemm_wide = 1536;
inline constexpr std::size_t gemm_tall = 4 * gemm_high;
inline constexpr std::size_t gemm_wide_sums = 768;

// With all of b packed before, a product may be of a few rows of a only and then reads all of b. So it goes as deep as
// that: a tile stays in registers, and b comes as one stream, panel after panel. Packed is panel after panel, each over the
// whole depth, and by the first of these products, block by block as it needs them: while they are in the caches.
inline constexpr std::size_t gemm_deep_packed = 2048;

// A product of so few rows only reads b, in place: so many rows of it at a time, all along, as the processor foresees
// few streams, and those the better the longer they are.
inline constexpr std::size_t gemm_thin = 4;
inline constexpr std::size_t gemm_shallow = 8;

/// The largest tile of any processor, by which the scratch is measured.
inline constexpr std::size_t gemm_most_rows = 12;
inline constexpr std::size_t gemm_most_columns = 32;

/// Where the parts of a scratch are.
template <class S>
struct gemm_blocks {
    S* a;
    S* b;
    S* sums;
    const S* packed = nullptr;  // all of b, if it was packed before
    S* packing = nullptr;       // where it is packed on the way; `packed` is the same then
};

/// A product by the tiles of one kind of processor: from T through S to Out.
template <class Tile, class T, class Out>
class gemm_run {
    using S = gemm_sum_t<T>;
    static constexpr int rows = Tile::rows;
    static constexpr int columns = Tile::template columns<S>;

  public:
    gemm_run(std::size_t m, std::size_t n, std::size_t k, row_groups<const T> a, matrix_view<const T> b,
             row_groups<Out> c, gemm_blocks<S> blocks)
        : m_(m), n_(n), k_(k), a_(a), b_(b), c_(c), blocks_(blocks)
    {
    }

    void run() const
    {
        if constexpr (std::is_same_v<S, Out>) {
            for (std::size_t j = 0; j < n_; j += gemm_wide) {
                add_up(0, m_, j, std::min(gemm_wide, n_ - j), {c_.from(0, j), c_.count, c_.step});
            }
        } else {
            for (std::size_t j = 0; j < n_; j += gemm_wide_sums) {
                const std::size_t width = std::min(gemm_wide_sums, n_ - j);
                const matrix_view<S> sums{blocks_.sums,
                                          static_cast<std::ptrdiff_t>(gemm_round_up(width, gemm_most_columns)), 1};
                for (std::size_t i = 0; i < m_; i += gemm_tall) {
                    const std::size_t height = std::min(gemm_tall, m_ - i);
                    add_up(i, height, j, width, {sums, height, 0});
                    for (std::size_t r = 0; r < height; ++r) { store(sums.from(r, 0).data, width, c_.from(i + r, j)); }
                }
            }
        }
    }

  private:
    /// Whether b need not be packed: its rows are those of a panel already, and they are read a few times only or stay
    /// in the first cache anyway.
    bool reads_in_place(std::size_t height, std::size_t width, std::size_t depth) const
    {
        const bool is_small = depth * width * sizeof(S) <= std::size_t{32} << 10U;
        return std::is_same_v<S, T> && b_.column == 1 && (is_small || height <= 2 * std::size_t{rows});
    }

    /// Calls use(first row, rows, number) for the tiles that lie above one another in rows i, i + 1, ..., of which
    /// `height` are left: as many as fit the block of a. Returns how many rows they have.
    template <class Use>
    std::size_t for_each_tile(std::size_t i, std::size_t height, Use&& use) const
    {
        std::size_t r = 0;
        for (std::size_t which = 0; r < height && which < gemm_high / rows; ++which) {
            const int tall = Tile::next(std::min(height - r, a_.left(i + r)));
            use(r, tall, which);
            r += static_cast<std::size_t>(tall);
        }
        return r;
    }

    /// `to` = height rows of a from row i on, times width columns of b from column j on.
    void add_up(std::size_t i, std::size_t height, std::size_t j, std::size_t width, row_groups<S> to) const
    {
        const bool packs_all = blocks_.packing != nullptr && i == 0;
        const bool is_packed = blocks_.packed != nullptr;
        const bool is_thin = height <= gemm_thin && std::is_same_v<S, T> && b_.column == 1;
        const std::size_t deep = packs_all ? gemm_deep : is_packed ? gemm_deep_packed : is_thin ? gemm_shallow : gemm_deep;
        for (std::size_t p = 0; p < k_; p += deep) {
            const std::size_t depth = std::min(deep, k_ - p);
            const bool in_place = !is_packed && reads_in_place(height, width, depth);
            const std::size_t from = in_place ? width / columns * columns : 0;  // what is packed begins here
            for (std::size_t w = from; w < width && (packs_all || !is_packed); w += columns) {
                const int used = static_cast<int>(std::min<std::size_t>(columns, width - w));
                S* to_panel = packs_all ? blocks_.packing + (j + w) * k_ + p * columns : blocks_.b + (w - from) * depth;
                pack_panel<Tile, columns>(b_.from(p, j + w).transposed(), used, depth, to_panel);
            }
            for (std::size_t h = 0; h < height;) {
                const auto pack_a = [&](std::size_t r, int tall, std::size_t which) {
                    pack_panel<Tile, rows>(a_.from(i + h + r, p), tall, depth, blocks_.a + which * rows * depth);
                };
                const std::size_t part = for_each_tile(i + h, height - h, pack_a);
                for (std::size_t w = 0; w < width; w += columns) {
                    const int used = static_cast<int>(std::min<std::size_t>(columns, width - w));
                    const S* panel = is_packed ? blocks_.packed + (j + w) * k_ + p * columns
                                               : blocks_.b + (w - from) * depth;
                    std::ptrdiff_t stride = columns;
                    if constexpr (std::is_same_v<S, T>) {
                        if (w < from) {
                            panel = b_.from(p, j + w).data;
                            stride = b_.row;
                        }
                    }
                    for_each_tile(i + h, part, [&](std::size_t r, int tall, std::size_t which) {
                        const S* lines = blocks_.a + which * rows * depth;
                        tile(depth, lines, panel, stride, tall, used, to.from(h + r, w), p == 0);
                    });
                }
                h += part;
            }
        }
    }

    /// One tile, of which `tall` by `used` are part of the result. Whole ones are computed where they are, others on
    /// the side.
    static void tile(std::size_t k, const S* a, const S* b, std::ptrdiff_t b_row, int tall, int used, matrix_view<S> c,
                     bool first)
    {
        const int height = Tile::height(tall);
        if (height == tall && used == columns && c.column == 1) {
            multiply(height, k, a, b, b_row, c.data, c.row, first);
            return;
        }
        alignas(64) S side[static_cast<std::size_t>(rows) * columns];
        if (!first) {
            std::fill_n(side, static_cast<std::size_t>(height) * columns, S{0});
            for (int r = 0; r < tall; ++r) {
                for (int j = 0; j < used; ++j) { side[r * columns + j] = c.data[r * c.row + j * c.column]; }
            }
        }
        multiply(height, k, a, b, b_row, side, columns, first);
        for (int r = 0; r < tall; ++r) {
            for (int j = 0; j < used; ++j) { c.data[r * c.row + j * c.column] = side[r * columns + j]; }
        }
    }

    /// The tile of a height that is known when compiling.
    template <int Height = 1>
    static void multiply(int height, std::size_t k, const S* a, const S* b, std::ptrdiff_t b_row, S* c,
                         std::ptrdiff_t c_row, bool first)
    {
        if constexpr (Tile::height(Height) != Height) {
            multiply<Height + 1>(height, k, a, b, b_row, c, c_row, first);
        } else if (height == Height) {
            Tile::template multiply<Height>(k, a, b, b_row, c, c_row, first);
        } else if constexpr (Height < rows) {
            multiply<Height + 1>(height, k, a, b, b_row, c, c_row, first);
        }
    }

    /// Rounds a row of sums to what is stored.
    static void store(const S* sums, std::size_t width, matrix_view<Out> to)
    {
        if (to.column == 1) {
            Tile::narrow(sums, to.data, width);
        } else {
            for (std::size_t j = 0; j < width; ++j) { to.at(0, j) = static_cast<Out>(sums[j]); }
        }
    }

    std::size_t m_, n_, k_;
    row_groups<const T> a_;
    matrix_view<const T> b_;
    row_groups<Out> c_;
    gemm_blocks<S> blocks_;
};

/// Elements of a packed part of a and b, and of the sums.
struct gemm_sizes {
    std::size_t a, b, sums;
};
template <class T>
constexpr gemm_sizes gemm_sizes_of(std::size_t m, std::size_t n, std::size_t k, bool is_packed = false)
{
    const std::size_t depth = std::min(k, is_packed ? gemm_deep_packed : gemm_deep);
    const auto columns = [n](std::size_t most) { return gemm_round_up(std::min(n, most), gemm_most_columns); };
    const bool low = !std::is_same_v<gemm_sum_t<T>, T>;
    const std::size_t high = is_packed ? gemm_high : gemm_round_up(std::min(m, gemm_high), gemm_most_rows);
    return {high * depth, is_packed ? 0 : columns(gemm_wide) * depth,
            low ? std::min(m, gemm_tall) * columns(gemm_wide_sums) : 0};
}

template <class T>
constexpr std::size_t bytes_of(const gemm_sizes& s)
{
    using S = gemm_sum_t<T>;
    return gemm_bytes<S>(s.a) + gemm_bytes<S>(s.b) + gemm_bytes<S>(s.sums);
}

}  // namespace plait::host::detail
