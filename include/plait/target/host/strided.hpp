// Boxes of values in memory.
#pragma once

#include <plait/target/host/space.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace plait::host {

/// Which part of a value: per dimension a first global index and how many.
struct box {
    std::int64_t begin[max_dims]{};
    std::int64_t count[max_dims]{};
};

/// A box in memory: its first element, and the stride of each dimension, in elements. Strides of extents 1 are 0, so
/// that they broadcast.
struct strided {
    std::byte* data = nullptr;
    std::int64_t stride[max_dims]{};

    /// Of an index, in elements; of its first `dims` dimensions.
    [[nodiscard]] std::int64_t offset(const std::int64_t* at, int dims) const
    {
        std::int64_t sum = 0;
        for (int d = 0; d < dims; ++d) { sum += at[d] * stride[d]; }
        return sum;
    }
};

/// The part of a node's value that this rank works on: all of it, or its slice; of that what is `within`.
inline box box_of(const arguments& args, const node& n, const chunk& within = {})
{
    const space s = space_of(args, n, n.sliced_along(), args.rank(), within);
    box b;
    std::copy_n(s.begin, max_dims, b.begin);
    std::copy_n(s.count, max_dims, b.count);
    return b;
}

/// The box `b` of node n in the memory of a slot, which holds the whole value or this rank's slice of it.
inline strided in_slot(const arguments& args, const node& n, int slot, const box& b)
{
    strided v;
    const node& held = args.image().slot_node(slot);
    std::int64_t stride = 1;
    std::int64_t offset = 0;
    for (int d = n.dims - 1; d >= 0; --d) {
        const std::int64_t e = args.extent_of(n.shape[d]);
        const bool sliced = held.layout == layout_kind::sliced && held.slice_dim == d;
        const slice_range part = sliced ? slice_of(e, args.rank(), args.ranks()) : slice_range{0, e};
        v.stride[d] = n.shape[d] == 1 ? 0 : stride;
        offset += (b.begin[d] - part.begin) * stride;
        stride *= part.count;
    }
    v.data = args.buffer(slot).data + offset * static_cast<std::int64_t>(size_of(n.type));
    return v;
}

}  // namespace plait::host
