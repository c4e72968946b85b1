// How the threads of a kernel divide an index space: warps take tiles, lanes take groups of consecutive elements.
#pragma once

#include <plait/graph/value_type.hpp>

#include <cuda_runtime.h>

#include <cstdint>

namespace plait::cuda {

inline constexpr int warp_size = 32;
inline constexpr int block_threads = 256;
inline constexpr int block_warps = block_threads / warp_size;
/// Elements of a tile where elements are added up: sums of tiles are what long sums consist of, in every schedule.
inline constexpr int sum_tile = 1024;

/// Division by a number that is known when a kernel is launched, for numerators below 2^31.
/// Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
struct divider {
    std::uint32_t by = 1;
    std::uint32_t multiplier = 1;
    std::uint32_t shift = 0;

    static divider of(std::uint32_t d)
    {
        divider r;
        r.by = d;
        while ((std::uint64_t{1} << r.shift) < d) { ++r.shift; }
        const std::uint64_t excess = (std::uint64_t{1} << r.shift) - d;
        r.multiplier = static_cast<std::uint32_t>((excess << 32U) / d + 1);
        return r;
    }
    __device__ std::uint32_t quotient(std::uint32_t n) const { return (__umulhi(n, multiplier) + n) >> shift; }
};

/// A run of consecutive elements of the space in which no tensor and no part of a reduction ends.
struct segment {
    std::int64_t first_tile = 0;
    std::int64_t begin = 0;     // in the space, counted along it
    std::int64_t count = 0;
    std::int64_t in_piece = 0;  // of the first element, in its tensor
    std::int64_t tensor = 0;
};

/// The elements 0 ... count-1 of a space in memory order: as tiles, or `flat`, where everything is aligned and in one piece, as
/// groups [low, high) that the threads of the whole grid take in turn; the tiles are then what is left at its two ends.
/// (Kernels that add up take flat spaces tile by tile, too, with the addresses of the whole.)
struct walk {
    std::int64_t count = 0;
    std::int64_t tiles = 0;
    int flat = 0;                        // 0: not so; else the number of ranks as below, or 1
    unsigned low = 0;
    unsigned high = 0;
    int peers = 1;                       // ranks that are combined or written, where code for as many is there; else 1
    std::int64_t row = 1;                // elements of a row, where values are the same in all rows, or for a whole one
    divider by_row{};
    int tile = sum_tile;                 // elements of a tile, a multiple of what a warp does at once
    int shift = 0;                       // by how many elements the first tile is shorter, so that the others are aligned
    bool vectors = false;                // whether groups of elements may be loaded at once, where they are aligned
    bool wide = false;                   // counts beyond 2^31
    int dims = 0;                        // of spaces that are no line: collapsed
    std::int64_t counts[max_dims]{};
    divider by[max_dims]{};
    const segment* segments = nullptr;   // in order; null if the whole is one
    std::int64_t tensor = 0;             // that the whole lies in, if it does in one
    int n_segments = 0;
};

/// The elements [begin, end) of one tile, and the segment that they lie in.
struct tile_range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t in_piece = 0;  // of element `begin`
    std::int64_t tensor = 0;
};

__device__ inline tile_range find_tile(const walk& w, std::int64_t t)
{
    tile_range r;
    r.tensor = w.tensor;
    if (w.flat != 0) {
        r.begin = t == 0 ? 0 : w.high;
        r.end = t == 0 ? w.low : w.count;
        r.in_piece = r.begin;
        return r;
    }
    if (w.segments == nullptr) {
        const std::int64_t from = t * w.tile - w.shift;
        const std::int64_t to = from + w.tile;
        r.begin = from < 0 ? 0 : from;
        r.end = to < w.count ? to : w.count;
        r.in_piece = r.begin;
        return r;
    }
    int low = 0;
    int high = w.n_segments - 1;  // the last segment that begins at or before tile t
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (w.segments[middle].first_tile <= t) { low = middle; }
        else { high = middle - 1; }
    }
    const segment s = w.segments[low];
    const std::int64_t within = (t - s.first_tile) * w.tile;
    const std::int64_t length = s.count - within < w.tile ? s.count - within : w.tile;
    r.begin = s.begin + within;
    r.end = r.begin + length;
    r.in_piece = s.in_piece + within;
    r.tensor = s.tensor;
    return r;
}

/// The row of an element, and its place there.
struct row_and_column {
    std::int64_t row;
    std::int64_t column;
};
template <bool Flat>
__device__ row_and_column find_row(const walk& w, std::int64_t i)
{
    if (!Flat && w.wide) { return {i / w.row, i % w.row}; }
    const auto at = static_cast<std::uint32_t>(i);
    const std::uint32_t row = w.by_row.quotient(at);
    return {row, at - row * w.by_row.by};
}

/// The index of an element along each dimension of a space.
struct coordinates {
    std::int64_t at[max_dims];
};

__device__ inline coordinates find_coordinates(const walk& w, std::int64_t i)
{
    coordinates c;
    if (w.wide) {
        for (int d = w.dims - 1; d > 0; --d) {
            c.at[d] = i % w.counts[d];
            i /= w.counts[d];
        }
        c.at[0] = i;
        return c;
    }
    auto rest = static_cast<std::uint32_t>(i);
#pragma unroll
    for (int d = max_dims - 1; d > 0; --d) {
        if (d >= w.dims) { continue; }
        const std::uint32_t q = w.by[d].quotient(rest);
        c.at[d] = rest - q * w.by[d].by;
        rest = q;
    }
    c.at[0] = rest;
    return c;
}

/// The offset of an element in a value with these strides.
__device__ inline std::int64_t offset_of(const walk& w, const coordinates& c, const std::int64_t* stride)
{
    std::int64_t sum = 0;
#pragma unroll
    for (int d = 0; d < max_dims; ++d) {
        if (d < w.dims) { sum += c.at[d] * stride[d]; }
    }
    return sum;
}

}  // namespace plait::cuda
