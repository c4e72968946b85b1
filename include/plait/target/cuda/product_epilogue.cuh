// What becomes of a product's elements: they are stored, or a pass over elements goes on with them in registers.
#pragma once

#include <plait/target/cuda/map_kernel.cuh>
#include <plait/target/cuda/product_arguments.cuh>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace plait::cuda {

/// c is stored as dtype C.
template <dtype C>
struct store_product {
    static constexpr bool is_short = true;  // in instructions
    struct arguments {};

    __device__ explicit store_product(const arguments&) {}
    /// Takes N neighbours of c, of which the first is `at` elements from its beginning.
    template <int N, class Sum>
    __device__ void put(const product_arguments& p, std::int64_t at, const Sum (&x)[N]) const
    {
        stored_packet<C>(x).store(reinterpret_cast<stored_t<C>*>(p.out) + at);
    }
};

/// c, rounded to dtype C as if it had been stored, is operand `J` of a pass over elements: c itself is not stored.
template <dtype C, int J, class Body>
class continue_product;
template <dtype C, int J, class... Input, class... Step, class... Output>
class continue_product<C, J, map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>>> {
    using body = map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>>;

  public:
    static constexpr bool is_short = false;
    using arguments = typename body::arguments;

    __device__ explicit continue_product(const arguments& a) : a_(a), at_(cursors::template open<true>(a, tile_range{})) {}
    template <int N, class Sum>
    __device__ void put(const product_arguments& p, std::int64_t at, const Sum (&x)[N]) const
    {
        // c lies in its slot as the elements of the pass are numbered.
        evaluate(static_cast<unsigned>(p.first + at), stored_packet<C>(x), inputs{}, outputs{});
    }

  private:
    using inputs = std::make_integer_sequence<int, sizeof...(Input)>;
    using outputs = std::make_integer_sequence<int, sizeof...(Output)>;
    using cursors = map_cursors<kernels::list<Input...>, kernels::list<Output...>, 0>;

    template <int N, int... I, int... O>
    __device__ void evaluate(unsigned i, const packet<stored_t<C>, N>& c, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>) const
    {
        const auto at = body::template place_of<false>(a_.space, 0, i);
        members<group_of<typename Input::value, N>...> loaded;
        (load<I, Input>(c, at, get<I>(loaded).v), ...);
        members<group_of<typename body::template value_at<Output::value>, N>...> results;
#pragma unroll
        for (int e = 0; e < N; ++e) {
            typename body::registers r;
            ((kernels::at<static_cast<std::size_t>(I)>(r) = get<I>(loaded).v[e]), ...);
            body::steps::evaluate(a_.constants, r);
            ((get<O>(results).v[e] = kernels::at<static_cast<std::size_t>(Output::value)>(r)), ...);
        }
        (Output::template store<N>(get<O>(a_.out), a_.space, get<O>(at_.out), at, get<O>(results).v), ...);
    }
    template <int I, class In, int N, class Value>
    __device__ void load(const packet<stored_t<C>, N>& c, const place<body::places>& at, Value (&to)[N]) const
    {
        if constexpr (I == J) {
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = computed<C>(c.element[e]); }
        } else {
            In::template load<N>(get<I>(a_.in), a_.space, get<I>(at_.in), at, to);
        }
    }
    const arguments& a_;
    cursors at_;
};

/// Gives N neighbours of a row of c to an epilogue, as far as they are inside. `batch`: where c begins, in elements.
template <int N, class Epilogue, class Sum>
__device__ void put_neighbours(const Epilogue& to, const product_arguments& p, std::int64_t batch, std::int64_t row,
                               std::int64_t column, const Sum (&x)[N])
{
    if (row >= p.m || column >= p.n) { return; }
    const std::int64_t at = batch + row * p.c.row + column * p.c.column;
    if (p.out_vectors && column + N <= p.n) { return to.template put<N>(p, at, x); }
#pragma unroll (Epilogue::is_short ? N : 1)
    for (int e = 0; e < N; ++e) {
        Sum one[1]{};
#pragma unroll
        for (int f = 0; f < N; ++f) { one[0] = e == f ? x[f] : one[0]; }  // chosen, not indexed: x stays in registers
        if (column + e < p.n) { to.template put<1>(p, at + e * p.c.column, one); }
    }
}

}  // namespace plait::cuda
