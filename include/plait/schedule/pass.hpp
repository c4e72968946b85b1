// How a transformation is applied: graph -> graph, composed with `|`, refused with one compile error.
#pragma once

#include <plait/lang/program.hpp>

#include <concepts>
#include <type_traits>

namespace plait {

/// A transformed graph, or the rule that the transformation would violate.
template <class Graph>
struct scheduled {
    Graph g{};
    rule violated = rule::none;
    message why{};

    /// Notes the first violation; later ones change nothing.
    constexpr scheduled& refuse(rule r, const message& m)
    {
        if (violated == rule::none) {
            violated = r;
            why = m;
        }
        return *this;
    }
};

/// Base of the transformations. One has a static member `apply`, an ordinary constexpr function from a graph to
/// plait::scheduled of a graph.
struct pass_base {};
/// A transformation.
template <class P>
concept pass = std::derived_from<P, pass_base>;

namespace detail {

/// Room for the nodes that a transformation adds; cut to size afterwards.
template <class Graph>
using roomy = graph<Graph::node_capacity * 2 + 8, Graph::symbol_capacity, Graph::output_capacity>;

template <class Program, class Pass>
struct apply_pass;
template <auto Graph, class Pass>
struct apply_pass<program_t<Graph>, Pass> {
    static constexpr auto result = Pass::apply(Graph);
    static consteval auto pick()
    {
        if constexpr (result.violated != rule::none) {
            return std::type_identity<refused<result.violated, cut<result.why.size() + 1>(result.why)>>{};
        } else {
            constexpr auto g = pruned(result.g);
            return std::type_identity<program_t<g.template resized<g.size, g.n_symbols + 1, g.n_outputs>()>>{};
        }
    }
    using type = typename decltype(pick())::type;
};

/// A copy of `old` in a larger graph that has no nodes yet.
template <class Graph>
constexpr roomy<Graph> emptied(const Graph& old)
{
    roomy<Graph> g;
    g.name = old.name;
    g.n_symbols = old.n_symbols;
    for (int i = 0; i < old.n_symbols; ++i) { g.symbols[i] = old.symbols[i]; }
    g.n_outputs = old.n_outputs;
    return g;
}

/// Node i of `old` with its operands renumbered by `to`.
template <class Graph>
constexpr node moved(const Graph& old, int i, const int* to)
{
    node n = old[i];
    for (int a = 0; a < n.n_args; ++a) { n.args[a] = to[n.args[a]]; }
    return n;
}

}  // namespace detail

/// Applies a transformation to a program: `adam | split<"avg"> | reorder<"avg"> | fuse`.
template <auto Graph, pass Pass>
constexpr typename detail::apply_pass<program_t<Graph>, Pass>::type operator|(program_t<Graph>, Pass) { return {}; }
/// What is refused stays that: there is one error.
template <detail::refused_expression Refused, pass Pass>
constexpr Refused operator|(Refused r, Pass) { return r; }

}  // namespace plait
