// fuse: collectives run inside the kernels of the computations next to them (CoCoNeT's fuse).
#pragma once

#include <plait/schedule/pass.hpp>

#include <initializer_list>
#include <string_view>

namespace plait {
namespace detail {

/// A node that is computed element by element, inside a kernel.
constexpr bool is_computation(const node& n) { return is_elementwise(n.kind) || is_reduction(n.kind); }

/// Whether collective i has a computation next to it: one that consumes what it brings, or makes what it takes away.
template <class Graph>
constexpr bool can_fuse(const Graph& g, int i)
{
    const node& n = g[i];
    if (!is_collective(n.kind) || n.kind == op::all_to_all) { return false; }
    const bool takes_away = n.kind == op::all_gather || n.kind == op::gather || n.kind == op::send;
    if (takes_away) {
        const node& made = g[n.args[0]];
        return is_elementwise(made.kind) || (made.kind == op::reduce_scatter && made.fused);
    }
    for (int j = i + 1; j < g.size; ++j) {
        for (int a = 0; a < g[j].n_args; ++a) {
            if (g[j].args[a] == i && is_computation(g[j])) { return true; }
        }
    }
    return false;
}

/// @post fused kernels have no unfused stage in between. Only what is labelled can be refused: `fuse` alone fuses what
/// it can.
template <class Graph>
constexpr void check_between(scheduled<Graph>& result)
{
    const Graph& g = result.g;
    int after[Graph::node_capacity]{};  // 0: not after a fused collective; 1: after one; 2: and after another stage
    for (int i = 0; i < g.size; ++i) {
        for (int a = 0; a < g[i].n_args; ++a) {
            if (after[g[i].args[a]] > after[i]) { after[i] = after[g[i].args[a]]; }
        }
        const bool stage =
            (is_collective(g[i].kind) && !g[i].fused) || is_contraction(g[i].kind);
        if (g[i].fused && after[i] == 2) {
            message m;
            m << g.type_of(i) << ": fused after a stage that depends on what is fused with it";
            result.refuse(rule::fuse_between, m);
        }
        if (g[i].fused && after[i] == 0) { after[i] = 1; }
        if (stage && after[i] == 1) { after[i] = 2; }
    }
}

template <class Graph>
constexpr scheduled<Graph> fuse_all(const Graph& old)
{
    scheduled<Graph> result;
    result.g = old;
    bool any = false;
    for (int i = 0; i < old.size; ++i) {
        result.g[i].fused = old[i].fused || can_fuse(result.g, i);  // a gather may join what was fused before
        any = any || result.g[i].fused;
    }
    message m;
    if (!any) { result.refuse(rule::fuse_target, m << "program \"" << old.name.view() << "\": fuse"); }
    return result;
}

template <class Graph>
constexpr void fuse_label(scheduled<Graph>& result, std::string_view label)
{
    Graph& g = result.g;
    bool found = false;
    bool fused = false;
    for (int i = 0; i < g.size; ++i) {
        if (g[i].label < 0 || g.text(g[i].label) != label) { continue; }
        found = true;
        g[i].fused = g[i].fused || can_fuse(g, i);
        fused = fused || g[i].fused;
    }
    message m;
    m << "\"" << label << "\": fuse in program \"" << g.name.view() << "\"";
    if (!found) { result.refuse(rule::unknown_label, m); }
    if (!fused) { result.refuse(rule::fuse_target, m); }
    // The small all_reduces that reductions gained belong to the kernels that they lie between.
    for (int i = 0; i < g.size && fused; ++i) {
        const bool of_a_reduction = g[i].kind == op::all_reduce && g[i].label < 0 && is_reduction(g[g[i].args[0]].kind);
        if (of_a_reduction) { g[i].fused = can_fuse(g, i); }
    }
}

/// fuse_only: of the collectives with these labels.
template <class Graph>
constexpr scheduled<Graph> fuse_labelled(const Graph& old, std::initializer_list<std::string_view> labels)
{
    scheduled<Graph> result;
    result.g = old;
    for (std::string_view label : labels) { fuse_label(result, label); }
    check_between(result);
    return result;
}

}  // namespace detail

/// The transformations `fuse` (no labels) and `fuse_only`.
template <fixed_string... Labels>
struct fuse_t : pass_base {
    template <class Graph>
    static constexpr scheduled<Graph> apply(const Graph& g)
    {
        if constexpr (sizeof...(Labels) == 0) {
            return detail::fuse_all(g);
        } else {
            return detail::fuse_labelled(g, {Labels.view()...});
        }
    }
};

/// Runs every collective that has a computation next to it inside that computation's kernel.
inline constexpr fuse_t<> fuse{};
/// The same for the collectives with these labels, e.g. the reduce_scatter and all_gathers that split made.
template <fixed_string... Labels>
inline constexpr fuse_t<Labels...> fuse_only{};

}  // namespace plait
