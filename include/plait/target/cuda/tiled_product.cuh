// Matrix products and convolutions of any floating dtype: tiles in shared memory, sums in f32 (of f64 in f64).
#pragma once

#include <plait/target/cuda/product_epilogue.cuh>
#include <plait/target/cuda/product_tiles.cuh>

#include <cstdint>
#include <type_traits>

namespace plait::cuda {

inline constexpr int product_tile = 64;
inline constexpr int product_depth = 16;

template <dtype D>
using product_sum_t = std::conditional_t<D == dtype::f64, double, float>;

/// c = a b, a block per tile of c and batch, of which each thread makes 4 x 4 neighbours. `Windows`: b's elements are windows of
/// an image.
template <dtype A, dtype B, dtype C, bool Windows, class Tiles, class Epilogue>
__global__ void __launch_bounds__(block_threads) product_kernel(const __grid_constant__ product_launch<Tiles, Epilogue> launch)
{
    using sum = product_sum_t<C>;
    __shared__ alignas(16) sum as[product_depth][product_tile + 4];
    __shared__ alignas(16) sum bs[product_depth][product_tile + 4];
    const Epilogue epilogue(launch.pass);
    const int tx = static_cast<int>(threadIdx.x) % 16;
    const int ty = static_cast<int>(threadIdx.x) / 16;
    launch.tiles.template for_each_tile<product_tile, product_tile>([&](const product_arguments& p, const product_place& tile) {
        const std::int64_t i0 = tile.row;
        const std::int64_t j0 = tile.column;
        const batch_offsets at_batch = offsets_of_batch(p, tile.batch);
        const auto* a = reinterpret_cast<const stored_t<A>*>(p.a.data) + at_batch.a;
        const auto* b = reinterpret_cast<const stored_t<B>*>(p.b.data) + at_batch.b;
        sum acc[4][4]{};
        for (std::int64_t k0 = 0; k0 < p.k; k0 += product_depth) {
            // Threads go along the dimension in which elements are neighbours.
            for (int e = static_cast<int>(threadIdx.x); e < product_tile * product_depth; e += block_threads) {
                const bool along_k = p.a.column == 1;
                const int i = along_k ? e / product_depth : e % product_tile;
                const int k = along_k ? e % product_depth : e / product_tile;
                const bool inside = i0 + i < p.m && k0 + k < p.k;
                as[k][i] = inside ? static_cast<sum>(computed<A>(a[(i0 + i) * p.a.row + (k0 + k) * p.a.column])) : sum{};
            }
            for (int e = static_cast<int>(threadIdx.x); e < product_tile * product_depth; e += block_threads) {
                const bool along_k = !Windows && p.b.row == 1 && p.b.column != 1;
                const int k = along_k ? e % product_depth : e / product_tile;
                const int j = along_k ? e / product_depth : e % product_tile;
                const bool inside = j0 + j < p.n && k0 + k < p.k;
                sum x{};
                if constexpr (Windows) {
                    const window_operand& w = p.window;
                    const auto d = static_cast<int>(k0 + k);
                    const auto q = static_cast<int>(j0 + j);
                    const int y = q / w.out_width * w.stride + d / w.window_width % w.window_height - w.padding;
                    const int at = q % w.out_width * w.stride + d % w.window_width - w.padding;
                    const std::int64_t channel = d / (w.window_width * w.window_height);
                    if (inside && y >= 0 && y < w.height && at >= 0 && at < w.width) {
                        x = static_cast<sum>(computed<B>(b[(channel * w.height + y) * w.width + at]));
                    }
                } else if (inside) {
                    x = static_cast<sum>(computed<B>(b[(k0 + k) * p.b.row + (j0 + j) * p.b.column]));
                }
                bs[k][j] = x;
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < product_depth; ++k) {
                sum x[4];
                sum y[4];
#pragma unroll
                for (int r = 0; r < 4; ++r) { x[r] = as[k][4 * ty + r]; }
#pragma unroll
                for (int r = 0; r < 4; ++r) { y[r] = bs[k][4 * tx + r]; }
#pragma unroll
                for (int r = 0; r < 4; ++r) {
#pragma unroll
                    for (int s = 0; s < 4; ++s) { acc[r][s] = kernels::multiply_add(x[r], y[s], acc[r][s]); }
                }
            }
            __syncthreads();
        }
#pragma unroll (Epilogue::is_short ? 4 : 1)
        for (int r = 0; r < 4; ++r) {
            sum x[4];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
#pragma unroll
                for (int s = 0; s < 4; ++s) { x[s] = q == 0 || q == r ? acc[q][s] : x[s]; }
            }
            put_neighbours(epilogue, p, at_batch.c, i0 + 4 * ty + r, j0 + 4 * tx, x);
        }
    });
}

}  // namespace plait::cuda
