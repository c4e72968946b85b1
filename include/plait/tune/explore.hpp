// explore: every distinct valid schedule of a program (the search space of CoCoNeT's autotuner).
#pragma once

#include <plait/plan/lowered.hpp>
#include <plait/schedule/as_slice.hpp>
#include <plait/schedule/fuse.hpp>
#include <plait/schedule/overlap.hpp>
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
template <class Explored, class... Programs>
struct schedules {
    /// How many they are.
    static constexpr int size = static_cast<int>(sizeof...(Programs));

    /// How schedule i was made; "unscheduled" for the program itself.
    [[nodiscard]] static constexpr std::string_view how(int i) { return Explored::how(i); }

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

/// What explore is limited to: a constexpr predicate over how a schedule is made. What a predicate leaves out is not gone
/// on from either.
struct every_schedule {
    constexpr bool operator()(std::string_view /*how*/) const { return true; }
};
/// Schedules that are bound to the same buffers as the program: without as_slice.
struct same_storage_t {
    constexpr bool operator()(std::string_view how) const { return how.find("as_slice") == std::string_view::npos; }
};
inline constexpr same_storage_t same_storage{};
/// The first N schedules, fewest transformations first, of those that `Keep` keeps.
template <int N, class Keep = every_schedule>
struct first_schedules : Keep {
    static constexpr int most = N;
};
/// `explore(program, first<8>(same_storage))`.
template <int N, class Keep = every_schedule>
constexpr first_schedules<N, Keep> first(Keep = {})
{
    return {};
}

namespace detail {

/// How many schedules a predicate lets through, if it says so.
template <class Keep>
constexpr int most_of()
{
    if constexpr (requires { Keep::most; }) {
        return Keep::most;
    } else {
        return -1;
    }
}

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
        h = mix(h, static_cast<std::uint64_t>(n.overlap));
        h = mix(hash(g.text(n.name), h), static_cast<std::uint64_t>(n.group));
        for (int a = 0; a < n.n_args; ++a) { h = mix(h, of[n.args[a]]); }
        of[i] = h;
    }
    std::uint64_t h = 0;
    for (int o = 0; o < g.n_outputs; ++o) { h = mix(h, of[g.outputs[o]]); }
    return h;
}

/// Breadth-first search over all transformations. To a fused schedule only overlap is done, to an overlapped one nothing:
/// what else could be done to them can be done before. Whether the stages of an overlapped one can work chunk by chunk is not
/// known before it is lowered.
template <class Graph, int Max, class Keep>
struct exploration {
    static constexpr int node_capacity = Graph::node_capacity * 2 + 8;
    using graph_type = graph<node_capacity, Graph::symbol_capacity, Graph::output_capacity>;
    struct schedule {
        graph_type g{};
        message how{};
        std::uint64_t hash = 0;
        bool fused = false;
        bool overlapped = false;
    };
    schedule found[Max]{};
    int size = 0;
    bool overflow = false;

    constexpr explicit exploration(const Graph& start)
    {
        add(start, {}, "unscheduled", {});
        for (int i = 0; i < size; ++i) {
            if (found[i].overlapped) { continue; }
            if (!found[i].fused) { expand(i); }
            overlap_stages(i);
        }
    }

  private:
    template <class G>
    constexpr void add(const G& candidate, const message& before, std::string_view step, const schedule& like)
    {
        message how = before;
        how << (before.size() == 0 ? "" : " | ") << step;
        if (size > 0 && !Keep{}(how.view())) { return; }
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
        s.how = how;
        s.hash = h;
        s.fused = like.fused;
        s.overlapped = like.overlapped;
    }
    template <class Result>
    constexpr void add_if_valid(const Result& r, int from, std::string_view name, std::string_view argument, const schedule& like)
    {
        if (r.violated != rule::none) { return; }
        message step;
        step << name;
        if (!argument.empty()) { step << "<" << argument << ">"; }
        add(pruned(r.g), from == 0 ? message{} : found[from].how, step.view(), like);
    }

