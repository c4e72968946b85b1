// The code of every pass of a lowered program.
#pragma once

#include <plait/plan/kernel_of.hpp>
#include <plait/plan/plan.hpp>
#include <plait/target/host/conv2d_pass.hpp>
#include <plait/target/host/embedding_pass.hpp>
#include <plait/target/host/matmul_pass.hpp>

#include <array>
#include <utility>

namespace plait::host {

template <class Lowered, int P, int O>
constexpr const combiner* combiner_for()
{
    constexpr pass_operand o = Lowered::plan.operands[Lowered::plan.passes[P].operands.first + O];
    if constexpr (plait::detail::combines_ranks(o.from)) {
        return &combiner_of<Lowered::graph[Lowered::plan.slots[o.slot].node].type, o.combine>;
    } else {
        return nullptr;
    }
}
template <class Lowered, int P, int R>
constexpr const reducer* reducer_for()
{
    constexpr pass_result r = Lowered::plan.results[Lowered::plan.passes[P].results.first + R];
    if constexpr (r.reduces) {
        constexpr bool along_axis = Lowered::plan.passes[P].kind == pass_kind::reduce_axis;
        return &reducer_of<Lowered::graph[r.node].type, Lowered::graph[r.node].attrs.combine, along_axis>;
    } else {
        return nullptr;
    }
}

template <pass_kind Kind, dtype Type>
constexpr auto contraction_of()
{
    if constexpr (Kind == pass_kind::matmul) {
        return &run_matmul<element_t<Type>>;
    } else if constexpr (Kind == pass_kind::conv2d) {
        return &run_conv2d<element_t<Type>>;
    } else {
        return &run_embedding;
    }
}

template <class Lowered, int P, int... O, int... R>
constexpr pass_functions functions_of_pass(std::integer_sequence<int, O...>, std::integer_sequence<int, R...>)
{
    constexpr pass_plan p = Lowered::plan.passes[P];
    if constexpr (is_contraction(p.kind)) {
        return {nullptr, {}, {}, contraction_of<p.kind, Lowered::graph[p.space].type>()};
    } else {
        return {&kernel_of<Lowered, P>::run, {combiner_for<Lowered, P, O>()...}, {reducer_for<Lowered, P, R>()...}};
    }
}

/// By pass of a lowered program.
template <class Lowered>
inline constexpr auto functions_of = []<int... P>(std::integer_sequence<int, P...>)
{
    return std::array<pass_functions, sizeof...(P)>{
        functions_of_pass<Lowered, P>(std::make_integer_sequence<int, Lowered::plan.passes[P].operands.count>{},
                                      std::make_integer_sequence<int, Lowered::plan.passes[P].results.count>{})...};
}
(std::make_integer_sequence<int, Lowered::plan.n_passes>{});

}  // namespace plait::host
