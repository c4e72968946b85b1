// Matrix products and convolutions on devices: tiles in shared memory, sums in f32 (of f64 in f64).
#pragma once

#include <plait/target/cuda/blas_product.cuh>
#include <plait/target/cuda/mma_product.cuh>
#include <plait/target/cuda/moves.cuh>

#include <memory>
#include <type_traits>

namespace plait::cuda {

inline constexpr int product_tile = 64;
inline constexpr int product_depth = 16;

template <dtype D>
using product_sum_t = std::conditional_t<D == dtype::f64, double, float>;

/// c = a b, a block per tile of c and batch. `Windows`: b's elements are windows of an image.
template <dtype A, dtype B, dtype C, bool Windows>
__global__ void __launch_bounds__(block_threads) product_kernel(const __grid_constant__ product_arguments p)
{
    using sum = product_sum_t<C>;
    __shared__ sum as[product_depth][product_tile + 1];
    __shared__ sum bs[product_depth][product_tile + 1];
    const std::int64_t rows = (p.m + product_tile - 1) / product_tile;
    const std::int64_t columns = (p.n + product_tile - 1) / product_tile;
    const int tx = static_cast<int>(threadIdx.x) % 16;
    const int ty = static_cast<int>(threadIdx.x) / 16;
    for (std::int64_t tile = blockIdx.x; tile < rows * columns * p.batches; tile += gridDim.x) {
        const std::int64_t i0 = tile / columns % rows * product_tile;
        const std::int64_t j0 = tile % columns * product_tile;
        const batch_offsets at_batch = offsets_of_batch(p, tile / (rows * columns));
        const auto* a = reinterpret_cast<const stored_t<A>*>(p.a.data) + at_batch.a;
        const auto* b = reinterpret_cast<const stored_t<B>*>(p.b.data) + at_batch.b;
        auto* c = reinterpret_cast<stored_t<C>*>(p.out) + at_batch.c;
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
                for (int r = 0; r < 4; ++r) { x[r] = as[k][ty + 16 * r]; }
#pragma unroll
                for (int r = 0; r < 4; ++r) { y[r] = bs[k][tx + 16 * r]; }
#pragma unroll
                for (int r = 0; r < 4; ++r) {
#pragma unroll
                    for (int s = 0; s < 4; ++s) { acc[r][s] = kernels::multiply_add(x[r], y[s], acc[r][s]); }
                }
            }
            __syncthreads();
        }
#pragma unroll
        for (int r = 0; r < 4; ++r) {
#pragma unroll
            for (int s = 0; s < 4; ++s) {
                const std::int64_t i = i0 + ty + 16 * r;
                const std::int64_t j = j0 + tx + 16 * s;
                if (i < p.m && j < p.n) { c[i * p.c.row + j * p.c.column] = as_stored<C>(acc[r][s]); }
            }
        }
    }
}

