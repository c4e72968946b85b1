// as_slice: a replicated tensor of which only slices are used is stored sliced (CoCoNeT's asSlice).
#pragma once

#include <plait/schedule/slicer.hpp>

#include <string_view>

namespace plait {
namespace detail {

/// The dimension along which the program uses slices of tensor node t, or -1.
template <class Graph>
constexpr int slice_dim_in_use(const Graph& g, int t)
{
    for (int i = 0; i < g.size; ++i) {
        const node& n = g[i];
        for (int a = 0; a < n.n_args; ++a) {
            if (n.args[a] != t) { continue; }
            if (n.kind == op::update && a == 0 && g[n.args[1]].kind == op::all_gather) {
                return g[g[n.args[1]].args[0]].slice_dim;
            }
            const int dim = n.slice_dim - (n.dims - g[t].dims);
            const bool sliced = n.layout == layout_kind::sliced && n.kind != op::update;
            if (sliced && dim >= 0) { return dim; }
        }
    }
    return -1;
}

/// @pre `name` is a replicated tensor of which only slices along one dimension are used.
/// @post its storage is sliced: each rank binds its own part, and the all_gather that kept it whole is gone.
template <class Graph>
constexpr scheduled<roomy<Graph>> as_slice_graph(const Graph& old, std::string_view name)
{
    slicer<Graph> s{old};
    const int t = old.tensor(name);
    message what;
    what << "\"" << name << "\": as_slice";
    if (t < 0) { return s.result.refuse(rule::as_slice_target, what << ": no such tensor in \"" << old.name.view() << "\""); }
    what << " of " << old.type_of(t);
    if (old[t].layout != layout_kind::replicated || old[t].dims == 0) {
        return s.result.refuse(rule::as_slice_target, what);
    }
    const int dim = slice_dim_in_use(old, t);
    if (dim < 0) { return s.result.refuse(rule::as_slice_whole, what << ": no slice of it is used"); }
    s.collective.kind = op::tensor;
    for (int i = 0; i < old.size; ++i) {
        const node& n = old[i];
        if (i == t) {
            node sliced = n;
            sliced.layout = layout_kind::sliced;
            sliced.slice_dim = dim;
            s.early[i] = s.g().add(sliced);
        } else if (n.kind == op::update && n.args[0] == t) {
            const int value = n.args[1];
            attributes along;
            along.axis = dim;
            const bool joined = old[value].kind == op::all_gather && s.early[value] < 0;
            const int slices = joined                ? s.whole[old[value].args[0]]
                               : s.early[value] >= 0 ? s.early[value]
                                                     : s.g().add_op(op::slice, along, s.need_whole(value));
            const int args[max_args] = {s.early[t], slices, -1};
            const inferred type = s.g().try_infer(n, args);
            if (!type.ok()) { return s.result.refuse(rule::as_slice_whole, what << ": its update is not a slice of it"); }
            s.early[i] = s.whole[i] = s.g().add_like(n, args, type.type);
        } else if (!s.has_early_operand(n)) {
            s.keep(i);
        } else if (n.kind == op::update || !s.advance(i)) {
            return s.result.refuse(rule::as_slice_whole, what << ": read whole by " << name_of(n.kind));
        }
    }
    s.finish();
    return s.result;
}

}  // namespace detail

/// The transformation `as_slice`.
template <fixed_string... Names>
struct as_slice_t : pass_base {
    template <class Graph>
    static constexpr auto apply(const Graph& old)
    {
        if constexpr (sizeof...(Names) == 1) {
            return detail::as_slice_graph(old, Names.view()...);
        } else {  // a program may grow by each
            using larger = detail::roomy<Graph>;
            constexpr auto fitted = [](const auto& g) {
                return g.template resized<larger::node_capacity, larger::symbol_capacity, larger::output_capacity>();
            };
            scheduled<detail::roomy<larger>> result;
            larger g = fitted(old);
            const auto one = [&](std::string_view name) {
                if (result.violated != rule::none) { return; }
                result = detail::as_slice_graph(g, name);
                if (result.violated == rule::none) {
                    result.g = pruned(result.g);
                    g = fitted(result.g);
                }
            };
            (one(Names.view()), ...);
            return result;
        }
    }
};

/// Stores the named replicated tensors sliced: a rank's buffer holds its part alone. For optimizer state after
/// reorder, whose whole value no rank needs.
template <fixed_string... Names>
inline constexpr as_slice_t<Names...> as_slice{};

}  // namespace plait
