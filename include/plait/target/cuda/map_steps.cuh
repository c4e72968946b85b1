// The steps of a kernel over elements: in registers, or, of what is the same for all elements, on the host.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/kernels/tile.hpp>
#include <plait/target/cuda/members.cuh>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace plait::cuda {

template <class Inputs, class Steps>
struct map_steps;

/// The steps of a kernel. Inputs are values 0 ... n_in-1; step s is value n_in + s.
template <class... Input, class... Step>
struct map_steps<kernels::list<Input...>, kernels::list<Step...>> {
    static constexpr int n_in = sizeof...(Input);
    using registers = kernels::registers<std::make_index_sequence<sizeof...(Input) + sizeof...(Step)>,
                                         typename Input::value..., kernels::compute_t<Step::type>...>;

    /// Whether step s is the same for all elements and exact on the host: it is then an argument. By value.
    static constexpr auto known = [] {
        std::array<bool, n_in + sizeof...(Step) + 1> all{Input::is_argument...};
        int v = n_in;
        const auto look = [&](op kind, int a, int b, int c) {
            constexpr op exact[] = {op::add, op::sub, op::mul, op::div, op::neg, op::abs, op::sqrt, op::cast};
            const bool is_exact = plait::detail::contains(exact, kind) && c < 0 && all[a] && (b < 0 || all[b]);
            all[v++] = is_exact;
        };
        (look(Step::kind, Step::a, Step::b, Step::c), ...);
        return all;
    }();
    template <int S>
    static constexpr bool is_argument = known[n_in + S];

  private:
    using inputs = std::make_integer_sequence<int, n_in>;
    using steps = std::make_integer_sequence<int, static_cast<int>(sizeof...(Step))>;
    template <class Numbers>
    struct constants_of;
    template <int... S>
    struct constants_of<std::integer_sequence<int, S...>> {
        using type = members<std::conditional_t<is_argument<S>, kernels::compute_t<Step::type>, nothing>...>;
    };

  public:
    /// The steps that are arguments.
    using constants = typename constants_of<steps>::type;

    /// Evaluates all steps for one element, whose inputs are in r.
    __device__ static void evaluate(const constants& given, registers& r) { evaluate(given, r, steps{}); }

    /// Evaluates, on the host, what is the same for all elements.
    template <class Channels>
    static void find_constants(const Channels& in, constants& to)
    {
        find_constants(in, to, inputs{}, steps{});
    }

  private:
    template <int... S>
    __device__ static void evaluate(const constants& given, registers& r, std::integer_sequence<int, S...>)
    {
        (evaluate_step<S, Step>(given, r), ...);
    }
    template <int S, class Next>
    __device__ static void evaluate_step(const constants& given, registers& r)
    {
        auto& to = kernels::at<static_cast<std::size_t>(n_in + S)>(r);
        if constexpr (is_argument<S>) { to = get<S>(given); }
        else { to = kernels::evaluate<Next>(r); }
    }
    template <class Channels, int... I, int... S>
    static void find_constants(const Channels& in, constants& to, std::integer_sequence<int, I...>, std::integer_sequence<int, S...>)
    {
        registers r{};
        const auto load = [&]<int J, class In>(std::integral_constant<int, J>, std::type_identity<In>) {
            if constexpr (In::is_argument) { kernels::at<static_cast<std::size_t>(J)>(r) = In::of(get<J>(in)); }
        };
        (load(std::integral_constant<int, I>{}, std::type_identity<Input>{}), ...);
        const auto next = [&]<int J, class One>(std::integral_constant<int, J>, std::type_identity<One>) {
            if constexpr (is_argument<J>) {
                auto& value = kernels::at<static_cast<std::size_t>(n_in + J)>(r);
                value = kernels::evaluate<One>(r);
                get<J>(to) = value;
            }
        };
        (next(std::integral_constant<int, S>{}, std::type_identity<Step>{}), ...);
    }
};

}  // namespace plait::cuda
