// Matrix products and convolutions on devices: what a pass computes, as products, and their launches.
#pragma once

#include <plait/target/cuda/blas_product.cuh>
#include <plait/target/cuda/map_launch.cuh>
#include <plait/target/cuda/mma_product.cuh>
#include <plait/target/cuda/tiled_product.cuh>
#include <plait/target/host/contraction_boxes.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace plait::cuda {

/// Whether 16 bytes of an operand may be loaded at once along its lines.
inline bool loads_vectors(const matrix_operand& m, std::int64_t step, std::int64_t stride, std::int64_t size)
{
    bool aligned = step == 1 && stride * size % 16 == 0 && reinterpret_cast<std::uintptr_t>(m.data) % 16 == 0;
    for (std::int64_t b : m.batch) { aligned = aligned && b * size % 16 == 0; }
    return aligned;
}

/// Where a result's box begins in its slot, in elements.
inline std::int64_t begin_in_slot(const pass_build& b, const pass_result& r, const host::strided& box)
{
    return (box.data - b.args.buffer(r.slot).data) / static_cast<std::int64_t>(size_of(b.node_at(r.node).type));
}

/// c[..., M, N] = a[..., M, K] b[..., K, N], as on the host; f16 and bf16 on tensor cores.
template <dtype A, dtype B, dtype C, bool TransposedA, bool TransposedB>
struct matmul_pass {
    static constexpr bool is_mma = A == B && (A == dtype::f16 || A == dtype::bf16);
    static constexpr bool is_blas = has_blas && A == B && B == C;  // cuBLASLt takes those that it knows
    static constexpr dtype result = C;
    static constexpr int rows = is_mma ? mma_rows : product_tile;
    static constexpr int columns = is_mma ? mma_columns : product_tile;
    static constexpr int group = is_mma && size_of(C) == 2 ? 8 : 4;  // neighbours that the epilogue is given at once

    template <class Tiles, class Epilogue>
    static constexpr auto kernel()
    {
        if constexpr (is_mma) { return &mma_kernel<A, group, TransposedA, TransposedB, Tiles, Epilogue>; }
        else { return &product_kernel<A, B, C, false, Tiles, Epilogue>; }
    }
    /// One of the pass's results, of what the build is confined to.
    static product_arguments product(const pass_build& build, const pass_result& r)
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
        const host::strided at_c = host::in_slot(build.args, n, r.slot, out);
        product_arguments p;
        p.a = {at_a.data, at_a.stride[a_row], at_a.stride[a_inner], {}};
        p.b = {at_b.data, at_b.stride[b_inner], at_b.stride[b_column], {}};
        p.c = {nullptr, at_c.stride[row], at_c.stride[column], {}};
        p.out = at_c.data;
        p.first = begin_in_slot(build, r, at_c);
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
        if constexpr (is_mma) {
            p.a_vectors = TransposedA ? loads_vectors(p.a, p.a.row, p.a.column, 2) : loads_vectors(p.a, p.a.column, p.a.row, 2);
            p.b_vectors = TransposedB ? loads_vectors(p.b, p.b.row, p.b.column, 2) : loads_vectors(p.b, p.b.column, p.b.row, 2);
        }
        return p;
    }
};

/// y[N, K, P, Q] = x[N, C, H, W] * w[K, C, R, S]: for each image the filters times the matrix of its windows.
template <dtype X, dtype W, dtype Y>
struct conv2d_pass {
    static constexpr bool is_blas = false;
    static constexpr dtype result = Y;
    static constexpr int rows = product_tile;
    static constexpr int columns = product_tile;
    static constexpr int group = 4;

    template <class Tiles, class Epilogue>
    static constexpr auto kernel()
    {
        return &product_kernel<W, X, Y, true, Tiles, Epilogue>;
    }
    static product_arguments product(const pass_build& build, const pass_result& r)
    {
        const node& n = build.node_at(build.pass.space);
        const node& x = build.node_at(build.pass.operands[0].node);
        const node& w = build.node_at(build.pass.operands[1].node);
        const host::conv2d_boxes boxes(build.args, n, x, w, build.within);
        const auto& [out, images, filters] = boxes;
        const host::strided from = host::in_slot(build.args, x, build.pass.operands[0].slot, images);
        const host::strided with = host::in_slot(build.args, w, build.pass.operands[1].slot, filters);
        const host::strided to = host::in_slot(build.args, n, r.slot, out);
        product_arguments p;
        p.k = x.shape[1] * w.shape[2] * w.shape[3];
        p.m = out.count[1];
        p.n = n.shape[2] * n.shape[3];
        p.a = {with.data, p.k, 1, {}};
        p.b = {from.data, 0, 0, {x.shape[1] * x.shape[2] * x.shape[3]}};
        p.c = {nullptr, p.n, 1, {to.stride[0]}};
        p.out = to.data;
        p.first = begin_in_slot(build, r, to);
        p.batches = p.batch_count[0] = out.count[0];
        p.batch_dims = 1;
        p.window = {static_cast<int>(x.shape[2]), static_cast<int>(x.shape[3]), static_cast<int>(w.shape[2]),
                    static_cast<int>(w.shape[3]), static_cast<int>(n.shape[3]), n.attrs.a, n.attrs.b};
        return p;
    }
};

