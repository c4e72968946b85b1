// From a program to what an executable is made of, or to a compile error.
#pragma once

#include <plait/graph/refused.hpp>
#include <plait/lang/expression.hpp>
#include <plait/plan/lowered.hpp>

#include <type_traits>

namespace plait::detail {

/// The program lowered, or a compile error that names the operation that has no kernel here.
template <class Program>
struct checked_program {
    using lowered_type = lowered<Program>;
    static consteval auto pick()
    {
        if constexpr (lowered_type::plan.violated != rule::none) {
            constexpr message m = lowered_type::plan.why;
            return std::type_identity<refused<lowered_type::plan.violated, cut<m.size() + 1>(m)>>{};
        } else {
            return std::type_identity<lowered_type>{};
        }
    }
    using type = typename decltype(pick())::type;
};

/// The lowered program's code for a runner's target, pass by pass.
template <class Runner, class Lowered>
typename Runner::code code_of()
{
    if constexpr (refused_expression<Lowered>) {
        return {};
    } else {
        return Runner::template code_of<Lowered>();
    }
}
/// The lowered program as data.
template <class Lowered>
program_image image()
{
    if constexpr (refused_expression<Lowered>) {
        return {};
    } else {
        return image_of<Lowered>();
    }
}

}  // namespace plait::detail
