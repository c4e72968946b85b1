// From a pass of a plan to the type of its kernel: types and integers only.
#pragma once

#include <plait/kernels/tile.hpp>
#include <plait/plan/lowered.hpp>

namespace plait {
namespace detail {

/// Values of a pass by number: operands first, then steps.
template <class Graph>
constexpr int value_number(const Graph&, const pass_plan& p, const int* value_of, int node_index)
{
    const int v = value_of[node_index];
    for (int s = 0; s < p.n_steps; ++s) {
        if (p.steps[s] == v) { return p.n_operands + s; }
    }
    for (int o = 0; o < p.n_operands; ++o) {
        if (p.operands[o].node == v && p.operands[o].from != source::mask) { return o; }
    }
    return -1;
}

struct step_numbers {
    op kind = op::cast;
    dtype type = dtype::f32;
    dtype operands = dtype::f32;
    int a = -1;
    int b = -1;
    int c = -1;
    int contracts = 0;
};

template <class Graph>
constexpr step_numbers number_step(const Graph& g, const pass_plan& p, const levels<Graph>& when, int s)
{
    const int v = p.steps[s];
    const node& n = g[v];
    const auto number = [&](int i) { return value_number(g, p, when.value, i); };
    step_numbers k;
    k.kind = n.kind;
    k.type = k.operands = n.type;
    if (n.contracts != 0) {
        const node& product = g[n.args[n.contracts - 1]];
        k.a = number(product.args[0]);
        k.b = number(product.args[1]);
        k.c = number(n.args[2 - n.contracts]);
        k.contracts = n.contracts;
        return k;
    }
    if (n.kind == op::update) {
        k.a = number(n.args[1]);
        k.operands = g[n.args[1]].type;
        return k;
    }
    if (n.kind == op::dropout) {
        k.a = number(n.args[0]);
        k.b = number(n.args[1]);
        for (int o = 0; o < p.n_operands; ++o) {
            if (p.operands[o].from == source::mask && p.operands[o].node == v) { k.c = o; }
        }
        return k;
    }
    k.a = number(n.args[0]);
    if (n.n_args > 1) { k.b = number(n.args[1]); }
    if (n.n_args > 2) { k.c = number(n.args[2]); }
    if (n.kind == op::cast || is_logical(n.kind)) { k.operands = g[n.args[0]].type; }
    if (is_comparison(n.kind)) { k.operands = promote(g[n.args[0]].type, g[n.args[1]].type); }
    if (n.kind == op::mul) {
        for (int j = 0; j < g.size; ++j) {
            for (int a = 0; a < g[j].n_args; ++a) {
                const bool sum = (g[j].kind == op::add || g[j].kind == op::sub) && when.value[g[j].args[a]] == v;
                if (sum && g[j].contracts != 1 + a && is_floating(n.type)) { k.contracts = 1; }
            }
        }
    }
    return k;
}

constexpr bool is_low_precision_type(dtype t) { return t == dtype::f16 || t == dtype::bf16; }

/// How the tile loop reads an operand. What low-precision ranks combined lies in an f32 tile, rounded already.
template <class Graph>
constexpr kernels::access access_of(const Graph&, const pass_operand& o)
{
    if (o.uniform || o.from == source::scalar || o.from == source::world_size) { return kernels::access::uniform; }
    const bool combined = o.from == source::all_ranks || o.from == source::root_combined;
    return combined ? kernels::access::two : kernels::access::varies;
}
template <class Graph>
constexpr dtype tile_type(const Graph& g, const pass_operand& o)
{
    if (o.from == source::mask) { return dtype::boolean; }
    if (o.from == source::world_size) { return dtype::f64; }
    const bool combined = o.from == source::all_ranks || o.from == source::root_combined;
    return combined && is_low_precision_type(g[o.node].type) ? dtype::f32 : g[o.node].type;
}
template <class Graph>
constexpr kernels::access tile_access(const Graph& g, const pass_operand& o)
{
    const kernels::access how = access_of(g, o);
    const bool rounded_tile = how == kernels::access::two && is_low_precision_type(g[o.node].type);
    return rounded_tile ? kernels::access::varies : how;
}

/// The dtype in which a result leaves the tile loop: a reduction's terms go to a tile in their accumulator's dtype.
template <class Graph>
constexpr dtype result_type(const Graph& g, const pass_result& r)
{
    return r.reduces && is_low_precision_type(g[r.node].type) ? dtype::f32 : g[r.node].type;
}
/// Which value of the pass a result is: a reduction's is its operand.
template <class Graph>
constexpr int result_value(const Graph& g, const pass_plan& p, const levels<Graph>& when, const pass_result& r)
{
    const node& n = g[r.node];
    const bool through = r.reduces || writes_peers(n.kind);
    if (through && p.n_operands == 1 && p.n_steps == 0) { return 0; }
    return value_number(g, p, when.value, through ? n.args[0] : r.node);
}

}  // namespace detail

namespace detail {

template <class L, int P, int O>
constexpr auto input_type()
{
    constexpr pass_operand o = L::plan.passes[P].operands[O];
    if constexpr (o.from == source::number) {
        return kernels::number<L::graph[o.node].bits>{};
    } else {
        return kernels::input<tile_type(L::graph, o), tile_access(L::graph, o), o.combine>{};
    }
}
template <class L, int P, int S>
constexpr auto step_type()
{
    constexpr step_numbers k = number_step(L::graph, L::plan.passes[P], L::when, S);
    return kernels::step<k.kind, k.type, k.operands, k.a, k.b, k.c, k.contracts>{};
}
template <class L, int P, int R>
constexpr auto output_type()
{
    constexpr pass_result r = L::plan.passes[P].results[R];
    return kernels::output<result_value(L::graph, L::plan.passes[P], L::when, r), result_type(L::graph, r)>{};
}
template <class L, int P, int... O, int... S, int... R>
constexpr auto kernel_type(std::integer_sequence<int, O...>, std::integer_sequence<int, S...>,
                           std::integer_sequence<int, R...>)
{
    return kernels::tile_kernel<kernels::list<decltype(input_type<L, P, O>())...>,
                                kernels::list<decltype(step_type<L, P, S>())...>,
                                kernels::list<decltype(output_type<L, P, R>())...>>{};
}

}  // namespace detail

/// The tile kernel of pass P of a lowered program, an empty object. A `__global__` function template must deduce its
/// type from an argument: nvcc 13 writes out a type that it is given by name, and the program in it does not survive.
template <class Lowered, int P>
constexpr auto make_kernel()
{
    return detail::kernel_type<Lowered, P>(std::make_integer_sequence<int, Lowered::plan.passes[P].n_operands>{},
                                           std::make_integer_sequence<int, Lowered::plan.passes[P].n_steps>{},
                                           std::make_integer_sequence<int, Lowered::plan.passes[P].n_results>{});
}
template <class Lowered, int P>
using kernel_of = decltype(make_kernel<Lowered, P>());

}  // namespace plait
