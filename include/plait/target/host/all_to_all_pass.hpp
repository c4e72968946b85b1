// all_to_all on the host: each rank fetches its new slice from the old slices of all ranks.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/slice.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/plan.hpp>
#include <plait/target/host/pass_context.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plait::host {

inline void run_all_to_all(const pass_context& c)
{
    const pass_operand& o = c.operand(0);
    const int to = c.result(0).slot;
    const node& in = c.slot_node(o.slot);  // sliced along in.slice_dim
    const node& out = c.slot_node(to);     // sliced along out.slice_dim
    const int ranks = c.args.ranks();
    const int me = c.args.rank();
    std::int64_t extent[max_dims]{};
    for (int d = 0; d < in.dims; ++d) { extent[d] = c.args.extent_of(in.shape[d]); }
    const slice_range mine = slice_of(extent[out.slice_dim], me, ranks);
    for (int peer = 0; peer < ranks; ++peer) {
        const slice_range theirs = slice_of(extent[in.slice_dim], peer, ranks);
        // The block that both hold: their part of the old dimension, my part of the new one.
        std::int64_t block[max_dims]{};
        std::int64_t stride_in[max_dims]{};
        std::int64_t stride_out[max_dims]{};
        std::int64_t in_size = 1;
        std::int64_t out_size = 1;
        for (int d = in.dims - 1; d >= 0; --d) {
            block[d] = d == in.slice_dim ? theirs.count : d == out.slice_dim ? mine.count : extent[d];
            stride_in[d] = in_size;
            stride_out[d] = out_size;
            in_size *= d == in.slice_dim ? theirs.count : extent[d];
            out_size *= d == out.slice_dim ? mine.count : extent[d];
        }
        const auto size = static_cast<std::int64_t>(size_of(in.type));
        const std::int64_t length = block[in.dims - 1] * size;
        if (length == 0) { continue; }
        for_each_index(in.dims - 1, block, [&](const std::int64_t* at) {
            std::int64_t from_offset = mine.begin * stride_in[out.slice_dim];
            std::int64_t to_offset = theirs.begin * stride_out[in.slice_dim];
            for (int d = 0; d + 1 < in.dims; ++d) {
                from_offset += at[d] * stride_in[d];
                to_offset += at[d] * stride_out[d];
            }
            std::memcpy(c.args.buffer(to).data + to_offset * size,
                        c.args.buffer(o.slot, peer).data + from_offset * size, static_cast<std::size_t>(length));
        });
    }
}

}  // namespace plait::host
