// From a pass of a plan to the type of its kernel on a device.
#pragma once

#include <plait/plan/kernel_of.hpp>
#include <plait/target/cuda/map_kernel.cuh>

namespace plait::cuda {

/// Whether a pass belongs to a pipeline that may be cut along another dimension than the first.
template <class Plan>
constexpr bool is_cut_inside(const Plan& plan, int pass)
{
    for (int first = 0; first <= pass; ++first) {
        const pass_plan& p = plan.passes[first];
        if (p.chunked_until > pass && (p.chunk_dims & ~1U) != 0) { return true; }
    }
    return false;
}
constexpr bool is_single(const node& v)
{
    for (int d = 0; d < v.dims; ++d) {
        if (v.shape[d] != 1) { return false; }
    }
    return true;
}
constexpr bool is_per_tensor_value(const node& v) { return v.dims == 1 && is_per_tensor(v.shape[0]); }

/// Whether a value lies in memory in the order of the space of a pass, without gaps.
constexpr bool is_in_line(const node& space, int slice_dim, const node& v)
{
    if (v.dims != space.dims) { return false; }
    for (int d = 0; d < v.dims; ++d) {
        if (v.shape[d] != space.shape[d]) { return false; }
    }
    if (v.sliced_along() == slice_dim) { return true; }
    return v.sliced_along() < 0 && slice_dim == 0;  // the whole, of which a part in one piece is taken
}
/// Whether a value is one row of the space, the same for all rows, which are numbered along the first k dimensions.
constexpr bool is_column(const node& space, int slice_dim, const node& v, int k)
{
    if (v.dims > space.dims || slice_dim >= k || v.sliced_along() >= 0) { return false; }
    for (int d = 0; d < space.dims; ++d) {
        const int own = d - (space.dims - v.dims);
        const packed_extent e = own < 0 ? packed_extent{1} : v.shape[own];
        if (e != (d < k ? packed_extent{1} : space.shape[d])) { return false; }
    }
    return true;
}
/// Whether a value is one element for each row.
constexpr bool is_row(const node& space, int slice_dim, const node& v, int k)
{
    if (v.dims != space.dims || slice_dim >= k) { return false; }
    for (int d = 0; d < space.dims; ++d) {
        if (v.shape[d] != (d < k ? space.shape[d] : packed_extent{1})) { return false; }
    }
    return v.sliced_along() == slice_dim || (v.sliced_along() < 0 && slice_dim == 0);
}
constexpr reach reach_in_line(const node& space, int slice_dim, const node& v, int k)
{
    return is_in_line(space, slice_dim, v)        ? reach::line
           : is_single(v)                         ? reach::single
           : is_per_tensor_value(v)               ? reach::per_tensor
           : is_column(space, slice_dim, v, k) ? reach::column
           : is_row(space, slice_dim, v, k)    ? reach::row
                                                  : reach::strided;
}

/// The same for a dropout's mask, which is drawn by the index in the whole value.
constexpr reach mask_in_line(const node& space, const node& dropout, int k)
{
    node whole = dropout;
    whole.layout = layout_kind::replicated;
    const reach how = reach_in_line(space, -1, whole, k);
    return how == reach::column || how == reach::row ? reach::strided : how;
}

/// Whether everything that a pass touches is found along a line whose rows are numbered along k dimensions; 0: without rows.
template <class Graph, class Plan>
constexpr bool goes_along_line(const Graph& g, const Plan& plan, int pass, int k)
{
    const pass_plan& p = plan.passes[pass];
    const node& space = g[p.space];
    for (int i = 0; i < p.operands.count; ++i) {
        const pass_operand& o = plan.operands[p.operands.first + i];
        const bool is_mask = o.from == source::mask;
        if (is_mask && ((space.dims > 1 && p.slice_dim > 0) || mask_in_line(space, g[o.node], k) == reach::strided)) { return false; }
        if (o.slot >= 0 && reach_in_line(space, p.slice_dim, g[plan.slots[o.slot].node], k) == reach::strided) { return false; }
    }
    for (int i = 0; i < p.results.count; ++i) {
        const pass_result& r = plan.results[p.results.first + i];
        if (!r.reduces && !is_in_line(space, p.slice_dim, g[plan.slots[r.slot].node])) { return false; }
    }
    return true;
}
/// Along how many dimensions the rows of a pass are numbered; 0: it has none; -1: it goes by coordinates.
template <class Graph, class Plan>
constexpr int row_dims(const Graph& g, const Plan& plan, int pass)
{
    const pass_plan& p = plan.passes[pass];
    if (p.kind == pass_kind::reduce_axis) { return -1; }
    if (p.kind == pass_kind::all_reduce) { return 0; }
    const node& space = g[p.space];
    if (space.dims > 1 && is_cut_inside(plan, pass)) { return -1; }
    for (int k = 0; k < std::max<int>(1, space.dims); ++k) {
        if (goes_along_line(g, plan, pass, k)) { return k; }
    }
    return -1;
}

template <class Lowered, int P, int Rows, int I>
constexpr auto input_type()
{
    constexpr const auto& plan = Lowered::plan;
    constexpr pass_plan p = plan.passes[P];
    constexpr pass_operand o = plan.operands[p.operands.first + I];
    constexpr dtype type = Lowered::graph[o.node].type;
    constexpr bool line = Rows >= 0;
    if constexpr (o.from == source::number) { return number_input<Lowered::graph[o.node].bits>{}; }
    else if constexpr (o.from == source::world_size) { return scalar_input<dtype::f64>{}; }
    else if constexpr (o.from == source::scalar) { return scalar_input<type>{}; }
    else if constexpr (o.from == source::mask) {
        constexpr reach how = line ? mask_in_line(Lowered::graph[p.space], Lowered::graph[o.node], Rows) : o.uniform ? reach::broadcast : reach::strided;
        return mask_input<how>{};
    }
    else {
        constexpr const node& v = Lowered::graph[plan.slots[o.slot].node];
        constexpr reach how = line && p.kind == pass_kind::all_reduce ? reach::line
                              : line      ? reach_in_line(Lowered::graph[p.space], p.slice_dim, v, Rows)
                              : o.uniform ? reach::broadcast
                                          : reach::strided;
        if constexpr (plait::detail::combines_ranks(o.from)) { return combined_input<v.type, o.combine, how>{}; }
        else { return memory_input<v.type, how>{}; }
    }
}
/// The value from which result R is stored: of one that is rounded to f16 or bf16 what it is before, as storing rounds it.
template <class Lowered, int P, int R>
constexpr int stored_value(dtype stored)
{
    constexpr const auto& k = plait::detail::kernel_type<Lowered, P>::k;
    int v = k.outputs[R].value;
    constexpr int n_in = Lowered::plan.passes[P].operands.count;
    const bool is_low = stored == dtype::f16 || stored == dtype::bf16;
    if (is_low && v >= n_in) {
        const auto& s = k.steps[v - n_in];
        if (s.kind == op::cast && s.type == stored && s.operands == dtype::f32) { v = s.a; }
    }
    return v;
}

/// The operand of pass P that is this rank's memory of the value to which result R goes, both along the line; or -1.
template <class Graph, class Plan>
constexpr int operand_like(const Graph& g, const Plan& plan, int pass, int result)
{
    const pass_plan& p = plan.passes[pass];
    const pass_result& r = plan.results[p.results.first + result];
    const bool to_own = r.to == destination::own || r.to == destination::all_ranks;
    if (row_dims(g, plan, pass) < 0 || p.kind == pass_kind::all_reduce || r.reduces || !to_own) { return -1; }
    for (int i = 0; i < p.operands.count; ++i) {
        const pass_operand& o = plan.operands[p.operands.first + i];
        if (o.slot == r.slot && o.from == source::own) { return i; }
    }
    return -1;
}

template <class Lowered, int P, int Rows, int R>
constexpr auto output_type()
{
    constexpr const auto& plan = Lowered::plan;
    constexpr pass_plan p = plan.passes[P];
    constexpr pass_result r = plan.results[p.results.first + R];
    constexpr node n = Lowered::graph[r.node];
    constexpr int value = r.reduces ? plait::detail::kernel_type<Lowered, P>::k.outputs[R].value : stored_value<Lowered, P, R>(n.type);
    if constexpr (r.reduces) { return sum_output<value, n.type, n.attrs.combine>{}; }
    else {
        constexpr reach how = Rows >= 0 ? reach::line : reach::strided;
        return memory_output<value, n.type, r.to == destination::all_ranks, how, operand_like(Lowered::graph, Lowered::plan, P, R)>{};
    }
}

template <class Lowered, int P, int Rows, int... I, int... S, int... O>
constexpr auto make_body(std::integer_sequence<int, I...>, std::integer_sequence<int, S...>, std::integer_sequence<int, O...>)
{
    constexpr const auto& k = plait::detail::kernel_type<Lowered, P>::k;
    return map_body<kernels::list<decltype(input_type<Lowered, P, Rows, I>())...>,
                    kernels::list<kernels::step<k.steps[S].kind, k.steps[S].type, k.steps[S].operands, k.steps[S].a,
                                                k.steps[S].b, k.steps[S].c, k.steps[S].contracts>...>,
                    kernels::list<decltype(output_type<Lowered, P, Rows, O>())...>>{};
}
/// The body of the kernel of pass P, an empty object whose type a kernel must deduce (see plait::make_kernel), with rows that are
/// numbered along so many dimensions, as row_dims has it.
template <class Lowered, int P, int Rows>
constexpr auto make_body_of_rows()
{
    constexpr pass_plan p = Lowered::plan.passes[P];
    return make_body<Lowered, P, Rows>(std::make_integer_sequence<int, p.operands.count>{},
                                       std::make_integer_sequence<int, p.steps.count>{},
                                       std::make_integer_sequence<int, p.results.count>{});
}
template <class Lowered, int P>
constexpr auto make_body()
{
    return make_body_of_rows<Lowered, P, row_dims(Lowered::graph, Lowered::plan, P)>();
}

}  // namespace plait::cuda
