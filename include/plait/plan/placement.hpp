// Which values need memory, and which slot of it each has.
#pragma once

#include <plait/plan/levels.hpp>
#include <plait/plan/plan.hpp>

namespace plait::detail {

/// Where values lie, while passes are made.
template <class Graph>
struct placement {
    int slot_of[Graph::node_capacity]{};    // of a value in memory; -1: in registers
    bool deferred[Graph::node_capacity]{};  // an update that must wait until all passes have read the old value
    constexpr placement()
    {
        for (int& s : slot_of) { s = -1; }
    }
};

/// Whether an update stores value v straight into its tensor.
template <class Graph>
constexpr bool stored_by(const levels<Graph>& when, const placement<Graph>& where, int u, int v)
{
    return when.g[u].kind == op::update && when.value[u] == v && u != v && !where.deferred[u];
}

/// Gives slots to the tensors of a graph and to the values that must be in memory.
template <class Graph, class Plan>
struct placer {
    const Graph& g;
    const levels<Graph>& when;
    placement<Graph>& where;
    Plan& plan;

    constexpr void place()
    {
        for (int i = 0; i < g.size; ++i) {
            where.slot_of[i] = g[i].kind == op::tensor ? add_slot(i) : -1;
            if (g[i].kind == op::tensor) { plan.slots[where.slot_of[i]].is_tensor = true; }
        }
        for (int v = 0; v < g.size; ++v) {
            if (is_leaf(g[v].kind) || when.value[v] != v) { continue; }
            bool waits = false;
            for (int u : when.users(v)) {
                const bool stored = where.slot_of[v] < 0 && stored_by(when, where, u, v);
                if (stored) { where.slot_of[v] = where.slot_of[g[u].args[0]]; }
                waits = waits || (g[u].kind == op::update && where.deferred[u] && when.value[u] == v);
            }
            const bool needs_slot = !in_registers(g[v]) || waits || where.deferred[v] || needed_in_memory(v);
            if (where.slot_of[v] >= 0 || !needs_slot) { continue; }
            if (g[v].kind != op::update) {
                where.slot_of[v] = add_slot(v);
            } else if (where.deferred[v] || read_by_stages(v)) {
                where.slot_of[v] = where.deferred[v] ? add_slot(v) : where.slot_of[g[v].args[0]];
            }
        }
    }

  private:
    /// Whether value v must be in memory for some consumer. Small values are computed again where they are broadcast.
    constexpr bool needed_in_memory(int v) const
    {
        for (int j : when.users(v)) {
            if (g[j].kind == op::update || (g[j].kind == op::slice && when.value[j] != j)) { continue; }
            if (through_memory(g[j])) { return true; }
            const bool is_late = when.level[j] > when.level[v];
            if (is_late && (same_shape(g[j], g[v]) || is_reduction(g[j].kind))) { return true; }
        }
        return false;
    }
    constexpr bool read_by_stages(int v) const
    {
        for (int j : when.users(v)) {
            if (through_memory(g[j])) { return true; }
        }
        return false;
    }
    constexpr int add_slot(int of)
    {
        plan.slots[plan.n_slots] = slot{};
        plan.slots[plan.n_slots].node = of;
        return plan.n_slots++;
    }
};

}  // namespace plait::detail
