// One pass from its roots: what it loads, computes and stores.
#pragma once

#include <plait/plan/levels.hpp>
#include <plait/plan/placement.hpp>

#include <iterator>

namespace plait::detail {

/// Collects operands, steps and results of the plan's last pass, each value once.
template <class Graph, class Plan>
struct pass_builder {
    const Graph& g;
    const levels<Graph>& when;
    const placement<Graph>& where;
    Plan& plan;
    pass_plan& p;
    bool from_this_level = false;  // what passes over elements of this level store can be read
    bool seen[Graph::node_capacity]{};

    /// Makes value v available in registers: as an operand, or as a step on other values.
    constexpr void need(int node_index)
    {
        const int v = when.value[node_index];
        if (seen[v]) { return; }
        seen[v] = true;
        const node& n = g[v];
        const bool made = !in_registers(n) || when.level[v] < p.level || from_this_level;
        const bool stored = where.slot_of[v] >= 0 && made;
        switch (n.kind) {
        case op::tensor: operand(v, where.slot_of[v], source::own); return;
        case op::scalar: operand(v, -1, source::scalar); return;
        case op::constant: operand(v, -1, source::number); return;
        case op::world_size: operand(v, -1, source::world_size); return;
        default: break;
        }
        if (stored) {
            operand(v, where.slot_of[v], source::own);
        } else if (reads_peers(n.kind)) {
            peers(v);
        } else if (n.kind == op::update) {
            need(n.args[1]);
            step(v);
        } else {
            for (int f : factors(v)) {
                if (f >= 0) { need(f); }
            }
            if (n.kind == op::dropout) { operand(v, -1, source::mask); }
            step(v);
        }
    }

    /// The value that collective c brings from the ranks.
    constexpr void peers(int c)
    {
        const node& n = g[c];
        const source from = n.kind == op::broadcast || n.kind == op::scatter ? source::from_root
                            : n.kind == op::reduce_to_root                   ? source::root_combined
                                                                             : source::all_ranks;
        pass_operand& o = operand(c, where.slot_of[when.value[n.args[0]]], from);
        o.combine = n.attrs.combine;
        o.root = n.attrs.a;
        p.fused = p.fused || n.fused;
        plan.slots[o.slot].peers_touch = true;
    }

    /// Node a in memory, as a contraction reads it: a slice of a whole value is read where it lies in the whole.
    constexpr void in_memory(int a) { operand(a, where.slot_of[when.value[a]], source::own); }

    /// The operands of node v as its step reads them: a contracted addition reads the factors of its product.
    constexpr auto factors(int v) const
    {
        struct {
            int values[max_args] = {-1, -1, -1};
            constexpr const int* begin() const { return values; }
            constexpr const int* end() const { return values + max_args; }
        } f;
        const node& n = g[v];
        if (n.contracts != 0) {
            const node& product = g[n.args[n.contracts - 1]];
            f.values[0] = product.args[0];
            f.values[1] = product.args[1];
            f.values[2] = n.args[2 - n.contracts];
        } else if (n.kind == op::dropout) {
            f.values[0] = n.args[0];
            f.values[1] = n.args[1];
        } else {
            for (int a = 0; a < n.n_args; ++a) { f.values[a] = n.args[a]; }
        }
        return f;
    }

    constexpr void store(int v, int slot_index, destination to, int root, bool reduces)
    {
        if (plan.n_results == static_cast<int>(std::size(plan.results))) {
            plan.overflow = true;
            return;
        }
        ++p.results.count;
        pass_result& r = plan.results[plan.n_results++];
        r.node = v;
        r.slot = slot_index;
        r.to = to;
        r.root = root;
        r.reduces = reduces;
        plan.slots[slot_index].written = true;
        plan.slots[slot_index].peers_touch = plan.slots[slot_index].peers_touch || to != destination::own;
    }

    constexpr void step(int v)
    {
        if (plan.n_steps == static_cast<int>(std::size(plan.steps))) {
            plan.overflow = true;
            return;
        }
        ++p.steps.count;
        plan.steps[plan.n_steps++] = v;
    }

  private:
    constexpr pass_operand& operand(int v, int slot_index, source from)
    {
        plan.overflow = plan.overflow || plan.n_operands == static_cast<int>(std::size(plan.operands));
        if (!plan.overflow) {
            ++p.operands.count;
            ++plan.n_operands;
        }
        pass_operand& o = plan.operands[plan.n_operands - 1];
        o = pass_operand{};
        o.node = v;
        o.slot = slot_index;
        o.from = from;
        o.uniform = is_uniform(g[v]);
        o.old = g[when.value[v]].kind == op::tensor;
        return o;
    }
    /// Whether a value of this shape has one element along the innermost dimension of the pass.
    [[nodiscard]] constexpr bool is_uniform(const node& n) const
    {
        const node& space = g[p.space];
        int inner = space.dims - 1;
        while (inner >= 0 && space.shape[inner] == 1) { --inner; }
        if (inner < 0) { return n.dims == 0; }
        const int d = inner - (space.dims - n.dims);
        return d < 0 || n.shape[d] == 1 || (is_per_tensor(n.shape[d]) && !is_per_tensor(space.shape[inner]));
    }
};

}  // namespace plait::detail
