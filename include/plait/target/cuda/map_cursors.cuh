// Where a kernel's operands and results are: of the whole space, or of a tile.
#pragma once

#include <plait/target/cuda/members.cuh>
#include <plait/target/cuda/outputs.cuh>

#include <utility>

namespace plait::cuda {

namespace detail {
/// Of a value that is opened.
template <class Value, bool Opened, int Ranks>
struct cursor_of {
    using type = typename Value::template cursor<Ranks>;
};
template <class Value, int Ranks>
struct cursor_of<Value, false, Ranks> {
    using type = nothing;
};
}  // namespace detail

template <class Inputs, class Outputs, int Ranks>
struct map_cursors;

/// The cursors of all inputs and outputs; of several ranks' memory for so many ranks, 0: for any number.
template <class... Input, class... Output, int Ranks>
struct map_cursors<kernels::list<Input...>, kernels::list<Output...>, Ranks> {
    members<typename Input::template cursor<Ranks>...> in;
    members<typename detail::cursor_of<Output, !Output::is_sum, Ranks>::type...> out;

    /// Of the kernel's arguments; Whole: of the whole space, else of a tile.
    template <bool Whole, class Arguments>
    __device__ static map_cursors open(const Arguments& a, const tile_range& tile)
    {
        map_cursors k;
        k.template open_all<Whole>(a, tile, std::make_integer_sequence<int, sizeof...(Input)>{},
                                   std::make_integer_sequence<int, sizeof...(Output)>{});
        return k;
    }

  private:
    template <bool Whole, class Arguments, int... I, int... O>
    __device__ void open_all(const Arguments& a, const tile_range& tile, std::integer_sequence<int, I...>,
                             std::integer_sequence<int, O...>)
    {
        ((get<I>(in) = Input::template open<Ranks, Whole>(get<I>(a.in), a.space, tile)), ...);
        (open_output<Whole, O, Output>(a, tile), ...);
    }
    template <bool Whole, int O, class Out, class Arguments>
    __device__ void open_output(const Arguments& a, const tile_range& tile)
    {
        if constexpr (!Out::is_sum) {
            auto& to = get<O>(out);
            to = Out::template open<Ranks, Whole>(get<O>(a.out), a.space, tile);
            // Of a value that is updated in place there is one address.
            if constexpr (Whole && Out::like >= 0 && (Ranks != 0 || !Out::to_all)) {
                Out::set_first(to, const_cast<typename Out::T*>(get<Out::like>(in).p));
            }
        }
    }
};

}  // namespace plait::cuda
