// The code of every pass of a lowered program, on devices.
#pragma once

#include <plait/target/cuda/kernel_of.cuh>
#include <plait/target/cuda/map_launch.cuh>
#include <plait/target/cuda/moves.cuh>
#include <plait/target/cuda/products.cuh>

#include <array>

namespace plait::cuda {

/// Puts what a pass does at the end of a list of launches.
using pass_function = void (*)(pass_build&);

template <class Lowered, int P>
constexpr dtype operand_type(int i)
{
    return Lowered::graph[Lowered::plan.operands[Lowered::plan.passes[P].operands.first + i].node].type;
}

template <class Lowered, int P>
void build_pass(pass_build& b)
{
    constexpr pass_plan p = Lowered::plan.passes[P];
    constexpr dtype type = Lowered::graph[p.space].type;
    constexpr attributes attrs = Lowered::graph[p.space].attrs;
    if constexpr (p.kind == pass_kind::matmul) {
        build_matmul<operand_type<Lowered, P>(0), operand_type<Lowered, P>(1), type, attrs.a != 0, attrs.b != 0>(b);
    }
    else if constexpr (p.kind == pass_kind::conv2d) { build_conv2d<operand_type<Lowered, P>(0), operand_type<Lowered, P>(1), type>(b); }
    else if constexpr (p.kind == pass_kind::embedding) { build_embedding<>(b); }
    else if constexpr (p.kind == pass_kind::all_to_all) { build_all_to_all<>(b); }
    else if constexpr (p.kind == pass_kind::reduce_axis) { build_axis(make_body<Lowered, P>(), b); }
    else { build_map(make_body<Lowered, P>(), b, row_dims(Lowered::graph, Lowered::plan, P)); }
}

/// By pass of a lowered program.
template <class Lowered>
inline constexpr auto functions_of = []<int... P>(std::integer_sequence<int, P...>) {
    return std::array<pass_function, sizeof...(P)>{&build_pass<Lowered, P>...};
}(std::make_integer_sequence<int, Lowered::plan.n_passes>{});

}  // namespace plait::cuda
