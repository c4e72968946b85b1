// Passes that only move elements: all_to_all, embedding, and copies of a result to further places.
#pragma once

#include <plait/core/view.hpp>
#include <plait/target/cuda/launch.cuh>
#include <plait/target/cuda/packet.cuh>
#include <plait/target/host/contraction_boxes.hpp>

#include <memory>

namespace plait::cuda {

namespace detail {

/// The index of element i of a box of these extents along each of its dimensions.
__device__ inline coordinates place_in_box(std::int64_t i, int dims, const std::int64_t* count)
{
    coordinates c;
    for (int d = dims - 1; d >= 0; --d) {
        c.at[d] = i % count[d];
        i /= count[d];
    }
    return c;
}

}  // namespace detail

/// For every element of this rank's slice along the new dimension, the rank that has it along the old one.
struct exchange_arguments {
    std::byte* const* from = nullptr;  // by rank
    std::byte* to = nullptr;
    std::int64_t elements = 0;
    std::int64_t extent[max_dims]{};   // of the whole
    int dims = 0;
    int old_dim = 0;
    int new_dim = 0;
    std::int64_t old_step = 1;   // of the slices
    std::int64_t new_begin = 0;  // of this rank's slice
    std::int64_t count[max_dims]{};  // of what this rank gets
};

template <int Bytes>
__global__ void __launch_bounds__(block_threads) exchange_kernel(const __grid_constant__ exchange_arguments a)
{
    using word = typename detail::word<Bytes>::type;
    const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; i < a.elements; i += threads) {
        auto [at] = detail::place_in_box(i, a.dims, a.count);
        at[a.new_dim] += a.new_begin;
        const std::int64_t peer = at[a.old_dim] / a.old_step;
        const std::int64_t begin = peer * a.old_step;
        const std::int64_t held = a.extent[a.old_dim] - begin < a.old_step ? a.extent[a.old_dim] - begin : a.old_step;
        at[a.old_dim] -= begin;
        std::int64_t offset = 0;
        for (int d = 0; d < a.dims; ++d) { offset = offset * (d == a.old_dim ? held : a.extent[d]) + at[d]; }
        reinterpret_cast<word*>(a.to)[i] = reinterpret_cast<const word*>(a.from[peer])[offset];
    }
}

/// all_to_all: each rank fetches its new slice from the old slices of all ranks.
template <int Bytes>
void build_exchange(pass_build& b)
{
    const pass_operand& o = b.pass.operands[0];
    const int to = b.pass.results[0].slot;
    const node& in = b.slot_node(o.slot);
    const node& out = b.slot_node(to);
    const auto* kernel = reinterpret_cast<const void*>(&exchange_kernel<Bytes>);
    auto l = std::make_unique<kernel_launch<exchange_arguments>>(b.stage, kernel);
    exchange_arguments& a = l->arguments;
    a.dims = in.dims;
    for (int d = 0; d < in.dims; ++d) { a.extent[d] = a.count[d] = b.args.extent_of(in.shape[d]); }
    a.old_dim = in.slice_dim;
    a.new_dim = out.slice_dim;
    a.old_step = std::max<std::int64_t>(1, slice_of(a.extent[a.old_dim], 0, b.args.ranks()).count);
    const slice_range mine = slice_of(a.extent[a.new_dim], b.args.rank(), b.args.ranks());
    a.new_begin = mine.begin;
    a.count[a.new_dim] = mine.count;
    a.elements = host::elements_in(a.dims, a.count);
    a.to = b.args.buffer(to).data;
    std::vector<std::byte*> all;
    for (int r = 0; r < b.args.ranks(); ++r) { all.push_back(b.args.buffer(o.slot, r).data); }
    a.from = reinterpret_cast<std::byte* const*>(b.memory.table(all));
    if (a.elements == 0) { return; }
    l->blocks = blocks_for(b, a.elements, kernel);
    b.list.push_back(std::move(l));
}
template <class Kernels = void>  // compiled where it is used
void build_all_to_all(pass_build& b)
{
    switch (size_of(b.slot_node(b.pass.results[0].slot).type)) {
    case 1: return build_exchange<1>(b);
    case 2: return build_exchange<2>(b);
    case 4: return build_exchange<4>(b);
    default: return build_exchange<8>(b);
    }
}

