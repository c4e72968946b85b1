// explore: every distinct valid schedule of a program (the search space of CoCoNeT's autotuner).
#pragma once

#include <plait/schedule/as_slice.hpp>
#include <plait/schedule/fuse.hpp>
#include <plait/schedule/reorder.hpp>
#include <plait/schedule/split.hpp>

#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace plait {

/// Schedules of one program, each with the transformations that made it: "split<avg> | reorder<avg> | fuse". The
/// unscheduled program is the first.
template <auto Exploration, class... Programs>
struct schedules {
    /// How many they are.
    static constexpr int size = static_cast<int>(sizeof...(Programs));

    /// How schedule i was made; "unscheduled" for the program itself.
    [[nodiscard]] static constexpr std::string_view how(int i) { return Exploration->found[i].how.view(); }

    /// Schedule I.
    template <int I>
    [[nodiscard]] static constexpr auto get()
    {
        return std::get<I>(std::tuple<Programs...>{});
    }

    /// Calls f(program, how) for each schedule, fewest transformations first.
    template <class F>
    static constexpr void for_each(F&& f)
    {
        [&]<int... I>(std::integer_sequence<int, I...>) { (f(Programs{}, how(I)), ...); }
        (std::make_integer_sequence<int, size>{});
    }
};

namespace detail {

/// What a graph computes and how, whatever the order of its nodes.
template <class Graph>
constexpr std::uint64_t schedule_hash(const Graph& g)
{
    std::uint64_t of[Graph::node_capacity]{};
    for (int i = 0; i < g.size; ++i) {
        const node& n = g[i];
        std::uint64_t h = mix(static_cast<std::uint64_t>(n.kind), n.attrs);
        h = mix(mix(h, static_cast<std::uint64_t>(n.layout)), static_cast<std::uint64_t>(n.slice_dim));
        h = mix(mix(mix(h, static_cast<std::uint64_t>(n.type)), n.bits), n.fused ? 1 : 0);
        h = mix(hash(g.text(n.name), h), static_cast<std::uint64_t>(n.group));
        for (int a = 0; a < n.n_args; ++a) { h = mix(h, of[n.args[a]]); }
        of[i] = h;
    }
    std::uint64_t h = 0;
    for (int o = 0; o < g.n_outputs; ++o) { h = mix(h, of[g.outputs[o]]); }
    return h;
}

/// Breadth-first search over all transformations. A fused schedule is final: what else could be done to it can be done
/// before.
template <class Graph, int Max>
struct exploration {
    static constexpr int node_capacity = Graph::node_capacity * 2 + 8;
    using graph_type = graph<node_capacity, Graph::symbol_capacity, Graph::output_capacity>;
    struct schedule {
        graph_type g{};
        message how{};
        std::uint64_t hash = 0;
        bool final = false;
    };
    schedule found[Max]{};
    int size = 0;
    bool overflow = false;

    constexpr explicit exploration(const Graph& start)
    {
        add(start, {}, "unscheduled", false);
        for (int i = 0; i < size; ++i) {
            if (!found[i].final) { expand(i); }
        }
    }

  private:
    template <class G>
    constexpr void add(const G& candidate, const message& before, std::string_view step, bool final)
    {
        if (candidate.size > node_capacity) {
            overflow = true;
            return;
        }
        const std::uint64_t h = schedule_hash(candidate);
        for (int i = 0; i < size; ++i) {
            if (found[i].hash == h) { return; }
        }
        if (size == Max) {
            overflow = true;
            return;
        }
        schedule& s = found[size++];
        s.g = candidate.template resized<node_capacity, Graph::symbol_capacity, Graph::output_capacity>();
        s.how = before;
        s.how << (before.size() == 0 ? "" : " | ") << step;
        s.hash = h;
        s.final = final;
    }
    template <class Result>
    constexpr void add_if_valid(const Result& r, int from, std::string_view name, std::string_view argument, bool final)
    {
        if (r.violated != rule::none) { return; }
        message step;
        step << name;
        if (!argument.empty()) { step << "<" << argument << ">"; }
        add(pruned(r.g), from == 0 ? message{} : found[from].how, step.view(), final);
    }

    constexpr void expand(int from)
    {
        const graph_type g = found[from].g;
        for (int i = 0; i < g.size; ++i) {
            const node& n = g[i];
            const std::string_view label = g.text(n.label);
            if (n.label >= 0 && can_split(n)) {
                for (int axis = 0; axis < n.dims; ++axis) {
                    message argument;
                    argument << label;
                    if (axis > 0) { argument << ", " << axis; }
                    add_if_valid(split_graph(g, label, axis), from, "split", argument.view(), false);
                }
            }
            if (n.label >= 0 && is_first(g, i, can_reorder)) {
                add_if_valid(reorder_graph(g, label), from, "reorder", label, false);
            }
            if (n.kind == op::tensor && n.layout == layout_kind::replicated && n.dims > 0) {
                add_if_valid(as_slice_graph(g, g.text(n.name)), from, "as_slice", g.text(n.name), false);
            }
        }
        add_if_valid(fuse_all(g), from, "fuse", {}, true);
        for (int i = 0; i < g.size; ++i) {
            if (g[i].label < 0 || !is_first(g, i, is_collective)) { continue; }
            add_if_valid(fuse_labelled(g, {g.text(g[i].label)}), from, "fuse_only", g.text(g[i].label), true);
        }
    }
    /// Whether node i is the first one with its label whose kind can be transformed.
    template <class Can>
    static constexpr bool is_first(const graph_type& g, int i, Can&& can)
    {
        for (int j = 0; j < i; ++j) {
            if (g[j].label == g[i].label && can(g[j].kind)) { return false; }
        }
        return can(g[i].kind);
    }
};

template <auto Graph, int Max>
struct explored {
    static constexpr exploration<std::remove_cvref_t<decltype(Graph)>, Max> result{Graph};
    static_assert(!result.overflow, "plait: explore<Max>: the program has more than Max schedules; give a larger Max");

    template <int I>
    static constexpr auto cut_to_size()
    {
        constexpr auto& g = result.found[I].g;
        return program_t<g.template resized<g.size, g.n_symbols + 1, g.n_outputs>()>{};
    }
    template <int... I>
    static schedules<&result, decltype(cut_to_size<I>())...> all(std::integer_sequence<int, I...>);
    using type = decltype(all(std::make_integer_sequence<int, result.size>{}));
};

}  // namespace detail

/// Every distinct valid schedule of a program that split, reorder, as_slice and fuse can make of it, equal graphs once;
/// a compile error if there are more than `Max`. Schedules that differ in as_slice are bound to other buffers.
template <int Max = 64, auto Graph>
constexpr typename detail::explored<Graph, Max>::type explore(program_t<Graph>)
{
    return {};
}
/// What is refused stays that: there is one error.
template <int Max = 64, detail::refused_expression Refused>
constexpr Refused explore(Refused r)
{
    return r;
}

}  // namespace plait
