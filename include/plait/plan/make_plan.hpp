// From a scheduled graph to its plan: slots, passes level by level, barriers.
#pragma once

#include <plait/plan/build_pass.hpp>
#include <plait/plan/hazards.hpp>
#include <plait/plan/kernel_limits.hpp>
#include <plait/plan/levels.hpp>
#include <plait/plan/pipelines.hpp>
#include <plait/plan/placement.hpp>

namespace plait::detail {

template <class Graph, int Scale>
struct planner {
    static constexpr int n = Graph::node_capacity;
    using plan_type = program_plan<n, 2 * n, 4 * Scale * n + 16, 4 * Scale * n + 16, 2 * n>;
    using builder = pass_builder<Graph, plan_type>;

    const Graph& g;
    levels<Graph> when;
    placement<Graph> where{};
    plan_type plan{};

    constexpr explicit planner(const Graph& graph) : g(graph), when(graph) {}

    /// Stores value v in its slot (an update's in its tensor, unless that has to wait) and in the tensors of all its updates.
    constexpr void store_all(builder& b, int v, destination to, int root, bool reduces)
    {
        const bool updates = g[v].kind == op::update && !where.deferred[v];
        const int first = where.slot_of[updates ? g[v].args[0] : v];
        b.store(v, first, to, root, reduces);
        for (int u : when.users(v)) {
            const bool other = stored_by(when, where, u, v) && where.slot_of[g[u].args[0]] != first;
            if (other) { b.store(v, where.slot_of[g[u].args[0]], to, root, reduces); }
        }
    }

    constexpr pass_plan& new_pass(pass_kind kind, int space, int level)
    {
        pass_plan& p = plan.passes[plan.n_passes++];
        p = pass_plan{};
        p.operands.first = plan.n_operands;
        p.steps.first = plan.n_steps;
        p.results.first = plan.n_results;
        p.kind = kind;
        p.space = space;
        p.slice_dim = g[space].sliced_along();
        p.group = g[space].group;
        p.level = level;
        return p;
    }

    static constexpr destination sent_to(const node& n)
    {
        return n.kind == op::gather ? destination::root
               : n.kind == op::send ? destination::peer
                                    : destination::all_ranks;
    }

    constexpr void contraction(int i, int level)
    {
        const node& n = g[i];
        const pass_kind kind = n.kind == op::matmul   ? pass_kind::matmul
                               : n.kind == op::conv2d ? pass_kind::conv2d
                                                      : pass_kind::embedding;
        pass_plan& p = new_pass(kind, i, level);
        builder b{g, when, where, plan, p};
        for (int a = 0; a < n.n_args; ++a) { b.in_memory(n.args[a]); }
        store_all(b, i, destination::own, 0, false);
    }

    constexpr void unfused_collective(int c, int level)
    {
        const node& n = g[c];
        const int operand_value = when.value[n.args[0]];
        const bool gathers = writes_peers(n.kind);
        const pass_kind kind = n.kind == op::all_reduce   ? pass_kind::all_reduce
                               : n.kind == op::all_to_all ? pass_kind::all_to_all
                                                          : pass_kind::map;
        const int space = gathers ? n.args[0] : c;  // a slice of a whole value is sliced, the value is not
        pass_plan& p = new_pass(kind, space, level);
        builder b{g, when, where, plan, p};
        if (kind == pass_kind::all_to_all) {
            b.need(operand_value);
            pass_operand& o = plan.operands[plan.n_operands - 1];
            o.from = source::peer_parts;
            o.node = c;
            plan.slots[o.slot].peers_touch = true;
            store_all(b, c, destination::own, 0, false);
        } else if (gathers) {
            b.need(operand_value);
            plan.operands[plan.n_operands - 1].node = c;  // what is stored is the collective's value
            store_all(b, c, sent_to(n), n.attrs.a, false);
        } else {
            b.peers(c);
            store_all(b, c, kind == pass_kind::all_reduce ? destination::all_ranks : destination::own, 0, false);
        }
    }

    /// What a pass over elements must produce: -1 or the node whose shape is its space.
    constexpr int root_space(int i, int level) const
    {
        const node& n = g[i];
        if (n.kind == op::update && when.value[i] == i) {
            return (!where.deferred[i] || where.slot_of[i] >= 0) && when.level[i] == level ? i : -1;
        }
        if (when.value[i] != i || when.level[i] != level) { return -1; }
        if (in_registers(g[i])) { return where.slot_of[i] >= 0 ? i : -1; }
        const bool whole =
            n.kind == op::reduce_per_tensor || (n.kind == op::reduce && n.attrs.axis == attributes::all_axes);
        if (whole || (writes_peers(n.kind) && n.fused)) { return n.args[0]; }
        return -1;
    }

