// A program as one flat value: nodes in topological order, each after its operands.
#pragma once

#include <plait/graph/infer_collective.hpp>
#include <plait/graph/node.hpp>

#include <cstdint>
#include <string_view>

namespace plait {

/// A graph with room for `Nodes` nodes, `Symbols` names and `Outputs` outputs. A value: transformations take one and
/// return another. Equal sub-expressions are one node. Every node's type has passed `infer`.
template <int Nodes, int Symbols, int Outputs>
struct graph {
    static constexpr int node_capacity = Nodes;
    static constexpr int symbol_capacity = Symbols;
    static constexpr int output_capacity = Outputs;

    fixed_string name{};  // of the program
    int size = 0;
    int n_symbols = 0;
    int n_outputs = 0;
    node nodes[Nodes]{};
    fixed_string symbols[Symbols]{};
    int outputs[Outputs]{};  // updates

    [[nodiscard]] constexpr const node& operator[](int i) const { return nodes[i]; }
    [[nodiscard]] constexpr node& operator[](int i) { return nodes[i]; }

    constexpr int find_symbol(std::string_view s) const
    {
        for (int i = 0; i < n_symbols; ++i) {
            if (symbols[i].view() == s) { return i; }
        }
        return -1;
    }
    constexpr int symbol(std::string_view s)
    {
        const int found = find_symbol(s);
        if (found >= 0) { return found; }
        symbols[n_symbols] = fixed_string{s};
        return n_symbols++;
    }
    /// Always inlined: g++ merges equal functions of graphs of different capacities, and then warns that one of them
    /// reads outside of the other.
    [[nodiscard, gnu::always_inline]] constexpr std::string_view text(int symbol_index) const
    {
        return symbol_index < 0 ? std::string_view{} : symbols[symbol_index].view();
    }

    /// Adds a node unless an equal one is there; returns its index.
    constexpr int add(const node& n)
    {
        for (int i = 0; i < size; ++i) {
            if (!nodes[i].same_value(n)) { continue; }
            if (nodes[i].label < 0) { nodes[i].label = n.label; }
            return i;
        }
        nodes[size] = n;
        return size++;
    }

    [[nodiscard]] constexpr extent unpack(packed_extent e) const
    {
        if (!is_named(e)) { return {e, {}, false}; }
        return {0, text(symbol_of(e)), is_per_tensor(e)};
    }
    constexpr packed_extent pack(const extent& e)
    {
        if (e.name.empty()) { return e.number; }
        const packed_extent base = -1 - symbol(e.name);
        return e.per_tensor ? tensors_base + base : base;
    }

    /// The type of node i, with names that view into this graph.
    [[nodiscard]] constexpr value_type type_of(int i) const
    {
        const node& n = nodes[i];
        value_type t;
        t.type = n.type;
        t.layout = n.layout;
        t.slice_dim = n.slice_dim;
        t.group = n.group;
        t.dims = n.dims;
        for (int d = 0; d < n.dims; ++d) { t.shape[d] = unpack(n.shape[d]); }
        t.name = text(n.name >= 0 ? n.name : n.label);
        t.made_by = n.kind;
        if (n.kind == op::update) { t.name = text(nodes[n.args[0]].name); }
        return t;
    }
    constexpr void set_type(node& n, const value_type& t)
    {
        n.type = t.type;
        n.layout = t.layout;
        n.slice_dim = t.slice_dim;
        n.group = t.group;
        n.dims = t.dims;
        for (int d = 0; d < max_dims; ++d) { n.shape[d] = d < t.dims ? pack(t.shape[d]) : 0; }
    }

    /// What adding `like`'s operation on other operands gives: its type, or the rule that it would violate.
    [[nodiscard]] constexpr inferred try_infer(const node& like, const int (&args)[max_args]) const
    {
        value_type types[max_args];
        for (int i = 0; i < like.n_args; ++i) { types[i] = type_of(args[i]); }
        return infer(like.kind, like.attrs, types, like.n_args);
    }
    /// Adds `like`'s operation on other operands; `type` is what try_infer said.
    constexpr int add_like(const node& like, const int (&args)[max_args], const value_type& type)
    {
        node n = like;
        for (int i = 0; i < like.n_args; ++i) { n.args[i] = args[i]; }
        set_type(n, type);
        return add(n);
    }
    /// Adds an operation on existing nodes that is known to be legal.
    constexpr int add_op(op kind, const attributes& attrs, int a, int label = -1)
    {
        node n;
        n.kind = kind;
        n.attrs = attrs;
        n.n_args = 1;
        n.label = label;
        const int args[max_args] = {a, -1, -1};
        return add_like(n, args, try_infer(n, args).type);
    }

    [[nodiscard]] constexpr bool is_output(int i) const
    {
        for (int o = 0; o < n_outputs; ++o) {
            if (outputs[o] == i) { return true; }
        }
        return false;
    }
    /// The node that carries a label, or -1.
    [[nodiscard]] constexpr int labelled(std::string_view label) const
    {
        for (int i = 0; i < size; ++i) {
            if (nodes[i].label >= 0 && text(nodes[i].label) == label) { return i; }
        }
        return -1;
    }
    [[nodiscard]] constexpr int tensor(std::string_view tensor_name) const
    {
        for (int i = 0; i < size; ++i) {
            if (nodes[i].kind == op::tensor && text(nodes[i].name) == tensor_name) { return i; }
        }
        return -1;
    }

    /// The same graph with other capacities.
    template <int N, int S, int O>
    [[nodiscard]] constexpr graph<N, S, O> resized() const
    {
        graph<N, S, O> g;
        g.name = name;
        g.size = size;
        g.n_symbols = n_symbols;
        g.n_outputs = n_outputs;
        for (int i = 0; i < size; ++i) { g.nodes[i] = nodes[i]; }
        for (int i = 0; i < n_symbols; ++i) { g.symbols[i] = symbols[i]; }
        for (int i = 0; i < n_outputs; ++i) { g.outputs[i] = outputs[i]; }
        return g;
    }

    constexpr bool operator==(const graph&) const = default;
};

/// A graph without the nodes that no output needs, in the same order.
template <int N, int S, int O>
constexpr graph<N, S, O> pruned(const graph<N, S, O>& old)
{
    bool needed[N]{};
    for (int o = 0; o < old.n_outputs; ++o) { needed[old.outputs[o]] = true; }
    for (int i = old.size - 1; i >= 0; --i) {
        for (int a = 0; needed[i] && a < old[i].n_args; ++a) { needed[old[i].args[a]] = true; }
    }
    graph<N, S, O> g = old;
    g.size = 0;
    int to[N]{};
    for (int i = 0; i < old.size; ++i) {
        if (!needed[i]) { continue; }
        node n = old[i];
        for (int a = 0; a < n.n_args; ++a) { n.args[a] = to[n.args[a]]; }
        to[i] = g.size;
        g[g.size++] = n;
    }
    for (int i = g.size; i < old.size; ++i) { g[i] = node{}; }
    for (int o = 0; o < g.n_outputs; ++o) { g.outputs[o] = to[old.outputs[o]]; }
    return g;
}

}  // namespace plait