/// Rows of a table. Rows of which another rank has the slice are zeros here.
struct embedding_arguments {
    host::strided table;
    host::strided indices;
    host::strided to;
    std::byte* const* pieces = nullptr;   // of indices in separate buffers
    const std::int64_t* ends = nullptr;   // where these end, in the dimension
    std::int64_t first_index = 0;         // in the dimension
    std::int64_t elements = 0;
    std::int64_t count[max_dims]{};       // of the result; the last one is the row
    int dims = 0;
    int index_bytes = 8;
    std::int64_t first_row = 0;           // that this rank has
    std::int64_t rows = 0;
    std::int64_t vocabulary = 0;
    meeting reports;
};

template <int Bytes>
__global__ void __launch_bounds__(block_threads) embedding_kernel(const __grid_constant__ embedding_arguments a)
{
    using word = typename detail::word<Bytes>::type;
    const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; i < a.elements; i += threads) {
        const auto [at] = detail::place_in_box(i, a.dims, a.count);
        std::int64_t which = 0;
        std::int64_t to = 0;
        for (int d = 0; d < a.dims; ++d) {
            to += at[d] * a.to.stride[d];
            if (d < a.dims - 1) { which += at[d] * a.indices.stride[d]; }
        }
        const std::byte* data = a.indices.data;
        if (a.pieces != nullptr) {
            which = a.first_index + at[0];
            int p = 0;
            while (which >= a.ends[p]) { ++p; }
            data = a.pieces[p];
            if (p > 0) { which -= a.ends[p - 1]; }
        }
        const std::int64_t index = a.index_bytes == 1   ? reinterpret_cast<const std::uint8_t*>(data)[which]
                                   : a.index_bytes == 4 ? reinterpret_cast<const std::int32_t*>(data)[which]
                                                        : reinterpret_cast<const std::int64_t*>(data)[which];
        if (index < 0 || index >= a.vocabulary) {
            detail::report_failure(a.reports.report, 2, a.reports.rank, 0, a.reports.stage, index, a.vocabulary);
        }
        const std::int64_t row = index - a.first_row;
        word x{};
        if (row >= 0 && row < a.rows) {
            const int column = a.dims - 1;
            x = reinterpret_cast<const word*>(a.table.data)[row * a.table.stride[0] + at[column] * a.table.stride[1]];
        }
        reinterpret_cast<word*>(a.to.data)[to] = x;
    }
}

template <int Bytes>
void build_embedding_of(pass_build& b)
{
    const node& n = b.node_at(b.pass.space);
    const node& table = b.node_at(b.pass.operands[0].node);
    const node& indices = b.node_at(b.pass.operands[1].node);
    const host::embedding_boxes boxes(b.args, n, table, indices, b.within);
    const auto& [out, rows, which] = boxes;
    const auto* kernel = reinterpret_cast<const void*>(&embedding_kernel<Bytes>);
    for (const pass_result& r : b.pass.results) {
        auto l = std::make_unique<kernel_launch<embedding_arguments>>(b.stage, kernel);
        embedding_arguments& a = l->arguments;
        a.table = host::in_slot(b.args, table, b.pass.operands[0].slot, rows);
        const view<const piece> pieces = b.args.buffer(b.pass.operands[1].slot).pieces;
        if (pieces.empty()) {
            a.indices = host::in_slot(b.args, indices, b.pass.operands[1].slot, which);
        } else {
            std::vector<std::byte*> data;
            std::vector<std::int64_t> ends;
            for (const piece& p : pieces) {
                data.push_back(static_cast<std::byte*>(p.data));
                ends.push_back((ends.empty() ? 0 : ends.back()) + p.count);
            }
            a.pieces = reinterpret_cast<std::byte* const*>(b.memory.table(data));
            a.ends = b.memory.table(ends);
            a.first_index = which.begin[0];
        }
        a.to = host::in_slot(b.args, n, r.slot, out);
        a.elements = host::elements_in(n.dims, out.count);
        std::copy_n(out.count, max_dims, a.count);
        a.dims = n.dims;
        a.index_bytes = static_cast<int>(size_of(indices.type));
        a.first_row = rows.begin[0];
        a.rows = rows.count[0];
        a.vocabulary = b.args.extent_of(table.shape[0]);
        a.reports = b.reports;
        if (a.elements == 0) { continue; }
        l->blocks = blocks_for(b, a.elements, kernel);
        b.list.push_back(std::move(l));
    }
}
/// embedding. An index that is out of range is reported when the stream is waited for, or by the next run.
template <class Kernels = void>
void build_embedding(pass_build& b)
{
    switch (size_of(b.node_at(b.pass.space).type)) {
    case 1: return build_embedding_of<1>(b);
    case 2: return build_embedding_of<2>(b);
    case 4: return build_embedding_of<4>(b);
    default: return build_embedding_of<8>(b);
    }
}

}  // namespace plait::cuda