/// Whether groups of so many elements of c begin at multiples of them.
inline bool has_groups(const product_arguments& p, std::int64_t group)
{
    bool all = p.c.column == 1 && p.c.row % group == 0 && p.first % group == 0;
    for (int d = 0; d < p.batch_dims; ++d) { all = all && p.c.batch[d] % group == 0; }
    return all;
}

/// Sets the tiles of a launch; `aligned`: whether what goes with groups of elements is. Returns how many there are.
template <class Pass>
std::int64_t set_tiles(whole_product& t, pass_build& b, const pass_result& r, bool aligned)
{
    t.product = Pass::product(b, r);
    t.product.out_vectors = aligned && has_groups(t.product, Pass::group);
    return tiles_of<Pass::rows, Pass::columns>(t.product);
}
template <class Pass>
std::int64_t set_tiles(product_in_chunks& t, pass_build& b, const pass_result& r, bool aligned)
{
    std::vector<product_part> parts;
    const auto chunks = static_cast<int>(b.chunks->ranges.size());
    for (int k = 0; k < chunks; ++k) {
        const std::size_t begin = parts.size();
        const std::int64_t first = t.tiles;
        const auto add = [&](const product_arguments& p, std::int64_t tiles) {
            parts.push_back({p, t.tiles, k, 0});
            t.tiles += tiles;
        };
        for (const host::chunk& within : b.chunks->ranges[static_cast<std::size_t>(k)]) {
            b.within = within;
            whole_product one;
            const std::int64_t tiles = set_tiles<Pass>(one, b, r, aligned);
            if (tiles > 0) { add(one.product, tiles); }
        }
        if (t.tiles == first) { add({}, 1); }  // nothing to multiply, but others may wait for the chunk
        for (std::size_t i = begin; i < parts.size(); ++i) { parts[i].tiles = static_cast<std::uint32_t>(t.tiles - first); }
    }
    t.parts = b.memory.table(parts);
    t.n_parts = static_cast<int>(parts.size());
    t.signals = b.chunks->signals;
    t.signals.arrived = b.memory.scratch<std::uint32_t>(static_cast<std::size_t>(chunks));
    return t.tiles;
}
/// Puts a launch at the end of the build's list, with a block for each tile.
inline void add_tiles(pass_build& b, std::unique_ptr<launch_of_kernel> l, std::int64_t tiles)
{
    if (tiles == 0) { return; }
    l->blocks = static_cast<int>(std::min<std::int64_t>(tiles, 0x7fff'ffff));
    b.list.push_back(std::move(l));
}

/// Puts the launches of a pass of products at the end of the build's list. `Tiles`: of what a launch consists.
template <class Pass, class Tiles>
void build_product(pass_build& b)
{
    using epilogue = store_product<Pass::result>;
    constexpr std::size_t alignment = std::min<std::size_t>(16, Pass::group * size_of(Pass::result));
    for (const pass_result& r : b.pass.results) {
        if constexpr (Pass::is_blas) {
            if (add_blas_product(b, Pass::result, Pass::product(b, r))) { continue; }
        }
        auto* l = new kernel_launch<product_launch<Tiles, epilogue>>(
            b.stage, reinterpret_cast<const void*>(Pass::template kernel<Tiles, epilogue>()));
        std::unique_ptr<launch_of_kernel> owned(l);
        const bool aligned = reinterpret_cast<std::uintptr_t>(b.args.buffer(r.slot).data) % alignment == 0;
        const std::int64_t tiles = set_tiles<Pass>(l->arguments.tiles, b, r, aligned);
        add_tiles(b, std::move(owned), tiles);
    }
}

/// The same together with the next pass, one over elements, of which operand J is the product.
template <class Pass, class Tiles, int J, class Body>
void build_product_with_next(Body, std::integral_constant<int, J>, pass_build& b, int row_dims)
{
    using epilogue = continue_product<Pass::result, J, Body>;
    using parts = body_parts<Body>;
    pass_build of_next = b.of_pass(b.passes_from_here()[1]);
    of_next.within = {};  // elements are numbered in the whole space
    body_facts facts = parts::facts;
    facts.row_dims = row_dims;
    facts.group = Pass::group;
    map_layout layout(of_next, facts);
    auto* l = new refreshed_launch<Body, product_launch<Tiles, epilogue>>(
        of_next, reinterpret_cast<const void*>(Pass::template kernel<Tiles, epilogue>()));
    std::unique_ptr<launch_of_kernel> owned(l);
    parts::fill(l->arguments.pass, layout);
    const bool aligned = layout.space().vectors && parts::template are_aligned<Pass::group>(l->arguments.pass, 0);
    const std::int64_t tiles = set_tiles<Pass>(l->arguments.tiles, b, b.pass.results[0], aligned);
    add_tiles(b, std::move(owned), tiles);
}

}  // namespace plait::cuda
