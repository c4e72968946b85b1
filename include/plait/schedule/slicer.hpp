// The engine of reorder and as_slice: computing on slices what was computed on whole values.
#pragma once

#include <plait/schedule/pass.hpp>

namespace plait::detail {

/// Rebuilds a graph in which some nodes have an early form (a slice before its all_gather, a value before its send):
/// their consumers work on the early form wherever the rules allow it. A whole value that is still needed is made by
/// applying the collective to the early form, once per value.
template <class Graph>
struct slicer {
    const Graph& old;
    scheduled<roomy<Graph>> result{};
    int whole[Graph::node_capacity]{};  // new index, or -1: not made
    int early[Graph::node_capacity]{};  // new index, or -1: has no early form
    node collective{};                  // what makes a whole value of an early one; kind `tensor`: nothing may
    int moved_nodes = 0;

    constexpr explicit slicer(const Graph& g) : old(g)
    {
        result.g = emptied(old);
        for (int i = 0; i < old.size; ++i) { whole[i] = early[i] = -1; }
    }

    constexpr auto& g() { return result.g; }

    /// The whole value of node i of the old graph.
    constexpr int need_whole(int i)
    {
        if (whole[i] >= 0) { return whole[i]; }
        if (collective.kind == op::tensor) {
            message m;
            result.refuse(rule::as_slice_whole, m << old.type_of(i) << ": needed whole");
            return early[i];
        }
        const int args[max_args] = {early[i], -1, -1};
        whole[i] = g().add_like(collective, args, g().try_infer(collective, args).type);
        return whole[i];
    }

    constexpr bool has_early_operand(const node& n) const
    {
        for (int a = 0; a < n.n_args; ++a) {
            if (early[n.args[a]] >= 0) { return true; }
        }
        return false;
    }

    /// Adds node i as it is, on whole operands.
    constexpr void keep(int i)
    {
        node n = old[i];
        for (int a = 0; a < n.n_args; ++a) {
            // One fma with its product: that is computed again from whole values, not joined from slices.
            const bool product = n.contracts == a + 1 && whole[n.args[a]] < 0;
            if (product) { keep(n.args[a]); }
            n.args[a] = need_whole(n.args[a]);
        }
        whole[i] = g().add(n);
    }

    /// Tries to compute node i on early operands.
    constexpr bool advance(int i)
    {
        const node& n = old[i];
        const int first = n.args[0];
        if (n.kind == op::slice && early[first] >= 0 && g()[early[first]].slice_dim == n.attrs.axis) {
            whole[i] = early[first];  // a slice of a whole value that was joined from these very slices
            ++moved_nodes;
            return true;
        }
        const bool can_move = is_elementwise(n.kind) || is_reduction(n.kind) || is_contraction(n.kind) ||
                              n.kind == op::send;
        if (!can_move) { return false; }
        int args[max_args] = {-1, -1, -1};
        for (int a = 0; a < n.n_args; ++a) {
            const int from = n.args[a];
            if (early[from] < 0 && whole[from] < 0) { return false; }
            args[a] = early[from] >= 0 ? early[from] : whole[from];
        }
        const inferred type = g().try_infer(n, args);
        if (!type.ok()) { return false; }
        const bool sends = collective.kind == op::send;
        const bool part = !sends && type.type.layout == layout_kind::local;  // of a reduction along the slices
        const bool stays_early = sends ? type.type.group != n.group : type.type.is_sliced();
        if (part && !is_reduction(n.kind)) { return false; }
        if (!part && !stays_early) { return false; }
        const int at = g().add_like(n, args, type.type);
        ++moved_nodes;
        if (!part) {
            const bool was_sliced = !sends && n.layout == layout_kind::sliced;  // its consumers need not change
            (was_sliced ? whole : early)[i] = at;
            return true;
        }
        attributes combine;
        combine.combine = n.attrs.combine == reduction::mean ? reduction::sum : n.attrs.combine;
        whole[i] = g().add_op(op::all_reduce, combine, at);
        return true;
    }

    /// Reduces a replicated value of the shape of node `like` slice by slice, as reductions of gathered values are: the
    /// norm of the parameters beside that of their gradient. Long sums have the same bits either way.
    constexpr bool reduce_slices(int i, int like)
    {
        const node& n = old[i];
        const bool all = n.kind == op::reduce_per_tensor || (n.kind == op::reduce && n.attrs.axis == attributes::all_axes);
        if (!all || old[n.args[0]].layout != layout_kind::replicated || !same_shape(n.args[0], like)) { return false; }
        attributes along;
        along.axis = old[old[like].args[0]].slice_dim;
        const int args[max_args] = {g().add_op(op::slice, along, need_whole(n.args[0])), -1, -1};
        const int part = g().add_like(n, args, g().try_infer(n, args).type);
        attributes combine;
        combine.combine = n.attrs.combine == reduction::mean ? reduction::sum : n.attrs.combine;
        whole[i] = g().add_op(op::all_reduce, combine, part);
        return true;
    }
    constexpr bool same_shape(int a, int b) const
    {
        bool same = old[a].dims == old[b].dims && old[a].dims > 0;
        for (int d = 0; same && d < old[a].dims; ++d) { same = old[a].shape[d] == old[b].shape[d]; }
        return same;
    }

    constexpr void finish()
    {
        for (int o = 0; o < old.n_outputs; ++o) { g().outputs[o] = whole[old.outputs[o]]; }
    }
};

}  // namespace plait::detail
