// plait's own matrix product, by the best instructions of this processor.
#pragma once

#include <plait/target/host/gemm_blocks.hpp>
#include <plait/target/host/gemm_scratch.hpp>
#include <plait/target/host/gemm_tile.hpp>
#include <plait/target/host/gemm_tile_x86.hpp>
#include <plait/target/host/matrix_view.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace plait::host {

/// plait's own matrix product. Every element of the result is one chain of sums in the order of k, whatever the sizes
/// of the matrices and wherever in them it is: a product computed in parts, rows or columns at a time, has the same
/// bits as the whole. AVX2 and AVX-512 give the same bits too; a processor without fma rounds twice a step.
namespace own {

/// Which instructions a product is computed with.
enum class instructions { portable, avx2, avx512 };

/// Whether this processor has them.
inline bool has(instructions i)
{
#if defined(PLAIT_GEMM_X86)
    if (i == instructions::avx512) { return detail::avx512_tile::supported(); }
    if (i == instructions::avx2) { return detail::avx2_tile::supported(); }
#endif
    return i == instructions::portable;
}

/// The best of this processor, found out once.
inline instructions best()
{
    static const instructions found = has(instructions::avx512) ? instructions::avx512
                                      : has(instructions::avx2) ? instructions::avx2
                                                                : instructions::portable;
    return found;
}

/// The most that `gemm` below takes of its scratch, in bytes; a few megabytes for the largest product.
template <gemm_element T>
constexpr std::size_t gemm_scratch_bytes(std::size_t m, std::size_t n, std::size_t k)
{
    // Either way round: a result that lies column by column is computed transposed.
    return std::max(detail::bytes_of<T>(detail::gemm_sizes_of<T>(m, n, k)),
                    detail::bytes_of<T>(detail::gemm_sizes_of<T>(n, m, k)));
}

}  // namespace own

namespace detail {

/// Calls f with the tile of these instructions.
template <class F>
void with_tile(own::instructions by, F&& f)
{
#if defined(PLAIT_GEMM_X86)
    if (by == own::instructions::avx512) { return f(avx512_tile{}); }
    if (by == own::instructions::avx2) { return f(avx2_tile{}); }
#endif
    f(portable_tile{});
}

/// The blocks of a product, in a scratch that is made large enough.
template <class T>
gemm_blocks<gemm_sum_t<T>> blocks_in(const gemm_sizes& sizes, gemm_scratch& scratch)
{
    using S = gemm_sum_t<T>;
    scratch.reserve(bytes_of<T>(sizes));
    std::byte* front = scratch.data();
    gemm_blocks<S> blocks{};
    blocks.a = gemm_take<S>(front, sizes.a);
    blocks.b = gemm_take<S>(front, sizes.b);
    blocks.sums = gemm_take<S>(front, sizes.sums);
    return blocks;
}

/// A product with what is in `packed`, or with b, which is packed there on the way: `packing`.
template <class T, class Out>
void gemm_of_packed(std::size_t m, std::size_t n, std::size_t k, row_groups<const T> a, matrix_view<const T> b, gemm_sum_t<T>* packing,
                    const gemm_scratch& packed, row_groups<Out> c, gemm_scratch& scratch, own::instructions by)
{
    if (k == 0) {
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) { *c.from(i, j).data = Out(0); }
        }
        return;
    }
    using S = gemm_sum_t<T>;
    gemm_blocks<S> blocks = blocks_in<T>(gemm_sizes_of<T>(m, n, k, true), scratch);
    blocks.packed = reinterpret_cast<const S*>(packed.data());
    blocks.packing = packing;
    with_tile(by, [&]<class Tile>(Tile) { gemm_run<Tile, T, Out>(m, n, k, a, b, c, blocks).run(); });
}

}  // namespace detail

namespace own {

/// c = a * b with c of m by n, a of m by k and b of k by n, by the given instructions. Sums of f16 and bf16 are float
/// and rounded once, when stored; or not at all, into a c of floats. c must not overlap a or b.
template <gemm_element T, gemm_result<T> Out>
void gemm(std::size_t m, std::size_t n, std::size_t k, matrix_view<const T> a, matrix_view<const T> b,
          matrix_view<Out> c, gemm_scratch& scratch, instructions by = best())
{
    if (m == 0 || n == 0) { return; }
    if (c.column != 1 && c.row == 1) {
        return own::gemm<T, Out>(n, m, k, b.transposed(), a.transposed(), c.transposed(), scratch, by);
    }
    if (k == 0) {
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) { c.at(i, j) = Out(0); }
        }
        return;
    }
    using S = gemm_sum_t<T>;
    scratch.reserve(own::gemm_scratch_bytes<T>(m, n, k));
    const detail::gemm_blocks<S> blocks = detail::blocks_in<T>(detail::gemm_sizes_of<T>(m, n, k), scratch);
    detail::with_tile(by, [&]<class Tile>(Tile) { detail::gemm_run<Tile, T, Out>(m, n, k, {a, m, 0}, b, {c, m, 0}, blocks).run(); });
}

/// The same product as gemm, bit for bit, for m rows of a and c that lie in groups of equally many: b is read once for all of
/// them. On the way b is packed, for gemm_packed.
template <gemm_element T, gemm_result<T> Out>
void gemm_packing(std::size_t m, std::size_t n, std::size_t k, row_groups<const T> a, matrix_view<const T> b, gemm_scratch& packed,
                  row_groups<Out> c, gemm_scratch& scratch, instructions by = best())
{
    using S = gemm_sum_t<T>;
    packed.reserve(detail::gemm_bytes<S>(detail::gemm_round_up(n, detail::gemm_most_columns) * k));
    detail::gemm_of_packed<T, Out>(m, n, k, a, b, reinterpret_cast<S*>(packed.data()), packed, c, scratch, by);
}

/// The same with a b that gemm_packing has packed by the same instructions.
template <gemm_element T, gemm_result<T> Out>
void gemm_packed(std::size_t m, std::size_t n, std::size_t k, row_groups<const T> a, const gemm_scratch& packed,
                 row_groups<Out> c, gemm_scratch& scratch, instructions by = best())
{
    detail::gemm_of_packed<T, Out>(m, n, k, a, {}, nullptr, packed, c, scratch, by);
}

}  // namespace own

}  // namespace plait::host
