// A lowered program as data: what the runtime, which is no template of the program, works on.
#pragma once

#include <plait/plan/kernel_of.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace plait {

/// The body of a pass over one contiguous run of elements.
using tile_function = void (*)(const kernels::tile_pointers&, std::size_t);

/// A lowered program: its graph, plan and kernels by address.
struct program_image {
    std::string_view name;
    std::span<const node> nodes;
    std::span<const fixed_string> symbols;
    const program_plan* plan = nullptr;
    std::span<const tile_function> kernels;
    std::uint64_t hash = 0;  // of the graph: equal programs on all ranks have equal hashes

    [[nodiscard]] std::string_view text(int symbol) const { return symbols[static_cast<std::size_t>(symbol)].view(); }
    [[nodiscard]] const node& node_of(int i) const { return nodes[static_cast<std::size_t>(i)]; }
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
        h = mix(mix(mix(h, n.attrs), n.bits), static_cast<std::uint64_t>(n.name));
        h = mix(h, n.fused ? 1 : 0);
        for (int a = 0; a < n.n_args; ++a) { h = mix(h, static_cast<std::uint64_t>(n.args[a])); }
        for (int d = 0; d < n.dims; ++d) { h = mix(h, static_cast<std::uint64_t>(n.shape[d])); }
    }
    for (int o = 0; o < g.n_outputs; ++o) { h = mix(h, static_cast<std::uint64_t>(g.outputs[o])); }
    return h;
}

template <class Lowered>
struct image_parts {
    static constexpr std::uint64_t hash = hash_of(Lowered::graph);
    static constexpr auto kernels = []<int... P>(std::integer_sequence<int, P...>) {
        return std::array<tile_function, sizeof...(P)>{&kernel_of<Lowered, P>::run...};
    }(std::make_integer_sequence<int, Lowered::plan.n_passes>{});
};

}  // namespace detail

/// The image of a program; it refers to constants and may be copied.
template <class Program>
program_image image_of()
{
    using l = lowered<Program>;
    using parts = detail::image_parts<l>;
    program_image image;
    image.name = l::graph.name.view();
    image.nodes = {l::graph.nodes, static_cast<std::size_t>(l::graph.size)};
    image.symbols = {l::graph.symbols, static_cast<std::size_t>(l::graph.n_symbols)};
    image.plan = &l::plan;
    image.kernels = parts::kernels;
    image.hash = parts::hash;
    return image;
}

}  // namespace plait