    constexpr void element_pass(int space, int level, const bool (&is_root)[Graph::node_capacity])
    {
        pass_plan& p = new_pass(pass_kind::map, space, level);
        builder b{g, when, where, plan, p};
        for (int i = 0; i < g.size; ++i) {
            if (is_root[i]) { b.need(in_registers(g[i]) ? i : g[i].args[0]); }
        }
        for (int i = 0; i < g.size; ++i) {
            if (!is_root[i]) { continue; }
            if (in_registers(g[i])) {
                store_all(b, i, destination::own, 0, false);
            } else if (is_reduction(g[i].kind)) {
                store_all(b, i, destination::own, 0, true);
            } else {
                p.fused = true;
                store_all(b, i, sent_to(g[i]), g[i].attrs.a, false);
            }
        }
    }

    constexpr void make_level(int level)
    {
        for (int i = 0; i < g.size; ++i) {
            if (when.level[i] != level || when.value[i] != i) { continue; }
            if (is_contraction(g[i].kind)) { contraction(i, level); }
            if (is_collective(g[i].kind) && !g[i].fused) { unfused_collective(i, level); }
            if (reduces_axis(i) && !reads_stored(i, level)) { axis_pass(i, level, false); }
        }
        bool done[Graph::node_capacity]{};
        for (int i = 0; i < g.size; ++i) {
            const int space = done[i] ? -1 : root_space(i, level);
            if (space < 0) { continue; }
            bool roots[Graph::node_capacity]{};
            for (int j = i; j < g.size; ++j) {
                const int other = done[j] ? -1 : root_space(j, level);
                if (other >= 0 && same_space(g[space], g[other])) { done[j] = roots[j] = true; }
            }
            element_pass(space, level, roots);
        }
        for (int i = 0; i < g.size; ++i) {
            const bool here = when.level[i] == level && when.value[i] == i;
            if (here && reduces_axis(i) && reads_stored(i, level)) { axis_pass(i, level, true); }
        }
    }

    constexpr bool reduces_axis(int i) const
    {
        return g[i].kind == op::reduce && g[i].attrs.axis != attributes::all_axes;
    }
    /// Whether what node i reduces is computed from values that a pass over elements of this level stores.
    constexpr bool reads_stored(int i, int level) const
    {
        bool read[Graph::node_capacity]{};
        read[when.value[g[i].args[0]]] = true;
        for (int v = i; v >= 0; --v) {
            if (!read[v] || !in_registers(g[v]) || when.level[v] != level) { continue; }
            if (where.slot_of[v] >= 0) { return true; }
            for (int a = g[v].kind == op::update ? 1 : 0; a < g[v].n_args; ++a) { read[when.value[g[v].args[a]]] = true; }
        }
        return false;
    }
    /// A reduction along one dimension: before the passes over elements of its level, or after them, from what they stored.
    constexpr void axis_pass(int i, int level, bool after)
    {
        const int space = g[i].args[0];
        pass_plan& p = new_pass(pass_kind::reduce_axis, space, level);
        builder b{g, when, where, plan, p};
        b.from_this_level = after;
        b.need(space);
        store_all(b, i, destination::own, 0, true);
    }

    /// Updates that had to wait: from workspace into their tensors.
    constexpr void late_updates(int level)
    {
        for (int u = 0; u < g.size; ++u) {
            if (!where.deferred[u]) { continue; }
            pass_plan& p = new_pass(pass_kind::map, u, level);
            builder b{g, when, where, plan, p};
            b.need(u);
            b.store(when.value[u], where.slot_of[g[u].args[0]], destination::own, 0, false);
        }
    }

    /// Finds an update that overwrites a tensor before its last reader, and defers it.
    constexpr bool defer_one()
    {
        for (int i = 0; i < plan.n_passes; ++i) {
            for (const pass_result& r : results_of(plan, plan.passes[i])) {
                if (plan.slots[r.slot].is_tensor && read_later(plan, i, r.slot) && defer(plan.slots[r.slot].node)) {
                    return true;
                }
            }
        }
        return false;
    }
    constexpr bool defer(int tensor)
    {
        for (int u = 0; u < g.size; ++u) {
            if (g[u].kind != op::update || g[u].args[0] != tensor || where.deferred[u]) { continue; }
            where.deferred[u] = true;
            return true;
        }
        return false;
    }

    constexpr void run()
    {
        if (!has_kernels(g, plan)) { return; }
        do {
            plan.n_slots = plan.n_passes = plan.n_operands = plan.n_steps = plan.n_results = 0;
            placer<Graph, plan_type>{g, when, where, plan}.place();
            int last = 0;
            for (int i = 0; i < g.size; ++i) { last = when.level[i] > last ? when.level[i] : last; }
            for (int level = 0; level <= last; ++level) { make_level(level); }
            late_updates(last + 1);
        } while (!plan.overflow && defer_one());
        if (plan.overflow) { return; }
        pipelines<Graph, plan_type>{g, plan}.form();
        place_barriers(plan);
        check_sizes(g, plan);
    }
};

}  // namespace plait::detail
