// When each node can run: levels, from which passes are made.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/plan.hpp>

#include <cstddef>

namespace plait::detail {

/// What a node is to the planner.
constexpr bool is_point(op k) { return is_elementwise(k) || k == op::slice || k == op::update; }
/// A collective that a pass reads through: its operand lies in memory, its result in registers.
constexpr bool reads_peers(op k)
{
    return k == op::all_reduce || k == op::reduce_scatter || k == op::reduce_to_root || k == op::broadcast ||
           k == op::scatter;
}
/// A collective that a pass writes through.
constexpr bool writes_peers(op k) { return k == op::all_gather || k == op::gather || k == op::send; }
/// A value that is only ever in registers unless someone needs it in memory.
constexpr bool in_registers(const node& n) { return is_point(n.kind) || (reads_peers(n.kind) && n.fused); }
/// An operation that runs after its operands have come to memory.
constexpr bool through_memory(const node& n)
{
    return is_contraction(n.kind) || (is_collective(n.kind) && !(writes_peers(n.kind) && n.fused));
}

/// Whether two values have the same extents, and whether one index space covers both.
constexpr bool same_shape(const node& a, const node& b)
{
    if (a.dims != b.dims) { return false; }
    for (int d = 0; d < a.dims; ++d) {
        if (a.shape[d] != b.shape[d]) { return false; }
    }
    return true;
}
constexpr bool same_space(const node& a, const node& b)
{
    return same_shape(a, b) && a.sliced_along() == b.sliced_along() && a.group == b.group;
}

/// Whether a value's pass stores it in one place alone.
constexpr bool is_stored_once(const node& n)
{
    return n.kind == op::all_to_all || (n.kind == op::reduce && n.attrs.axis != attributes::all_axes);
}

/// Levels: a value is available to passes from `available` on; it is made at `level`.
template <class Graph>
struct levels {
    const Graph& g;
    int level[Graph::node_capacity]{};
    int value[Graph::node_capacity]{};  // the node whose value this node's is: through updates and slices

    constexpr explicit levels(const Graph& graph) : g(graph)
    {
        bool stored[Graph::node_capacity]{};
        for (int i = 0; i < g.size; ++i) {
            value[i] = i;
            if (g[i].kind == op::slice && !lies_by_itself(i)) { value[i] = value[g[i].args[0]]; }
            if (g[i].kind == op::update) {
                const int v = value[g[i].args[1]];
                // A tensor in slices takes its slice alone of a value that is made whole.
                const bool same =
                    g[v].type == g[i].type && g[v].dims == g[i].dims && g[v].sliced_along() == g[i].sliced_along();
                // A copy of a tensor is made by the update; and so is a second one of what is stored in one place alone.
                const bool copied = is_leaf(g[v].kind) || (is_stored_once(g[v]) && stored[v]);
                if (same && !copied) {
                    value[i] = v;
                    stored[v] = true;
                }
            }
        }
        list_users();
        for (int i = 0; i < g.size; ++i) { level[i] = earliest(i); }
        for (int i = g.size - 1; i >= 0; --i) { sink(i); }
    }

    /// The nodes that read value v (an update reads what it stores, not its tensor).
    [[nodiscard]] constexpr view<const int> users(int v) const
    {
        return {user_list_ + first_user_[v], static_cast<std::size_t>(first_user_[v + 1] - first_user_[v])};
    }

    /// The first level whose passes can use node i.
    [[nodiscard]] constexpr int available(int i) const
    {
        const int v = value[i];
        if (is_leaf(g[v].kind)) { return 0; }
        return in_registers(g[v]) ? level[v] : level[v] + 1;
    }
    /// The first level whose passes find node i in memory.
    [[nodiscard]] constexpr int in_memory(int i) const
    {
        const int v = value[i];
        return in_registers(g[v]) ? level[v] + 1 : available(i);
    }

  private:
    /// Whether slice i is a value of its own in memory: ranks fetch blocks of each other's slices, not of whole values.
    [[nodiscard]] constexpr bool lies_by_itself(int i) const
    {
        for (int j = i + 1; j < g.size; ++j) {
            if (g[j].kind == op::all_to_all && g[j].args[0] == i) { return true; }
        }
        return false;
    }
    constexpr void list_users()
    {
        for (int pass = 0; pass < 2; ++pass) {  // counts, then places
            for (int j = 0; j < g.size; ++j) {
                for (int a = g[j].kind == op::update ? 1 : 0; a < g[j].n_args; ++a) {
                    const int v = value[g[j].args[a]];
                    if (pass == 0) {
                        ++first_user_[v + 1];
                    } else {
                        user_list_[next_[v]++] = j;
                    }
                }
            }
            for (int v = 0; v < g.size && pass == 0; ++v) {
                first_user_[v + 1] += first_user_[v];
                next_[v] = first_user_[v];
            }
        }
    }

    [[nodiscard]] constexpr int earliest(int i) const
    {
        const node& n = g[i];
        if (is_leaf(n.kind)) { return 0; }
        int latest = 0;
        for (int a = n.kind == op::update ? 1 : 0; a < n.n_args; ++a) {
            const int at = through_memory(n) ? in_memory(n.args[a]) : available(n.args[a]);
            latest = at > latest ? at : latest;
        }
        return latest;
    }

    /// Moves a node to the level where it is first used: an elementwise one, so that it stays in registers; a reduction
    /// and the collective of one, so that all that are needed together are made in one pass, and combined in one
    /// meeting.
    constexpr void sink(int i)
    {
        const node& n = g[i];
        const bool small = is_reduction(n.kind) ||
                           (is_collective(n.kind) && through_memory(n) && is_reduction(g[n.args[0]].kind));
        if (!is_elementwise(n.kind) && !small) { return; }
        int first_use = -1;
        for (int j : users(i)) {
            if (g[j].kind == op::slice && value[j] != j) { continue; }  // its consumers have the same value
            const int here = small ? level[j] - 1 : through_memory(g[j]) ? level[j] - 1 : level[j];
            const int use = g[j].kind == op::update ? level[i] : here;
            first_use = first_use < 0 || use < first_use ? use : first_use;
        }
        if (first_use > level[i] && !(small && reads_updated(i, first_use))) { level[i] = first_use; }
    }

    /// Whether node i, computed as late as `last`, would read the old value of a tensor that is updated until then.
    [[nodiscard]] constexpr bool reads_updated(int i, int last) const
    {
        bool read[Graph::node_capacity]{};
        read[i] = true;
        for (int j = i; j >= 0; --j) {
            for (int a = 0; read[j] && a < g[j].n_args; ++a) { read[g[j].args[a]] = true; }
        }
        for (int u = 0; u < g.size; ++u) {
            if (g[u].kind == op::update && read[g[u].args[0]] && level[u] <= last) { return true; }
        }
        return false;
    }

    int first_user_[Graph::node_capacity + 1]{};
    int next_[Graph::node_capacity]{};
    int user_list_[Graph::node_capacity * max_args]{};
};

}  // namespace plait::detail
