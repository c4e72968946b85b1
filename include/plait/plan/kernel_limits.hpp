// What cannot be run by this target: operations without a kernel, kernels of too many operands.
#pragma once

#include <plait/plan/plan.hpp>

namespace plait::detail {

/// Whether every operation has a kernel; says in the plan which one has none.
template <class Graph, class Plan>
constexpr bool has_kernels(const Graph& g, Plan& plan)
{
    for (int i = 0; i < g.size; ++i) {
        const op k = g[i].kind;
        bool missing = false;
        for (int a = 1; a < g[i].n_args && k == op::dropout; ++a) {
            const op argument = g[g[i].args[a]].kind;
            missing = missing || (argument != op::constant && argument != op::scalar);
        }
        if (missing) {
            plan.violated = rule::no_kernel;
            plan.why << g.type_of(i) << ": " << name_of(k) << " on the host";
            return false;
        }
    }
    return true;
}

/// Says in the plan which kernel would have more operands or results than one takes.
template <class Graph, class Plan>
constexpr void check_sizes(const Graph& g, Plan& plan)
{
    for (int i = 0; i < plan.n_passes; ++i) {
        const pass_plan& p = plan.passes[i];
        if (plan.violated != rule::none || (p.operands.count <= max_operands && p.results.count <= max_results)) {
            continue;
        }
        plan.violated = rule::kernel_size;
        plan.why << "program \"" << g.name.view() << "\": a kernel of " << p.operands.count << " operands and "
                 << p.results.count << " results";
    }
}

}  // namespace plait::detail