    constexpr void expand(int from)
    {
        const graph_type g = found[from].g;
        schedule fused;
        fused.fused = true;
        for (int i = 0; i < g.size; ++i) {
            const node& n = g[i];
            const std::string_view label = g.text(n.label);
            if (n.label >= 0 && can_split(n)) {
                for (int axis = 0; axis < n.dims; ++axis) {
                    message argument;
                    argument << label;
                    if (axis > 0) { argument << ", " << axis; }
                    add_if_valid(split_graph(g, label, axis), from, "split", argument.view(), {});
                }
            }
            if (n.label >= 0 && is_first(g, i, can_reorder)) {
                add_if_valid(reorder_graph(g, label), from, "reorder", label, {});
            }
            if (n.kind == op::tensor && n.layout == layout_kind::replicated && n.dims > 0) {
                add_if_valid(as_slice_graph(g, g.text(n.name)), from, "as_slice", g.text(n.name), {});
            }
        }
        add_if_valid(fuse_all(g), from, "fuse", {}, fused);
        for (int i = 0; i < g.size; ++i) {
            if (g[i].label < 0 || !is_first(g, i, is_collective)) { continue; }
            add_if_valid(fuse_labelled(g, {g.text(g[i].label)}), from, "fuse_only", g.text(g[i].label), fused);
        }
    }
    /// Pipelines of two or more labelled stages that follow each other, where something is long enough to hide behind: a
    /// contraction or a send.
    constexpr void overlap_stages(int from)
    {
        constexpr int room = 16;
        const graph_type g = found[from].g;
        std::string_view labels[room];
        int n = 0;
        bool worth = false;
        for (int i = 0; i < g.size && n < room; ++i) {
            if (g[i].label < 0 || !(is_contraction(g[i].kind) || is_collective(g[i].kind))) { continue; }
            worth = worth || is_contraction(g[i].kind) || g[i].kind == op::send;
            bool is_new = true;
            for (int k = 0; k < n; ++k) { is_new = is_new && labels[k] != g.text(g[i].label); }
            if (is_new) { labels[n++] = g.text(g[i].label); }
        }
        schedule overlapped = found[from];
        overlapped.overlapped = true;
        for (int begin = 0; worth && begin < n; ++begin) {
            for (int end = begin + 2; end <= n; ++end) { overlap_labels(from, g, labels + begin, end - begin, overlapped); }
        }
    }
    constexpr void overlap_labels(int from, const graph_type& g, const std::string_view* labels, int n, const schedule& like)
    {
        message argument;
        scheduled<graph_type> r;
        r.g = g;
        for (int k = 0; k < n; ++k) {
            argument << (k > 0 ? ", " : "") << labels[k];
            for (int i = 0; i < g.size; ++i) {
                if (g[i].label >= 0 && g.text(g[i].label) == labels[k]) { r.g[i].overlap = 1; }
            }
        }
        add_if_valid(r, from, "overlap", argument.view(), like);
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

template <auto Graph, int Max, class Keep>
struct explored {
    static constexpr exploration<std::remove_cvref_t<decltype(Graph)>, 2 * Max + 16, Keep> result{Graph};

    template <int I>
    static constexpr auto cut_to_size()
    {
        constexpr auto& g = result.found[I].g;
        return program_t<g.template resized<g.size, g.n_symbols + 1, g.n_outputs>()>{};
    }
    template <int I>
    static constexpr bool is_valid()
    {
        if constexpr (result.found[I].overlapped) {
            return planned<decltype(cut_to_size<I>())::graph>::value.violated == rule::none;
        } else {
            return true;
        }
    }
    /// The valid ones, by their place in the search: at most as many as are wanted.
    struct choice {
        int of[2 * Max + 16]{};
        int size = 0;
    };
    template <int... I>
    static constexpr choice choose(std::integer_sequence<int, I...>)
    {
        constexpr int most = most_of<Keep>();
        choice c;
        ((is_valid<I>() && c.size != most ? void(c.of[c.size++] = I) : void()), ...);
        return c;
    }
    static constexpr choice chosen = choose(std::make_integer_sequence<int, result.size>{});
    static_assert(!result.overflow && chosen.size <= Max, "plait: explore<Max>: the program has more than Max schedules; give a larger Max");

    [[nodiscard]] static constexpr std::string_view how(int i) { return result.found[chosen.of[i]].how.view(); }
    template <int... I>
    static schedules<explored, decltype(cut_to_size<chosen.of[I]>())...> all(std::integer_sequence<int, I...>);
    using type = decltype(all(std::make_integer_sequence<int, chosen.size>{}));
};

}  // namespace detail

/// Every distinct valid schedule of a program that split, reorder, as_slice, fuse and overlap can make of it, equal graphs
/// once; a compile error if there are more than `Max`. Schedules that differ in as_slice are bound to other buffers.
/// `keep` limits the search: same_storage, first<N>(...), or a lambda without captures over the text of how a schedule is
/// made, such as "split<sum> | reorder<sum> | fuse".
template <int Max = 64, auto Graph, class Keep = every_schedule>
constexpr typename detail::explored<Graph, Max, Keep>::type explore(program_t<Graph>, Keep = {})
{
    return {};
}
/// What is refused stays that: there is one error.
template <int Max = 64, detail::refused_expression Refused, class Keep = every_schedule>
constexpr Refused explore(Refused r, Keep = {})
{
    return r;
}

}  // namespace plait
