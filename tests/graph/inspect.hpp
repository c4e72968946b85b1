// What tests ask about graphs.
#pragma once

#include <plait/graph/program.hpp>

namespace inspect {

template <class Graph>
constexpr int count(const Graph& g, plait::op kind)
{
    int n = 0;
    for (int i = 0; i < g.size; ++i) { n += g[i].kind == kind ? 1 : 0; }
    return n;
}
template <auto Graph>
constexpr int count(plait::program_t<Graph>, plait::op kind)
{
    return count(Graph, kind);
}

template <auto Graph>
constexpr int count_collectives(plait::program_t<Graph>)
{
    int n = 0;
    for (int i = 0; i < Graph.size; ++i) { n += is_collective(Graph[i].kind) ? 1 : 0; }
    return n;
}
template <auto Graph>
constexpr int count_fused(plait::program_t<Graph>)
{
    int n = 0;
    for (int i = 0; i < Graph.size; ++i) { n += Graph[i].fused ? 1 : 0; }
    return n;
}

/// The first node of a kind, or -1.
template <auto Graph>
constexpr int find(plait::program_t<Graph>, plait::op kind)
{
    for (int i = 0; i < Graph.size; ++i) {
        if (Graph[i].kind == kind) { return i; }
    }
    return -1;
}
template <auto Graph>
constexpr const plait::node& first(plait::program_t<Graph> p, plait::op kind)
{
    return Graph[find(p, kind)];
}
/// The layout of a tensor of a program.
template <auto Graph>
constexpr plait::layout_kind layout_of(plait::program_t<Graph>, std::string_view tensor)
{
    return Graph[Graph.tensor(tensor)].layout;
}

/// Every operand stands before its node, every node is needed, and every type is what the rules say.
template <auto Graph>
constexpr bool is_sound(plait::program_t<Graph>)
{
    if (pruned(Graph) != Graph) { return false; }
    for (int i = 0; i < Graph.size; ++i) {
        const plait::node& n = Graph[i];
        for (int a = 0; a < n.n_args; ++a) {
            if (n.args[a] < 0 || n.args[a] >= i) { return false; }
        }
        if (is_leaf(n.kind)) { continue; }
        const plait::inferred type = Graph.try_infer(n, n.args);
        auto g = Graph;
        plait::node again = n;
        g.set_type(again, type.type);
        if (!type.ok() || again != n) { return false; }
    }
    return true;
}

}  // namespace inspect
