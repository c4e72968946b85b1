// Matrix products of f16 and bf16 on tensor cores, with sums in f32.
#pragma once

#include <plait/target/cuda/mma.cuh>
#include <plait/target/cuda/product_epilogue.cuh>
#include <plait/target/cuda/product_tiles.cuh>
#include <plait/target/cuda/warp_sums.cuh>
#if defined PLAIT_WGMMA
#include <plait/target/cuda/wgmma_product.cuh>
#endif

#include <cstdint>

namespace plait::cuda {

inline constexpr int mma_rows = 128;
inline constexpr int mma_columns = 128;
inline constexpr int mma_depth = 32;

/// One operand's tile in shared memory: `Lines` lines of `Length` elements that are neighbours in global memory too, padded so
/// that eight rows of a matrix lie in different banks.
template <class T, int Lines, int Length>
struct shared_tile {
    static constexpr int pitch = Length + 8;
    T element[Lines][pitch];

    /// Fills it with lines [line, ...) and elements [first, ...) of a matrix; zeros outside of it. `vectors`: 16 bytes at a
    /// time, which the addresses allow.
    __device__ void start_fill(const T* from, std::int64_t stride, std::int64_t step, std::int64_t line, std::int64_t first,
                               std::int64_t lines, std::int64_t length, bool vectors)
    {
        constexpr int width = 8;
        for (int i = static_cast<int>(threadIdx.x); i < Lines * Length / width; i += block_threads) {
            const int l = i / (Length / width);
            const int e = i % (Length / width) * width;
            T* const to = &element[l][e];
            const T* const at = from + (line + l) * stride + (first + e) * step;
            if (vectors && line + l < lines && first + e + width <= length) {
                start_copy(to, at);
                continue;
            }
#pragma unroll
            for (int k = 0; k < width; ++k) {
                const bool inside = line + l < lines && first + e + k < length;
                to[k] = inside ? at[k * step] : T(0.0F);
            }
        }
    }
};

/// c = a b of one 16-bit dtype. `ColumnsOfA`: elements of a column of a, not of a row, are neighbours in memory (or may be);
/// `ColumnsOfB` likewise. 8 warps make 128 x 128 elements, 16 terms at a time in order: each 64 x 32 of them, or 16 x 128 where
/// warpgroups multiply. Of the results a lane gives the epilogue `Group` neighbours at once.
template <dtype D, int Group, bool ColumnsOfA, bool ColumnsOfB, class Tiles, class Epilogue>
__global__ void __launch_bounds__(block_threads) mma_kernel(const __grid_constant__ product_launch<Tiles, Epilogue> launch)
{
#if defined PLAIT_WGMMA && defined __CUDA_ARCH_FEAT_SM90_ALL
    // The same threads and tiles, and static shared memory: whoever launches it need not know.
    static_assert(mma_rows == wgmma_rows && mma_columns == wgmma_columns);
    multiply_by_warpgroups<D, Group, ColumnsOfA, ColumnsOfB>(launch.tiles, Epilogue(launch.pass));
#else
    using T = stored_t<D>;
    using a_tile = std::conditional_t<ColumnsOfA, shared_tile<T, mma_depth, mma_rows>, shared_tile<T, mma_rows, mma_depth>>;
    using b_tile = std::conditional_t<ColumnsOfB, shared_tile<T, mma_columns, mma_depth>, shared_tile<T, mma_depth, mma_columns>>;
    __shared__ alignas(16) unsigned char memory[2 * (sizeof(a_tile) + sizeof(b_tile))];
    static_assert(sizeof memory >= block_warps * sizeof(warp_sums));
    a_tile* const as = reinterpret_cast<a_tile*>(memory);
    b_tile* const bs = reinterpret_cast<b_tile*>(memory + 2 * sizeof(a_tile));
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int warp_row = warp / 4 * 64;
    const int warp_column = warp % 4 * 32;
    const Epilogue epilogue(launch.pass);

    launch.tiles.template for_each_tile<mma_rows, mma_columns>([&](const product_arguments& p, const product_place& tile) {
        const std::int64_t i0 = tile.row;
        const std::int64_t j0 = tile.column;
        const batch_offsets at = offsets_of_batch(p, tile.batch);
        const T* const a = reinterpret_cast<const T*>(p.a.data) + at.a;
        const T* const b = reinterpret_cast<const T*>(p.b.data) + at.b;
        const auto fill = [&](int stage, std::int64_t k0) {
            if constexpr (ColumnsOfA) { as[stage].start_fill(a, p.a.column, p.a.row, k0, i0, p.k, p.m, p.a_vectors); }
            else { as[stage].start_fill(a, p.a.row, p.a.column, i0, k0, p.m, p.k, p.a_vectors); }
            if constexpr (ColumnsOfB) { bs[stage].start_fill(b, p.b.column, p.b.row, j0, k0, p.n, p.k, p.b_vectors); }
            else { bs[stage].start_fill(b, p.b.row, p.b.column, k0, j0, p.k, p.n, p.b_vectors); }
            end_copy_group();
        };
        float sum[4][4][4]{};
        if (p.k > 0) { fill(0, 0); }
        int stage = 0;
        for (std::int64_t k0 = 0; k0 < p.k; k0 += mma_depth, stage ^= 1) {
            if (k0 + mma_depth < p.k) {
                fill(stage ^ 1, k0 + mma_depth);
                wait_for_copies<1>();
            } else {
                wait_for_copies<0>();
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < mma_depth; k += 16) {
                std::uint32_t x[4][4];
                std::uint32_t y[2][4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int row = warp_row + 16 * i;
                    if constexpr (ColumnsOfA) { load_matrices_transposed(x[i], &as[stage].element[k + lane / 16 * 8 + lane % 8][row + lane / 8 % 2 * 8]); }
                    else { load_matrices(x[i], &as[stage].element[row + lane % 16][k + lane / 16 * 8]); }
                }
#pragma unroll
                for (int j = 0; j < 2; ++j) {  // of two 16x8 tiles of b
                    const int column = warp_column + 16 * j;
                    if constexpr (ColumnsOfB) { load_matrices(y[j], &bs[stage].element[column + lane / 16 * 8 + lane % 8][k + lane / 8 % 2 * 8]); }
                    else { load_matrices_transposed(y[j], &bs[stage].element[k + lane % 16][column + lane / 16 * 8]); }
                }
#pragma unroll
                for (int i = 0; i < 4; ++i) {
#pragma unroll
                    for (int j = 0; j < 4; ++j) { multiply_tiles<D>(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]); }
                }
            }
            __syncthreads();
        }
        // Through the memory of the operands, which all warps have left.
        warp_sums& part = reinterpret_cast<warp_sums*>(memory)[warp];
#pragma unroll 1
        for (int r = 0; r < 4; ++r) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (i != r) { continue; }
#pragma unroll
                for (int j = 0; j < 4; ++j) { part.take(lane, j, sum[i][j][0], sum[i][j][1], sum[i][j][2], sum[i][j][3]); }
            }
            __syncwarp();
            part.give<Group>(lane, epilogue, p, at.c, i0 + warp_row + warp_sums::rows * r, j0 + warp_column);
            __syncwarp();
        }
    });
#endif
}

}  // namespace plait::cuda
