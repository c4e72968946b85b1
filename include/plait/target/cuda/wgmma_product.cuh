// The body of a product's kernel on sm_90a, where warpgroups multiply what lies in shared memory. As everywhere, an element's
// terms are added 16 at a time in order, wherever its tile begins.
#pragma once

#include <plait/target/cuda/mma.cuh>
#include <plait/target/cuda/product_tiles.cuh>
#include <plait/target/cuda/warp_sums.cuh>
#include <plait/target/cuda/wgmma.cuh>

#include <cstdint>

namespace plait::cuda {

inline constexpr int wgmma_rows = 128;     // two warpgroups with 64 each
inline constexpr int wgmma_columns = 128;
inline constexpr int wgmma_depth = 32;

/// One operand's tile, 128 rows of a or columns of b and 32 terms, as core matrices. `AlongK`: terms are neighbours in global
/// memory, and so in 16 bytes here. The strides put what eight threads store at once into different banks.
template <class T, bool AlongK>
struct core_tile {
    static constexpr int rows = 128;
    static constexpr int width = 8;
    static constexpr int stride = AlongK ? 128 : 144;                     // bytes from eight rows to the next eight
    static constexpr int leading = rows / 8 * stride + (AlongK ? 32 : 0);  // from eight terms to the next eight
    static constexpr int bytes = wgmma_depth / 8 * leading;

    alignas(16) unsigned char memory[bytes];

    /// Fills it with rows [row, ...) and terms [first, ...) of a matrix; zeros outside of it. `vectors`: 16 bytes at a time,
    /// which the addresses allow.
    __device__ void start_fill(const T* from, std::int64_t row_step, std::int64_t k_step, std::int64_t row, std::int64_t first,
                               std::int64_t n_rows, std::int64_t n_terms, bool vectors)
    {
        for (int i = static_cast<int>(threadIdx.x); i < rows * wgmma_depth / width; i += block_threads) {
            const int r = AlongK ? i / (wgmma_depth / width) : i % (rows / width) * width;
            const int k = AlongK ? i % (wgmma_depth / width) * width : i / (rows / width);
            T* const to = reinterpret_cast<T*>(memory + r / 8 * stride + k / 8 * leading + (AlongK ? r % 8 : k % 8) * 16);
            const T* const at = from + (row + r) * row_step + (first + k) * k_step;
            const bool inside = row + r < n_rows && first + k < n_terms;
            if (vectors && inside && (AlongK ? first + k + width <= n_terms : row + r + width <= n_rows)) {
                start_copy(to, at);
                continue;
            }
#pragma unroll
            for (int e = 0; e < width; ++e) {
                const bool is_there = inside && (AlongK ? first + k + e < n_terms : row + r + e < n_rows);
                to[e] = is_there ? at[e * (AlongK ? k_step : row_step)] : T(0.0F);
            }
        }
    }
    /// Sixteen terms from `k` on, and rows from `row` on.
    __device__ std::uint64_t descriptor(int row, int k) const
    {
        return matrix_descriptor(memory + row / 8 * stride + k / 8 * leading, leading, stride);
    }
};

/// Multiplies all tiles of the block; see mma_kernel. All threads of a block call it.
template <dtype D, int Group, bool ColumnsOfA, bool ColumnsOfB, class Tiles, class Epilogue>
__device__ void multiply_by_warpgroups(const Tiles& tiles, const Epilogue& epilogue)
{
    using T = stored_t<D>;
    using a_tile = core_tile<T, !ColumnsOfA>;
    using b_tile = core_tile<T, ColumnsOfB>;
    __shared__ alignas(16) unsigned char memory[2 * (sizeof(a_tile) + sizeof(b_tile))];
    static_assert(sizeof memory >= block_warps * sizeof(warp_sums) && block_warps == 8);
    a_tile* const as = reinterpret_cast<a_tile*>(memory);
    b_tile* const bs = reinterpret_cast<b_tile*>(memory + 2 * sizeof(a_tile));
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int group_row = warp / 4 * 64;

    tiles.template for_each_tile<wgmma_rows, wgmma_columns>([&](const product_arguments& p, const product_place& tile) {
        const batch_offsets at = offsets_of_batch(p, tile.batch);
        const T* const a = reinterpret_cast<const T*>(p.a.data) + at.a;
        const T* const b = reinterpret_cast<const T*>(p.b.data) + at.b;
        const auto fill = [&](int stage, std::int64_t k0) {
            as[stage].start_fill(a, p.a.row, p.a.column, tile.row, k0, p.m, p.k, p.a_vectors);
            bs[stage].start_fill(b, p.b.column, p.b.row, tile.column, k0, p.n, p.k, p.b_vectors);
            end_copy_group();
        };
        float sum[64]{};
        if (p.k > 0) { fill(0, 0); }
        int stage = 0;
        for (std::int64_t k0 = 0; k0 < p.k; k0 += wgmma_depth, stage ^= 1) {
            if (k0 + wgmma_depth < p.k) {
                fill(stage ^ 1, k0 + wgmma_depth);
                wait_for_copies<1>();
            } else {
                wait_for_copies<0>();
            }
            show_to_products();
            __syncthreads();
            multiply_shared<D, ColumnsOfA, !ColumnsOfB>(sum, as[stage].descriptor(group_row, 0), bs[stage].descriptor(0, 0),
                                                        as[stage].descriptor(group_row, 16), bs[stage].descriptor(0, 16));
            __syncthreads();
        }
        // Through the memory of the operands, which all warps have left.
        warp_sums& part = reinterpret_cast<warp_sums*>(memory)[warp];
        const std::int64_t row0 = tile.row + group_row + warp % 4 * warp_sums::rows;
#pragma unroll 1
        for (int r = 0; r < wgmma_columns / warp_sums::columns; ++r) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {  // chosen, not indexed: the sums stay in registers
                if (i != r) { continue; }
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int x = 16 * i + 4 * j;
                    part.take(lane, j, sum[x], sum[x + 1], sum[x + 2], sum[x + 3]);
                }
            }
            __syncwarp();
            part.give<Group>(lane, epilogue, p, at.c, row0, tile.column + warp_sums::columns * r);
            __syncwarp();
        }
    });
}

}  // namespace plait::cuda
