// A lowered program: as a type, with its plan at compile time, and as the data that the runtime works on.
#pragma once

#include <plait/core/view.hpp>
#include <plait/graph/program.hpp>
#include <plait/plan/make_plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace plait {

namespace detail {

/// The plan of a graph, in a type that has just the room for it.
template <auto Graph, int Scale = 1>
struct planned {
    using graph_type = std::remove_cvref_t<decltype(Graph)>;
    static constexpr auto roomy_plan = [] {
        planner<graph_type, Scale> p{Graph};
        p.run();
        return p.plan;
    }();
    static consteval auto pick()
    {
        if constexpr (roomy_plan.overflow) {
            return planned<Graph, Scale * 4>::value;
        } else {
            constexpr auto room = [](int count) { return count > 0 ? count : 1; };
            using exact = program_plan<room(roomy_plan.n_slots), room(roomy_plan.n_passes), room(roomy_plan.n_operands),
                                       room(roomy_plan.n_steps), room(roomy_plan.n_results)>;
            return roomy_plan.template cut<exact>();
        }
    }
    static constexpr auto value = pick();
};

template <int S, int P, int O, int T, int R>
constexpr std::array<pass_view, static_cast<std::size_t>(P)> views_of(const program_plan<S, P, O, T, R>& plan)
{
    std::array<pass_view, static_cast<std::size_t>(P)> views;
    for (int i = 0; i < plan.n_passes; ++i) {
        const pass_plan& p = plan.passes[i];
        pass_view& v = views[static_cast<std::size_t>(i)];
        v.kind = p.kind;
        v.space = p.space;
        v.slice_dim = p.slice_dim;
        v.group = p.group;
        v.barrier_before = p.barrier_before;
        v.fused = p.fused;
        v.chunked_until = p.chunked_until;
        v.chunk_dims = p.chunk_dims;
        v.operands = {plan.operands + p.operands.first, static_cast<std::size_t>(p.operands.count)};
        v.steps = {plan.steps + p.steps.first, static_cast<std::size_t>(p.steps.count)};
        v.results = {plan.results + p.results.first, static_cast<std::size_t>(p.results.count)};
    }
    return views;
}

}  // namespace detail

/// A program lowered for the host: its graph, its plan and when each node runs.
template <class Program>
struct lowered {
    using graph_type = std::remove_cvref_t<decltype(Program::graph)>;
    static constexpr graph_type graph = Program::graph;
    static constexpr detail::levels<graph_type> when{graph};
    static constexpr const auto& plan = detail::planned<graph>::value;
    static constexpr auto passes = detail::views_of(plan);
    static constexpr plan_view view{{plan.slots, static_cast<std::size_t>(plan.n_slots)}, passes, plan.barrier_after};
};

/// A lowered program as data: what the runtime, which is no template of the program, works on.
struct program_image {
    std::string_view name;
    view<const node> nodes;
    view<const fixed_string> symbols;
    plan_view plan{};
    std::uint64_t hash = 0;  // of the graph: equal programs on all ranks have equal hashes
    int groups = 1;          // pipeline groups, numbered from 0

    [[nodiscard]] constexpr std::string_view text(int symbol) const { return symbols[static_cast<std::size_t>(symbol)].view(); }
    /// The number of a name, or -1.
    [[nodiscard]] constexpr int symbol(std::string_view wanted) const
    {
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            if (symbols[i].view() == wanted) { return static_cast<int>(i); }
        }
        return -1;
    }
    [[nodiscard]] constexpr const node& node_of(int i) const { return nodes[static_cast<std::size_t>(i)]; }
    [[nodiscard]] constexpr const slot& slot_of(int s) const { return plan.slots[static_cast<std::size_t>(s)]; }
    [[nodiscard]] constexpr int n_slots() const { return static_cast<int>(plan.slots.size()); }
    /// The node whose shape, layout and dtype slot s has.
    [[nodiscard]] constexpr const node& slot_node(int s) const { return node_of(plan.slots[static_cast<std::size_t>(s)].node); }
};

namespace detail {

template <class Graph>
constexpr std::uint64_t hash_of(const Graph& g)
{
    std::uint64_t h = hash(g.name.view());
    for (int i = 0; i < g.n_symbols; ++i) { h = mix(hash(g.symbols[i].view(), h), 1); }
    for (int i = 0; i < g.size; ++i) {
        const node& n = g[i];
        h = mix(mix(h, static_cast<std::uint64_t>(n.kind)), static_cast<std::uint64_t>(n.type));
        h = mix(mix(h, static_cast<std::uint64_t>(n.layout)), static_cast<std::uint64_t>(n.slice_dim));
        h = mix(h, static_cast<std::uint64_t>(n.group));
        h = mix(mix(mix(h, n.attrs), n.bits), static_cast<std::uint64_t>(n.name));
        h = mix(mix(h, n.fused ? 1 : 0), static_cast<std::uint64_t>(n.overlap));
        for (int a = 0; a < n.n_args; ++a) { h = mix(h, static_cast<std::uint64_t>(n.args[a])); }
        for (int d = 0; d < n.dims; ++d) { h = mix(h, static_cast<std::uint64_t>(n.shape[d])); }
    }
    for (int o = 0; o < g.n_outputs; ++o) { h = mix(h, static_cast<std::uint64_t>(g.outputs[o])); }
    return h;
}

template <class Lowered>
inline constexpr std::uint64_t program_hash = hash_of(Lowered::graph);

}  // namespace detail

/// The image of a lowered program; it refers to constants and may be copied.
template <class Lowered>
constexpr program_image image_of()
{
    program_image image;
    image.name = Lowered::graph.name.view();
    image.nodes = {Lowered::graph.nodes, static_cast<std::size_t>(Lowered::graph.size)};
    image.symbols = {Lowered::graph.symbols, static_cast<std::size_t>(Lowered::graph.n_symbols)};
    image.plan = Lowered::view;
    image.hash = detail::program_hash<Lowered>;
    for (const node& n : image.nodes) { image.groups = std::max(image.groups, n.group + 1); }
    return image;
}

}  // namespace plait
