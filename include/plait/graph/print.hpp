// Graphs as text.
#pragma once

#include <plait/core/error.hpp>
#include <plait/graph/graph.hpp>

#include <bit>
#include <cstdio>
#include <string>

namespace plait {
namespace detail {

inline std::string number_text(double value)
{
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.15g", value);
    return buffer;
}

/// How operands refer to node i: a leaf by its name, anything else by its number.
template <class Graph>
std::string operand_text(const Graph& g, int i)
{
    const node& n = g[i];
    switch (n.kind) {
    case op::tensor:
    case op::scalar: return std::string{g.text(n.name)};
    case op::constant: return number_text(std::bit_cast<double>(n.bits));
    case op::world_size: return "world_size";
    default: return "%" + std::to_string(i);
    }
}

template <class Graph>
std::string operation_text(const Graph& g, int i)
{
    const node& n = g[i];
    std::string s{name_of(n.kind)};
    const auto option = [&s](const std::string& o) { s += "<" + o + ">"; };
    const bool combines = n.kind == op::all_reduce || n.kind == op::reduce_scatter || n.kind == op::reduce_to_root;
    if (is_reduction(n.kind) || combines) { option(std::string{name_of(n.attrs.combine)}); }
    const bool has_axis = n.kind == op::reduce_scatter || n.kind == op::scatter || n.kind == op::slice ||
                          n.kind == op::all_to_all ||
                          (n.kind == op::reduce && n.attrs.axis != attributes::all_axes);
    if (has_axis) { option("axis " + std::to_string(n.attrs.axis)); }
    const bool rooted = n.kind == op::reduce_to_root || n.kind == op::broadcast || n.kind == op::gather ||
                        n.kind == op::scatter;
    if (rooted) { option("root " + std::to_string(n.attrs.a)); }
    s += "(";
    for (int a = 0; a < n.n_args; ++a) { s += (a > 0 ? ", " : "") + operand_text(g, n.args[a]); }
    return s + ")";
}

template <class Graph>
std::string type_text(const Graph& g, int i)
{
    message m;
    type_to(m, g.type_of(i));
    return std::string{m.view()};
}

}  // namespace detail

/// The graph as text, one node a line: number, operation, type, label.
template <int N, int S, int O>
std::string print(const graph<N, S, O>& g)
{
    std::string s = "program \"" + std::string{g.name.view()} + "\"\n";
    for (int i = 0; i < g.size; ++i) {
        const node& n = g[i];
        if (n.kind == op::tensor || n.kind == op::scalar) {
            s += "  " + std::string{name_of(n.kind)} + " " + detail::operand_text(g, i) + " : " + detail::type_text(g, i) + "\n";
        }
    }
    for (int i = 0; i < g.size; ++i) {
        const node& n = g[i];
        if (is_leaf(n.kind)) { continue; }
        s += "  %" + std::to_string(i) + " = " + detail::operation_text(g, i) + " : " + detail::type_text(g, i);
        if (n.label >= 0) { s += "  \"" + std::string{g.text(n.label)} + "\""; }
        if (n.fused) { s += "  fused"; }
        if (n.overlap != 0) { s += joined({"  overlapped ", n.overlap}); }
        s += "\n";
    }
    return s;
}

}  // namespace plait
