// The code of every pass of a lowered program, on devices.
#pragma once

#include <plait/target/cuda/joined_passes.cuh>
#include <plait/target/cuda/map_launch.cuh>
#include <plait/target/cuda/moves.cuh>
#include <plait/target/cuda/products.cuh>
#include <plait/target/cuda/row_launch.cuh>

#include <array>

namespace plait::cuda {

/// Puts what a pass does at the end of a list of launches.
using pass_function = void (*)(pass_build&);
/// The ways in which a pass can be launched. Null: not in this one.
struct pass_code {
    pass_function build = nullptr;
    pass_function with_next = nullptr;            // the pass after it is done in its epilogue
    pass_function in_chunks = nullptr;            // one launch for all chunks of the pipeline that it begins
    pass_function in_chunks_with_next = nullptr;  // both
    pass_function by_rows = nullptr;              // with those after it, row after row
    int row_passes = 0;                           // as many
    std::uint32_t held = 0;                       // results, as bits, that are in memory only where it is launched alone (value_slots)
};

/// Passes that are launched together, from one on, and how.
struct joint_launch {
    pass_function build = nullptr;
    std::size_t passes = 1;
};

template <class Lowered, int P>
constexpr dtype operand_type(int i)
{
    return Lowered::graph[Lowered::plan.operands[Lowered::plan.passes[P].operands.first + i].node].type;
}
/// What kind of product pass P is, an empty object.
template <class Lowered, int P>
constexpr auto product_of()
{
    constexpr pass_plan p = Lowered::plan.passes[P];
    constexpr node n = Lowered::graph[p.space];
    constexpr dtype left = operand_type<Lowered, P>(0);
    constexpr dtype right = operand_type<Lowered, P>(1);
    if constexpr (p.kind == pass_kind::matmul) { return matmul_pass<left, right, n.type, n.attrs.a != 0, n.attrs.b != 0>{}; }
    else { return conv2d_pass<left, right, n.type>{}; }
}

template <class Lowered, int P>
void build_pass(pass_build& b)
{
    constexpr pass_plan p = Lowered::plan.passes[P];
    if constexpr (is_product(p.kind)) { build_product<decltype(product_of<Lowered, P>()), whole_product>(b); }
    else if constexpr (p.kind == pass_kind::embedding) { build_embedding<>(b); }
    else if constexpr (p.kind == pass_kind::all_to_all) { build_all_to_all<>(b); }
    else if constexpr (p.kind == pass_kind::reduce_axis) { build_axis(make_body<Lowered, P>(), b); }
    else { build_map(make_body<Lowered, P>(), b, row_dims(Lowered::graph, Lowered::plan, P)); }
}
template <class Lowered, int P, class Tiles>
void build_joined(pass_build& b)
{
    constexpr int operand = joined_operand(Lowered::graph, Lowered::plan, P);
    build_product_with_next<decltype(product_of<Lowered, P>()), Tiles>(make_body<Lowered, P + 1>(), std::integral_constant<int, operand>{}, b,
                                                                      row_dims(Lowered::graph, Lowered::plan, P + 1));
}

/// The most bytes that the arguments of a kernel have.
inline constexpr std::size_t most_kernel_arguments = 4096;
/// Whether pass P may be launched together with the next one.
template <class Lowered, int P>
constexpr bool can_join()
{
    if constexpr (joined_operand(Lowered::graph, Lowered::plan, P) < 0) { return false; }
    else {
        using body = decltype(make_body<Lowered, P + 1>());
        constexpr std::size_t bytes = sizeof(whole_product) + sizeof(typename body::arguments);
        return !decltype(product_of<Lowered, P>())::is_blas && bytes <= most_kernel_arguments;
    }
}
/// By pass of a lowered program, the first pass of the run of rows that it is in, or -1. A run begins with a pass that no run
/// before it has, and that may not be done in the epilogue of a product.
template <class Lowered>
inline constexpr auto first_of_rows = [] {
    std::array<int, static_cast<std::size_t>(Lowered::plan.n_passes)> all{};
    for (int first = 0; first < Lowered::plan.n_passes;) {
        const bool joined = first > 0 && joined_operand(Lowered::graph, Lowered::plan, first - 1) >= 0;
        const int count = joined ? 0 : row_planner(Lowered::graph, Lowered::plan, first).find().count;
        const int end = first + (count > 0 ? count : 1);
        for (int p = first; p < end; ++p) { all[static_cast<std::size_t>(p)] = count > 0 ? first : -1; }
        first = end;
    }
    return all;
}();
template <class Lowered, int P>
void build_by_rows(pass_build& b)
{
    build_rows(make_row_body<Lowered, P>(), b);
}
template <class Lowered, int P>
constexpr bool can_go_by_rows()
{
    if constexpr (P < 0) { return false; }
    else { return sizeof(typename decltype(make_row_body<Lowered, P>())::arguments) <= most_kernel_arguments; }
}
/// Results of pass P, as bits, that stay in registers where its run of rows is launched.
template <class Lowered, int P>
constexpr std::uint32_t held_in_rows()
{
    constexpr const auto& run = row_run_of<Lowered, first_of_rows<Lowered>[P]>;
    constexpr auto results = Lowered::plan.passes[P].results;
    std::uint32_t bits = 0;
    for (int r = 0; r < results.count; ++r) { bits |= std::uint32_t{!run.stored[results.first + r]} << r; }
    return bits;
}
template <class Lowered, int P>
constexpr pass_code code_of_pass()
{
    pass_code c{&build_pass<Lowered, P>};
    if constexpr (is_product(Lowered::plan.passes[P].kind)) {
        using product = decltype(product_of<Lowered, P>());
        constexpr bool in_chunks = begins_pipeline(Lowered::plan, P) && !product::is_blas;
        if constexpr (in_chunks) { c.in_chunks = &build_product<product, product_in_chunks>; }
        if constexpr (can_join<Lowered, P>()) {
            c.with_next = &build_joined<Lowered, P, whole_product>;
            c.held = 1;
        }
        if constexpr (in_chunks && can_join<Lowered, P>()) { c.in_chunks_with_next = &build_joined<Lowered, P, product_in_chunks>; }
    }
    if constexpr (can_go_by_rows<Lowered, first_of_rows<Lowered>[P]>()) {
        if constexpr (first_of_rows<Lowered>[P] == P) {
            c.by_rows = &build_by_rows<Lowered, P>;
            c.row_passes = row_run_of<Lowered, P>.count;
        }
        c.held = held_in_rows<Lowered, P>();
    }
    return c;
}

/// By pass of a lowered program.
template <class Lowered>
inline constexpr auto functions_of = []<int... P>(std::integer_sequence<int, P...>) {
    return std::array<pass_code, sizeof...(P)>{code_of_pass<Lowered, P>()...};
}(std::make_integer_sequence<int, Lowered::plan.n_passes>{});

}  // namespace plait::cuda
