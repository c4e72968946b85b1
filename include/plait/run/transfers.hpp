// Which bytes a pass needs from other ranks, and gives them: for fabrics on which ranks send each other messages.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/slice.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/plan.hpp>
#include <plait/run/chunks.hpp>
#include <plait/target/host/all_reduce_crossover.hpp>
#include <plait/target/host/space.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait::detail {

/// One contiguous piece of a rank's memory of a slot, in bytes.
struct byte_run {
    std::int64_t offset = 0;
    std::int64_t count = 0;
};

/// A message that a pass gives rise to: `holder`'s memory of a slot, read or written by `actor`. Ranks of the world.
struct transfer {
    int slot = -1;
    int holder = 0;
    int actor = 0;
    int tag = 0;
    bool is_result = false;  // the actor writes: the message goes to the holder
    bool to_all = false;     // as to every other rank of the group
    int value = 0;           // which operand or result of the pass

    [[nodiscard]] int sender() const { return is_result ? actor : holder; }
    [[nodiscard]] int receiver() const { return is_result ? holder : actor; }
};

/// Calls use(transfer) for everything that the ranks of a pass read from or write to other ranks.
template <class Use>
void for_each_transfer(const arguments& args, std::size_t pass_index, Use&& use)
{
    constexpr int tags_of_a_pass = max_operands + max_results;
    constexpr int tags = 32000 / tags_of_a_pass;
    const pass_view& pass = args.image().plan.passes[pass_index];
    const int n = args.ranks();
    const int first_tag = static_cast<int>(pass_index) % tags * tags_of_a_pass;
    for (int group = 0; group * n < args.world_size(); ++group) {
        if (pass.group != any_group && pass.group != group) { continue; }
        for (int a = 0; a < n; ++a) {
            const int actor = group * n + a;
            transfer t;
            t.actor = actor;
            const auto add = [&](int slot, int in_group) {
                const int g = args.image().slot_node(slot).group;
                t.slot = slot;
                t.holder = (g == any_group ? group : g) * n + in_group;
                if (t.holder != actor) { use(t); }
            };
            for (std::size_t i = 0; i < pass.operands.size(); ++i) {
                const pass_operand& o = pass.operands[i];
                if (o.slot < 0 || o.from == source::own || (o.from == source::root_combined && a != o.root)) { continue; }
                t.value = static_cast<int>(i);
                t.tag = first_tag + t.value;
                t.is_result = t.to_all = false;
                if (o.from == source::from_root) {
                    add(o.slot, o.root);
                } else {
                    for (int r = 0; r < n; ++r) { add(o.slot, r); }
                }
            }
            for (std::size_t i = 0; i < pass.results.size(); ++i) {
                const pass_result& r = pass.results[i];
                t.value = static_cast<int>(i);
                t.tag = first_tag + max_operands + t.value;
                t.is_result = true;
                t.to_all = r.to == destination::all_ranks;
                switch (r.to) {
                case destination::own: break;
                case destination::peer: add(r.slot, a); break;
                case destination::root: add(r.slot, r.root); break;
                case destination::all_ranks:
                    for (int q = 0; q < n; ++q) { add(r.slot, q); }
                }
            }
        }
    }
}

/// A part of a rank's memory of a slot, in bytes: runs of one length, which repeat along some dimensions.
struct byte_box {
    std::int64_t offset = 0;
    std::int64_t length = 0;  // of a run; 0: nothing
    int dims = 0;
    std::int64_t count[max_dims]{};
    std::int64_t stride[max_dims]{};

    [[nodiscard]] std::int64_t bytes() const { return host::elements_in(dims, count) * length; }
    /// Where it ends, if it is not empty.
    [[nodiscard]] std::int64_t end() const
    {
        std::int64_t last = offset + length;
        for (int d = 0; d < dims; ++d) { last += (count[d] - 1) * stride[d]; }
        return last;
    }
};

/// What `actor`'s part of a pass, within a chunk, touches of `holder`'s memory of a slot. `two_shot`: an all_reduce hands slices
/// around.
inline byte_box box_of(const arguments& args, const pass_view& pass, const transfer& t, const host::chunk& within, bool two_shot)
{
    byte_box box;
    const node& v = args.image().slot_node(t.slot);
    const node& space_node = args.image().node_of(pass.space);
    const int actor = t.actor % args.ranks();
    const int holder = t.holder % args.ranks();
    const auto size = static_cast<std::int64_t>(size_of(v.type));
    if (pass.kind == pass_kind::all_reduce) {
        const std::int64_t count = args.elements_of(v);
        const slice_range part = two_shot ? slice_of(count, actor, args.ranks()) : slice_range{0, count};
        if (two_shot || !t.is_result) {
            box.offset = part.begin * size;
            box.length = part.count * size;
        }
        return box;
    }
    const host::space s = host::space_of(args, space_node, pass.slice_dim, actor, within);
    std::int64_t begin[max_dims]{};
    std::int64_t held = size;
    const int shift = s.dims - v.dims;
    for (int d = v.dims - 1; d >= 0; --d) {
        const std::int64_t e = args.extent_of(v.shape[d]);
        const bool is_slice = v.layout == layout_kind::sliced && d == v.slice_dim;
        const slice_range part = is_slice ? slice_of(e, holder, args.ranks()) : slice_range{0, e};
        const bool whole = v.shape[d] == 1 || (is_per_tensor(v.shape[d]) && !is_per_tensor(space_node.shape[d + shift]));
        const std::int64_t from = whole ? 0 : s.begin[d + shift];
        const std::int64_t to = whole ? e : from + s.count[d + shift];
        begin[d] = std::max(from, part.begin) - part.begin;
        box.count[d] = std::max<std::int64_t>(0, std::min(to, part.begin + part.count) - part.begin - begin[d]);
        box.stride[d] = held;
        held *= part.count;
    }
    box.length = size;  // of a run: the inner dimensions as far as they are whole
    box.dims = v.dims;
    while (box.dims > 0 && box.stride[box.dims - 1] == box.length) {
        --box.dims;
        box.offset += begin[box.dims] * box.stride[box.dims];
        box.length *= box.count[box.dims];
    }
    for (int d = 0; d < box.dims; ++d) { box.offset += begin[d] * box.stride[d]; }
    return box;
}

/// The same as contiguous runs, as the host's kernels go about it.
inline void runs_of(const arguments& args, const pass_view& pass, const transfer& t, const host::chunk& within,
                    std::vector<byte_run>& runs)
{
    runs.clear();
    const byte_box box = box_of(args, pass, t, within, host::is_two_shot(args, args.image().slot_node(t.slot)));
    if (box.length == 0) { return; }
    host::for_each_index(box.dims, box.count, [&](const std::int64_t* at) {
        std::int64_t offset = box.offset;
        for (int d = 0; d < box.dims; ++d) { offset += at[d] * box.stride[d]; }
        runs.push_back({offset, box.length});
    });
}

}  // namespace plait::detail
