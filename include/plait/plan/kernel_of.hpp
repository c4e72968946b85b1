// From a pass of a plan to the type of its kernel: types and integers only.
#pragma once

#include <plait/kernels/tile.hpp>
#include <plait/plan/lowered.hpp>

#include <cstdint>
#include <utility>

namespace plait {
namespace detail {

constexpr bool is_low_precision_type(dtype t) { return t == dtype::f16 || t == dtype::bf16; }
constexpr bool combines_ranks(source from) { return from == source::all_ranks || from == source::root_combined; }

struct input_numbers {
    bool is_number = false;
    std::uint64_t bits = 0;  // of a number
    dtype type = dtype::f32;
    kernels::access how = kernels::access::varies;
    reduction combine = reduction::sum;
};
struct step_numbers {
    op kind = op::cast;
    dtype type = dtype::f32;
    dtype operands = dtype::f32;
    int a = -1;
    int b = -1;
    int c = -1;
    int contracts = 0;
};
struct output_numbers {
    int value = 0;
    dtype type = dtype::f32;
};

/// What a kernel does, in numbers: its inputs are values 0 ... n-1, its steps those that follow.
template <int Inputs, int Steps, int Outputs>
struct kernel_numbers {
    input_numbers inputs[Inputs > 0 ? Inputs : 1]{};
    step_numbers steps[Steps > 0 ? Steps : 1]{};
    output_numbers outputs[Outputs]{};
};

template <class Graph>
constexpr input_numbers number_input(const Graph& g, const pass_operand& o)
{
    input_numbers in;
    const node& n = g[o.node];
    in.is_number = o.from == source::number;
    in.bits = n.bits;
    in.combine = o.combine;
    // What low-precision ranks combined lies in an f32 tile, rounded already.
    const bool rounded_tile = combines_ranks(o.from) && is_low_precision_type(n.type);
    in.type = o.from == source::mask         ? dtype::boolean
              : o.from == source::world_size ? dtype::f64
              : rounded_tile                 ? dtype::f32
                                             : n.type;
    const bool uniform = o.uniform || o.from == source::scalar || o.from == source::world_size;
    const bool two = combines_ranks(o.from) && !rounded_tile;
    in.how = uniform ? kernels::access::uniform : two ? kernels::access::two : kernels::access::varies;
    return in;
}

/// `number` gives the value that a node is; `mask` the one that says what dropout v keeps.
template <class Graph>
constexpr step_numbers number_step(const Graph& g, const levels<Graph>& when, int v, const int* number, int mask)
{
    const node& n = g[v];
    const auto value = [&](int i) { return number[when.value[i]]; };
    step_numbers k;
    k.kind = n.kind;
    k.type = k.operands = n.type;
    if (n.contracts != 0) {
        const node& product = g[n.args[n.contracts - 1]];
        k.a = value(product.args[0]);
        k.b = value(product.args[1]);
        k.c = value(n.args[2 - n.contracts]);
        k.contracts = n.contracts;
        return k;
    }
    if (n.kind == op::update) {
        k.a = value(n.args[1]);
        k.operands = g[n.args[1]].type;
        return k;
    }
    k.a = value(n.args[0]);
    if (n.n_args > 1) { k.b = value(n.args[1]); }
    if (n.n_args > 2) { k.c = n.kind == op::dropout ? mask : value(n.args[2]); }
    if (n.kind == op::cast || is_logical(n.kind)) { k.operands = g[n.args[0]].type; }
    if (is_comparison(n.kind)) { k.operands = promote(g[n.args[0]].type, g[n.args[1]].type); }
    if (n.kind == op::mul && is_floating(n.type)) {
        for (int j : when.users(v)) {
            const bool sum = g[j].kind == op::add || g[j].kind == op::sub;
            for (int a = 0; sum && a < g[j].n_args; ++a) {
                if (when.value[g[j].args[a]] == v && g[j].contracts != 1 + a) { k.contracts = 1; }
            }
        }
    }
    return k;
}

template <class Lowered, int P>
constexpr auto number_kernel()
{
    constexpr const auto& g = Lowered::graph;
    constexpr const auto& plan = Lowered::plan;
    constexpr pass_plan p = plan.passes[P];
    kernel_numbers<p.operands.count, p.steps.count, p.results.count> k;
    int number[g.node_capacity]{};
    int mask[g.node_capacity]{};
    for (int i = 0; i < p.operands.count; ++i) {
        const pass_operand& o = plan.operands[p.operands.first + i];
        (o.from == source::mask ? mask : number)[o.node] = i;
        k.inputs[i] = number_input(g, o);
    }
    for (int s = 0; s < p.steps.count; ++s) { number[plan.steps[p.steps.first + s]] = p.operands.count + s; }
    for (int s = 0; s < p.steps.count; ++s) {
        const int v = plan.steps[p.steps.first + s];
        k.steps[s] = number_step(g, Lowered::when, v, number, mask[v]);
    }
    for (int i = 0; i < p.results.count; ++i) {
        const pass_result& r = plan.results[p.results.first + i];
        const node& n = g[r.node];
        // A reduction's terms, and what a collective sends, are its operand. (One that only moves reads it as value 0.)
        const bool through = r.reduces || writes_peers(n.kind);
        const bool moves = p.operands.count == 1 && p.steps.count == 0;
        k.outputs[i].value = moves ? 0 : number[Lowered::when.value[through ? n.args[0] : r.node]];
        k.outputs[i].type = r.reduces && is_low_precision_type(n.type) ? dtype::f32 : n.type;
    }
    return k;
}

template <input_numbers In>
constexpr auto input_type()
{
    if constexpr (In.is_number) {
        return kernels::number<In.bits>{};
    } else {
        return kernels::input<In.type, In.how, In.combine>{};
    }
}

template <class Lowered, int P>
struct kernel_type {
    static constexpr auto k = number_kernel<Lowered, P>();

    template <int... I, int... S, int... O>
    static constexpr auto make(std::integer_sequence<int, I...>, std::integer_sequence<int, S...>,
                               std::integer_sequence<int, O...>)
    {
        return kernels::tile_kernel<
            kernels::list<decltype(input_type<k.inputs[I]>())...>,
            kernels::list<kernels::step<k.steps[S].kind, k.steps[S].type, k.steps[S].operands, k.steps[S].a,
                                        k.steps[S].b, k.steps[S].c, k.steps[S].contracts>...>,
            kernels::list<kernels::output<k.outputs[O].value, k.outputs[O].type>...>>{};
    }
};

}  // namespace detail

/// The tile kernel of pass P of a lowered program, an empty object. A `__global__` function template must deduce its
/// type from an argument: nvcc 13 writes out a type that it is given by name, and the program in it does not survive.
template <class Lowered, int P>
constexpr auto make_kernel()
{
    constexpr pass_plan p = Lowered::plan.passes[P];
    return detail::kernel_type<Lowered, P>::make(std::make_integer_sequence<int, p.operands.count>{},
                                                 std::make_integer_sequence<int, p.steps.count>{},
                                                 std::make_integer_sequence<int, p.results.count>{});
}
template <class Lowered, int P>
using kernel_of = decltype(make_kernel<Lowered, P>());

}  // namespace plait
