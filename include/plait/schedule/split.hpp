// split: one collective becomes two that move slices (CoCoNeT's split).
#pragma once

#include <plait/schedule/pass.hpp>

#include <string_view>

namespace plait {
namespace detail {

constexpr bool can_split(const node& n)
{
    return (n.kind == op::all_reduce || n.kind == op::reduce_to_root || n.kind == op::broadcast) && n.dims > 0;
}

/// @pre `label` names an all_reduce, reduce or broadcast of a value with dimensions; axis is one of them.
/// @post the same program, with that collective in two, both labelled.
template <class Graph>
constexpr scheduled<roomy<Graph>> split_graph(const Graph& old, std::string_view label, int axis)
{
    scheduled<roomy<Graph>> result;
    auto& g = result.g;
    g = emptied(old);
    const int target = old.labelled(label);
    message what;
    what << "\"" << label << "\": split";
    if (target < 0) { return result.refuse(rule::unknown_label, what << " in program \"" << old.name.view() << "\""); }
    what << " of " << old.type_of(target);
    if (!can_split(old[target])) { return result.refuse(rule::split_target, what << " made by " << name_of(old[target].kind)); }
    if (axis < 0) { axis += old[target].dims; }
    if (axis < 0 || axis >= old[target].dims) { return result.refuse(rule::axis, what << " along axis " << axis); }
    int to[Graph::node_capacity]{};
    for (int i = 0; i < old.size; ++i) {
        const node n = moved(old, i, to);
        if (i != target) {
            to[i] = g.add(n);
            continue;
        }
        attributes first = n.attrs;
        first.axis = axis;
        attributes second;
        second.a = n.attrs.a;  // the root
        const bool scatters = n.kind == op::broadcast;
        const int sliced = g.add_op(scatters ? op::scatter : op::reduce_scatter, first, n.args[0], n.label);
        const op join = n.kind == op::reduce_to_root ? op::gather : op::all_gather;
        to[i] = g.add_op(join, second, sliced, n.label);
    }
    for (int o = 0; o < g.n_outputs; ++o) { g.outputs[o] = to[old.outputs[o]]; }
    return result;
}

}  // namespace detail

/// The transformation `split`.
template <fixed_string Label, int Axis>
struct split_t : pass_base {
    template <class Graph>
    static constexpr auto apply(const Graph& g) { return detail::split_graph(g, Label.view(), Axis); }
};

/// Splits a labelled collective so that computations can move in between:
/// all_reduce -> reduce_scatter, all_gather; reduce -> reduce_scatter, gather; broadcast -> scatter, all_gather.
/// The slices run along dimension `Axis`.
template <fixed_string Label, int Axis = 0>
inline constexpr split_t<Label, Axis> split{};

}  // namespace plait
