// The innermost loop of every kernel: loads, the steps in registers, stores, over one contiguous run of elements.
#pragma once

#include <plait/kernels/ssa.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace plait::kernels {

/// How an input is read in a tile: `varies` one element after the other, `uniform` one for the whole run;
/// `sum_of_two`, and its likes for the other operators, two streams that are combined: the last step of a reduction
/// over ranks.
enum class access : std::uint8_t { varies, uniform, two };

/// An input of dtype D. `Combine` is for access::two.
template <dtype D, access How, reduction Combine>
struct input {
    static constexpr dtype type = D;
    static constexpr access how = How;
    static constexpr reduction combine = Combine;
};
/// A number known at compile time, by the bits of a double.
template <std::uint64_t Bits>
struct number {
    static constexpr std::uint64_t bits = Bits;
};
/// An output: value `V` is stored as dtype D.
template <int V, dtype D>
struct output {
    static constexpr int value = V;
    static constexpr dtype type = D;
};

template <reduction R, class T>
PLAIT_INLINE T combine(T a, T b)
{
    if constexpr (R == reduction::product) { return product_of(a, b); }
    else if constexpr (R == reduction::min) { return math::min(a, b); }
    else if constexpr (R == reduction::max) { return math::max(a, b); }
    else { return sum_of(a, b); }
}

template <class... T>
struct list {
    static constexpr int size = static_cast<int>(sizeof...(T));
};

/// The pointers of a tile: for each input one (and a second where access::two), for each output one.
struct tile_pointers {
    static constexpr int max_inputs = 40;
    static constexpr int max_outputs = 24;
    const void* in[max_inputs];
    const void* second[max_inputs];
    void* out[max_outputs];
};

/// What an input contributes in a loop: typed pointers, or a value that is the same for the whole run.
template <std::size_t I, class Input>
struct reader;
template <std::size_t I, dtype D, reduction R>
struct reader<I, input<D, access::varies, R>> {
    using value = compute_t<D>;
    const element_t<D>* p;
    PLAIT_INLINE explicit reader(const tile_pointers& t) : p(static_cast<const element_t<D>*>(t.in[I])) {}
    PLAIT_INLINE value load(std::size_t i) const
    {
        if constexpr (D == dtype::boolean) {
            return reinterpret_cast<const unsigned char*>(p)[i] != 0;  // which GCC vectorises, unlike a bool
        } else {
            return static_cast<value>(p[i]);
        }
    }
};
template <std::size_t I, dtype D, reduction R>
struct reader<I, input<D, access::uniform, R>> {
    using value = compute_t<D>;
    value v;
    PLAIT_INLINE explicit reader(const tile_pointers& t) : v(static_cast<value>(*static_cast<const element_t<D>*>(t.in[I]))) {}
    PLAIT_INLINE value load(std::size_t) const { return v; }
};
template <std::size_t I, dtype D, reduction R>
struct reader<I, input<D, access::two, R>> {
    using value = compute_t<D>;
    const element_t<D>* p;
    const element_t<D>* q;
    PLAIT_INLINE explicit reader(const tile_pointers& t)
        : p(static_cast<const element_t<D>*>(t.in[I])), q(static_cast<const element_t<D>*>(t.second[I]))
    {
    }
    PLAIT_INLINE value load(std::size_t i) const { return combine<R, value>(p[i], q[i]); }
};
template <std::size_t I, std::uint64_t Bits>
struct reader<I, number<Bits>> {
    using value = double;
    PLAIT_INLINE explicit reader(const tile_pointers&) {}
    PLAIT_INLINE value load(std::size_t) const { return __builtin_bit_cast(double, Bits); }
};

template <std::size_t I, class Output>
struct writer;
template <std::size_t I, int V, dtype D>
struct writer<I, output<V, D>> {
    element_t<D>* p;
    PLAIT_INLINE explicit writer(const tile_pointers& t) : p(static_cast<element_t<D>*>(t.out[I])) {}
    template <class Registers>
    PLAIT_INLINE void store(std::size_t i, const Registers& r) const
    {
        p[i] = convert_to_element(at<static_cast<std::size_t>(V)>(r));
    }
    template <class T>
    PLAIT_INLINE static element_t<D> convert_to_element(T x)
    {
        if constexpr (D == dtype::f16 || D == dtype::bf16) { return element_t<D>(static_cast<float>(x)); }
        else { return convert<element_t<D>>(x); }
    }
};

template <class Inputs, class Steps, class Outputs>
struct tile_kernel;

/// A kernel's body. Inputs are values 0 ... n_in-1; step s is value n_in + s.
template <class... Input, class... Step, class... Output>
struct tile_kernel<list<Input...>, list<Step...>, list<Output...>> {
    static constexpr std::size_t n_in = sizeof...(Input);

    /// Element i alone, as one thread of a device does it.
    PLAIT_INLINE static void run_element(const tile_pointers& t, std::size_t i)
    {
        PLAIT_NO_CONTRACT
        const all_streams s(t);
        element(s, i, inputs{}, steps{}, outputs{});
    }

    /// Runs over elements 0 ... n-1. Outputs may be the very memory of inputs (in place), never shifted against them.
    static void run(const tile_pointers& t, std::size_t n)
    {
        PLAIT_NO_CONTRACT
        const all_streams s(t);
        std::size_t i = 0;
        // A fixed number of iterations is what g++ vectorises at -O2, too.
        for (; i + block <= n; i += block) {
            PLAIT_INDEPENDENT_LOOP
            for (std::size_t k = 0; k < block; ++k) { element(s, i + k, inputs{}, steps{}, outputs{}); }
        }
        PLAIT_INDEPENDENT_LOOP
        for (; i < n; ++i) { element(s, i, inputs{}, steps{}, outputs{}); }
    }

  private:
    static constexpr std::size_t block = 32;
    using inputs = std::index_sequence_for<Input...>;
    using steps = std::index_sequence_for<Step...>;
    using outputs = std::index_sequence_for<Output...>;

    template <class In, class Out>
    struct streams;
    template <std::size_t... I, std::size_t... O>
    struct streams<std::index_sequence<I...>, std::index_sequence<O...>> : reader<I, Input>..., writer<O, Output>... {
        PLAIT_INLINE explicit streams(const tile_pointers& t) : reader<I, Input>(t)..., writer<O, Output>(t)... {}
    };
    using all_streams = streams<inputs, outputs>;

    template <std::size_t... I, std::size_t... S, std::size_t... O>
    PLAIT_INLINE static void element(const all_streams& s, std::size_t i, std::index_sequence<I...>,
                                     std::index_sequence<S...>, std::index_sequence<O...>)
    {
        registers<std::make_index_sequence<n_in + sizeof...(S)>, typename reader<I, Input>::value...,
                  compute_t<Step::type>...>
            r;
        ((at<I>(r) = static_cast<const reader<I, Input>&>(s).load(i)), ...);
        ((at<n_in + S>(r) = evaluate<Step>(r)), ...);
        (static_cast<const writer<O, Output>&>(s).store(i, r), ...);
    }
};

}  // namespace plait::kernels
