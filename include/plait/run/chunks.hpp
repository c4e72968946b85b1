// How a pipeline is cut into chunks, and what passes move between ranks for one.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/slice.hpp>
#include <plait/core/view.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/plan/pipelines.hpp>
#include <plait/plan/plan.hpp>
#include <plait/target/host/space.hpp>

#include <algorithm>
#include <cstdint>

namespace plait::detail {

/// The most chunks of a pipeline in which ranks wait for each other.
inline constexpr int max_signalled_chunks = 64;

/// How a pipeline is cut, from extents alone: all ranks cut alike.
struct chunking {
    int dim = 0;
    std::int64_t extent = 0;
    bool by_slices = false;  // the slices of `dim` are cut one by one, so that all of them begin early
    int count = 1;
};

/// Rows that make a chunk of a matrix product worth it: every chunk reads the whole right operand, the sooner more of them
/// the larger it is (see `bench/run blocks`, the products in chunks).
inline std::int64_t rows_of_a_chunk(const arguments& args, const pass_view& product)
{
    const node& right = args.image().node_of(product.operands[1].node);
    const std::int64_t share = right.layout == layout_kind::sliced ? args.ranks() : 1;
    const std::int64_t bytes = args.elements_of(right) * static_cast<std::int64_t>(size_of(right.type)) / share;
    return bytes > std::int64_t{1} << 21 ? 64 : 32;
}

/// Chooses dimension and number of chunks of a pipeline of `passes`. `signals`: ranks wait for each other's chunks, of which
/// there are at most max_signalled_chunks. `wanted`: as many as that, if > 0.
inline chunking choose_chunks(const arguments& args, view<const pass_view> passes, bool signals, int wanted)
{
    // Few enough bytes that a chunk stays in the cache.
    constexpr std::int64_t bytes_of_a_chunk = std::int64_t{1} << 17;
    constexpr std::int64_t enough = 16;
    const node& space = args.image().node_of(passes[0].space);
    chunking c;
    c.extent = -1;
    // The outermost dimension that is long enough, so that what is contiguous stays so; else the longest.
    for (int d = 0; d < space.dims && enough * args.ranks() > c.extent; ++d) {
        const std::int64_t e = args.extent_of(space.shape[d]);
        if ((passes[0].chunk_dims & bit(d)) == 0 || e <= c.extent) { continue; }
        c.dim = d;
        c.extent = e;
    }
    std::int64_t rows_at_once = 0;  // of products
    std::int64_t bytes = 0;
    for (const pass_view& p : passes) {
        const node& n = args.image().node_of(p.space);
        c.by_slices = c.by_slices || p.slice_dim == c.dim;
        if (is_contraction(p.kind)) { rows_at_once = std::max(rows_at_once, rows_of_a_chunk(args, p)); }
        const std::int64_t share = p.slice_dim >= 0 ? args.ranks() : 1;
        bytes = std::max(bytes, args.elements_of(n) * static_cast<std::int64_t>(size_of(n.type)) / share);
    }
    const std::int64_t length = c.by_slices ? slice_of(c.extent, 0, args.ranks()).count : c.extent;
    std::int64_t outer = 1;  // rows that a step along the dimension has
    for (int d = 0; d + 1 < space.dims; ++d) { outer *= d == c.dim ? 1 : args.extent_of(space.shape[d]); }
    const std::int64_t rows = c.extent * outer;
    std::int64_t count =
        rows_at_once > 0 ? std::min<std::int64_t>(16, rows / rows_at_once) : bytes / bytes_of_a_chunk;
    if (wanted > 0) { count = wanted; }
    if (signals) { count = std::min<std::int64_t>(count, max_signalled_chunks); }
    c.count = static_cast<int>(std::clamp<std::int64_t>(count, 1, std::max<std::int64_t>(1, length)));
    return c;
}

/// Calls run(chunk) for the ranges of indices that make up chunk k of a pass on rank `rank` of its group.
template <class Run>
void for_each_range(const arguments& args, const pass_view& pass, const chunking& c, int k, int rank, Run&& run)
{
    const auto cut = [&](std::int64_t begin, std::int64_t count) {
        const std::int64_t from = begin + count * k / c.count;
        const std::int64_t to = begin + count * (k + 1) / c.count;
        if (from < to) { run(host::chunk{c.dim, from, to}); }
    };
    if (!c.by_slices) { return cut(0, c.extent); }
    for (int r = 0; r < args.ranks(); ++r) {
        if (pass.slice_dim == c.dim && r != rank) { continue; }
        const slice_range part = slice_of(c.extent, r, args.ranks());
        cut(part.begin, part.count);
    }
}

/// Bytes that a pass moves to or from other ranks for the indices within a chunk.
struct moved_bytes {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
};
inline moved_bytes bytes_moved(const arguments& args, const pass_view& pass, const host::chunk& within = {})
{
    moved_bytes b;
    if (is_contraction(pass.kind)) { return b; }
    const program_image& image = args.image();
    const host::space s =
        host::space_of(args, image.node_of(pass.space), pass.slice_dim, args.rank(), within);
    std::uint64_t elements = 1;
    for (int d = 0; d < s.dims; ++d) { elements *= static_cast<std::uint64_t>(s.count[d]); }
    const auto others = static_cast<std::uint64_t>(args.ranks() - 1);
    const bool shared_out = pass.kind == pass_kind::all_reduce || pass.kind == pass_kind::all_to_all;
    if (shared_out) { elements /= static_cast<std::uint64_t>(args.ranks()); }
    for (const pass_operand& o : pass.operands) {
        if (o.slot < 0 || o.from == source::own) { continue; }
        const auto size = static_cast<std::uint64_t>(size_of(image.slot_node(o.slot).type));
        const bool one = o.from == source::from_root;
        const bool idle = (one && args.rank() == o.root) || (o.from == source::root_combined && args.rank() != o.root);
        b.in += idle ? 0 : elements * size * (one ? 1 : others);
    }
    for (const pass_result& r : pass.results) {
        const auto size = static_cast<std::uint64_t>(size_of(image.slot_node(r.slot).type));
        const std::uint64_t copies = r.to == destination::all_ranks ? others
                                     : r.to == destination::peer    ? 1
                                     : r.to == destination::root    ? (args.rank() != r.root ? 1 : 0)
                                                                    : 0;
        b.out += elements * size * copies;
    }
    return b;
}

}  // namespace plait::detail
