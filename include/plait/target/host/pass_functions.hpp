// The code of a pass: its kernel, and what combines the ranks' values and reduces, as pointers.
#pragma once

#include <plait/plan/kernel_of.hpp>
#include <plait/target/host/reducer.hpp>

#include <array>

namespace plait::host {

/// The body of a pass over one contiguous run of elements.
using tile_function = void (*)(const kernels::tile_pointers&, std::size_t);

/// What the runtime calls for one pass of a program.
struct pass_functions {
    tile_function kernel = nullptr;
    const combiner* combiners[max_operands]{};  // by operand; null where no ranks are combined
    const reducer* reducers[max_results]{};     // by result; null where nothing is reduced
};

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

template <class Lowered, int P, int... O, int... R>
constexpr pass_functions functions_of_pass(std::integer_sequence<int, O...>, std::integer_sequence<int, R...>)
{
    return {&kernel_of<Lowered, P>::run, {combiner_for<Lowered, P, O>()...}, {reducer_for<Lowered, P, R>()...}};
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
