// Walking an index space: strides of the streams that take part, contiguous runs, tensors of a scattered dimension.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/slice.hpp>
#include <plait/core/view.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace plait::host {

/// A view of one operand or result along the space of a pass: an offset and a stride per dimension, in elements; for a
/// dropout's mask these are global element indices.
struct stream {
    std::int64_t offset = 0;
    std::int64_t stride[max_dims]{};
    bool per_tensor = false;  // one element per tensor of the dimension
    bool in_pieces = false;   // scattered: offsets count from the start of a piece
};

/// An operand or result of a pass while it runs.
struct channel {
    stream view{};
    std::int64_t offset = 0;  // of the current run, in elements
    std::int64_t size = 0;    // bytes of an element
    int slot = -1;
    std::byte* tile = nullptr;      // where its elements go before they are used or stored
    std::byte* identity = nullptr;  // a tile of elements that change nothing when combined
};

/// The dimensions of a pass as this rank runs them.
struct space {
    int dims = 0;
    int inner = -1;  // the innermost dimension that is not the number 1: runs go along it
    std::int64_t begin[max_dims]{};
    std::int64_t count[max_dims]{};
    packed_extent tensors = 0;  // the dimension whose tensors are walked one by one, or 0
    bool flat = false;          // elements [begin, begin + count) in memory order, whatever the shape
};

/// A range of global indices of one dimension, to which a pass is confined when it runs in chunks. dim -1: all.
struct chunk {
    int dim = -1;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool is_first = false;  // of its pass in this run
};

/// The part of a node's space that a rank works on: all of it, or its slice along `slice_dim`; of that what is `within`.
inline space space_of(const arguments& args, const node& n, int slice_dim, int rank, const chunk& within = {})
{
    space s;
    s.dims = n.dims;
    for (int d = 0; d < n.dims; ++d) {
        const std::int64_t e = args.extent_of(n.shape[d]);
        const slice_range part = d == slice_dim ? slice_of(e, rank, args.ranks()) : slice_range{0, e};
        s.begin[d] = part.begin;
        s.count[d] = part.count;
        if (d == within.dim) {
            s.begin[d] = std::max(part.begin, within.begin);
            s.count[d] = std::max<std::int64_t>(0, std::min(part.begin + part.count, within.end) - s.begin[d]);
        }
        if (n.shape[d] != 1) { s.inner = d; }
    }
    return s;
}

/// How a value of node n's shape is read along the space. `stored_sliced`: the memory holds the slice alone.
inline stream stream_of(const arguments& args, const node& n, const space& s, bool stored_sliced)
{
    stream v;
    const int shift = s.dims - n.dims;
    std::int64_t stride = 1;
    for (int d = n.dims - 1; d >= 0; --d) {
        const std::int64_t e = args.extent_of(n.shape[d]);
        const int sd = d + shift;
        const bool is_slice = stored_sliced && d == n.slice_dim;
        const slice_range held = is_slice ? slice_of(e, args.rank(), args.ranks()) : slice_range{0, e};
        const bool tensors =
            is_per_tensor(n.shape[d]) && s.tensors != 0 && symbol_of(n.shape[d]) == symbol_of(s.tensors);
        v.per_tensor = v.per_tensor || tensors;
        if (n.shape[d] != 1 && !tensors) {
            v.stride[sd] = stride;
            v.offset += (s.begin[sd] - held.begin) * stride;
        }
        stride *= held.count;
    }
    return v;
}

/// An operand or result in memory along the space.
inline channel channel_of(const arguments& args, int slot, const space& s)
{
    channel c;
    const node& n = args.image().slot_node(slot);
    c.slot = slot;
    c.size = static_cast<std::int64_t>(size_of(n.type));
    if (s.flat) {
        c.view.stride[0] = 1;
        c.view.offset = s.begin[0];
    } else {
        c.view = stream_of(args, n, s, n.layout == layout_kind::sliced);
    }
    c.view.in_pieces = !args.buffer(slot).pieces.empty();
    return c;
}