/// Whether 16 bytes of an operand may be loaded at once along its lines.
inline bool loads_vectors(const matrix_operand& m, std::int64_t step, std::int64_t stride, std::int64_t size)
{
    bool aligned = step == 1 && stride * size % 16 == 0 && reinterpret_cast<std::uintptr_t>(m.data) % 16 == 0;
    for (std::int64_t b : m.batch) { aligned = aligned && b * size % 16 == 0; }
    return aligned;
}
/// Puts a product at the end of the build's list: a block for each tile of the result, of rows x columns elements.
inline void add_product(pass_build& b, const product_arguments& p, void (*kernel)(product_arguments), int rows, int columns)
{
    const std::int64_t tiles = (p.m + rows - 1) / rows * ((p.n + columns - 1) / columns) * p.batches;
    if (tiles == 0) { return; }
    auto l = std::make_unique<kernel_launch<product_arguments>>(b.stage, reinterpret_cast<const void*>(kernel));
    l->arguments = p;
    l->blocks = static_cast<int>(std::min<std::int64_t>(tiles, 0x7fff'ffff));
    b.list.push_back(std::move(l));
}
template <dtype D, dtype C, bool ColumnsOfA, bool ColumnsOfB>
void add_mma_product(pass_build& b, product_arguments p)
{
    p.a_vectors = ColumnsOfA ? loads_vectors(p.a, p.a.row, p.a.column, 2) : loads_vectors(p.a, p.a.column, p.a.row, 2);
    p.b_vectors = ColumnsOfB ? loads_vectors(p.b, p.b.row, p.b.column, 2) : loads_vectors(p.b, p.b.column, p.b.row, 2);
    add_product(b, p, &mma_kernel<D, C, ColumnsOfA, ColumnsOfB>, mma_rows, mma_columns);
}
template <dtype A, dtype B, dtype C, bool Windows>
void add_tiled_product(pass_build& b, const product_arguments& p)
{
    add_product(b, p, &product_kernel<A, B, C, Windows>, product_tile, product_tile);
}

/// c[..., M, N] = a[..., M, K] b[..., K, N], as on the host; f16 and bf16 on tensor cores.
template <dtype A, dtype B, dtype C, bool TransposedA, bool TransposedB>
void build_matmul(pass_build& build)
{
    const node& n = build.node_at(build.pass.space);
    const node& a = build.node_at(build.pass.operands[0].node);
    const node& b = build.node_at(build.pass.operands[1].node);
    const int row = n.dims - 2;
    const int column = n.dims - 1;
    const host::matmul_boxes boxes(build.args, n, a, b, build.within);
    const auto& [a_row, a_inner, b_inner, b_column, out, left, right] = boxes;
    const host::strided at_a = host::in_slot(build.args, a, build.pass.operands[0].slot, left);
    const host::strided at_b = host::in_slot(build.args, b, build.pass.operands[1].slot, right);
    for (const pass_result& r : build.pass.results) {
        const host::strided at_c = host::in_slot(build.args, n, r.slot, out);
        product_arguments p;
        p.a = {at_a.data, at_a.stride[a_row], at_a.stride[a_inner], {}};
        p.b = {at_b.data, at_b.stride[b_inner], at_b.stride[b_column], {}};
        p.c = {nullptr, at_c.stride[row], at_c.stride[column], {}};
        p.out = at_c.data;
        p.m = out.count[row];
        p.n = out.count[column];
        p.k = left.count[a_inner];
        p.batch_dims = row;
        for (int d = 0; d < row; ++d) {
            p.batch_count[d] = out.count[d];
            p.batches *= out.count[d];
            const int in_a = d - (n.dims - a.dims);
            const int in_b = d - (n.dims - b.dims);
            p.a.batch[d] = in_a < 0 ? 0 : at_a.stride[in_a];
            p.b.batch[d] = in_b < 0 ? 0 : at_b.stride[in_b];
            p.c.batch[d] = at_c.stride[d];
        }
        // Leading dimensions that only make more rows become part of them.
        while (p.batch_dims > 0) {
            const int d = p.batch_dims - 1;
            if (p.b.batch[d] != 0 || p.a.batch[d] != p.a.row * p.m || p.c.batch[d] != p.c.row * p.m) { break; }
            p.m *= p.batch_count[d];
            p.batches = p.batch_count[d] == 0 ? 0 : p.batches / p.batch_count[d];
            p.batch_dims = d;
        }
        if constexpr (A == B && B == C) {
            if (add_blas_product(build, C, p)) { continue; }
        }
        if constexpr (A == B && (A == dtype::f16 || A == dtype::bf16)) { add_mma_product<A, C, TransposedA, TransposedB>(build, p); }
        else { add_tiled_product<A, B, C, false>(build, p); }
    }
}

/// y[N, K, P, Q] = x[N, C, H, W] * w[K, C, R, S]: for each image the filters times the matrix of its windows.
template <dtype X, dtype W, dtype Y>
void build_conv2d(pass_build& build)
{
    const node& n = build.node_at(build.pass.space);
    const node& x = build.node_at(build.pass.operands[0].node);
    const node& w = build.node_at(build.pass.operands[1].node);
    const host::conv2d_boxes boxes(build.args, n, x, w, build.within);
    const auto& [out, images, filters] = boxes;
    const host::strided from = host::in_slot(build.args, x, build.pass.operands[0].slot, images);
    const host::strided with = host::in_slot(build.args, w, build.pass.operands[1].slot, filters);
    for (const pass_result& r : build.pass.results) {
        const host::strided to = host::in_slot(build.args, n, r.slot, out);
        product_arguments p;
        p.k = x.shape[1] * w.shape[2] * w.shape[3];
        p.m = out.count[1];
        p.n = n.shape[2] * n.shape[3];
        p.a = {with.data, p.k, 1, {}};
        p.b = {from.data, 0, 0, {x.shape[1] * x.shape[2] * x.shape[3]}};
        p.c = {nullptr, p.n, 1, {to.stride[0]}};
        p.out = to.data;
        p.batches = p.batch_count[0] = out.count[0];
        p.batch_dims = 1;
        p.window = {static_cast<int>(x.shape[2]), static_cast<int>(x.shape[3]), static_cast<int>(w.shape[2]),
                    static_cast<int>(w.shape[3]), static_cast<int>(n.shape[3]), n.attrs.a, n.attrs.b};
        add_tiled_product<W, X, Y, true>(build, p);
    }
}

}  // namespace plait::cuda