/// The dimension of node n whose tensors a pass must go through one by one, as something is scattered or there is one value
/// per tensor; or 0.
inline packed_extent tensors_of(const arguments& args, const pass_view& pass, const node& n)
{
    if (n.dims != 1 || !is_named(n.shape[0]) || is_per_tensor(n.shape[0])) { return 0; }
    const auto needs_them = [&](int slot) {
        if (slot < 0) { return false; }
        const node& v = args.image().slot_node(slot);
        return (v.dims == 1 && is_per_tensor(v.shape[0])) || !args.buffer(slot).pieces.empty();
    };
    const bool any = plait::detail::any_of(pass.operands, [&](const pass_operand& o) { return needs_them(o.slot); }) ||
                     plait::detail::any_of(pass.results, [&](const pass_result& r) { return needs_them(r.slot); });
    return any ? n.shape[0] : 0;
}

/// Elements [part.begin, ...) in memory order.
inline space line_of(const slice_range& part)
{
    space s;
    s.dims = 1;
    s.inner = 0;
    s.begin[0] = part.begin;
    s.count[0] = part.count;
    s.flat = true;
    return s;
}

/// Of a box of `dims` dimensions.
inline std::int64_t elements_in(int dims, const std::int64_t* count)
{
    std::int64_t total = 1;
    for (int d = 0; d < dims; ++d) { total *= count[d]; }
    return total;
}

/// Calls use(at) for every index of a box of `dims` dimensions, the last one fastest.
template <class Use>
void for_each_index(int dims, const std::int64_t* count, Use&& use)
{
    const std::int64_t total = elements_in(dims, count);
    std::int64_t at[max_dims]{};
    for (std::int64_t i = 0; i < total; ++i) {
        use(std::as_const(at));
        for (int d = dims - 1; d >= 0 && ++at[d] == count[d]; --d) { at[d] = 0; }
    }
}

/// Merges dimensions that are contiguous in every channel, and drops those of extent 1, so that runs are long. The
/// inner dimension stays: kernels are compiled for operands that do or do not vary along it.
inline void collapse(space& s, view<channel> channels)
{
    int kept = 0;  // dimensions are rebuilt in place, from the outermost
    for (int d = 0; d < s.dims; ++d) {
        if (s.count[d] == 1 && d != s.inner) { continue; }
        bool merges = kept > 0;
        for (const channel& c : channels) {
            merges = merges && c.view.stride[kept - 1] == c.view.stride[d] * s.count[d];
        }
        const int to = merges ? kept - 1 : kept++;
        s.count[to] = merges ? s.count[to] * s.count[d] : s.count[d];
        for (channel& c : channels) { c.view.stride[to] = c.view.stride[d]; }
    }
    s.dims = kept;
}

/// Calls run(length, tensor) for every contiguous run of the space, with the channels' offsets at its first element.
template <class Run>
void for_each_run(const space& s, view<channel> channels, Run&& run)
{
    std::int64_t outer = 1;
    for (int d = 0; d + 1 < s.dims; ++d) { outer *= s.count[d]; }
    const std::int64_t length = s.dims > 0 ? s.count[s.dims - 1] : 1;
    if (length == 0) { return; }
    std::int64_t index[max_dims]{};
    for (channel& c : channels) { c.offset = c.view.offset; }
    for (std::int64_t o = 0; o < outer; ++o) {
        run(length, std::int64_t{0});
        for (int d = s.dims - 2; d >= 0; --d) {
            const bool carry = ++index[d] == s.count[d];
            const std::int64_t steps = carry ? 1 - s.count[d] : 1;
            for (channel& c : channels) { c.offset += steps * c.view.stride[d]; }
            if (!carry) { break; }
            index[d] = 0;
        }
    }
}

/// The same for a space of one dimension that is made up of tensors: a run ends where a tensor does. Offsets into
/// scattered buffers count from the start of the piece; those of per-tensor values are the tensor's number.
template <class Run>
void for_each_tensor_run(const arguments& args, const space& s, view<channel> channels, Run&& run)
{
    const std::int64_t end = s.begin[0] + s.count[0];
    const std::int64_t n_tensors = args.extent_of(tensors_base + s.tensors);
    std::int64_t start = 0;
    for (std::int64_t t = 0; t < n_tensors && start < end; ++t) {
        const std::int64_t stop = start + args.tensor_count(s.tensors, t);
        const std::int64_t from = start > s.begin[0] ? start : s.begin[0];
        const std::int64_t to = stop < end ? stop : end;
        if (from < to) {
            for (channel& c : channels) {
                const stream& v = c.view;
                c.offset = v.per_tensor       ? t
                           : v.in_pieces      ? from - start
                           : v.stride[0] == 0 ? v.offset
                                              : v.offset + from - s.begin[0];
            }
            run(to - from, t);
        }
        start = stop;
    }
}

}  // namespace plait::host
