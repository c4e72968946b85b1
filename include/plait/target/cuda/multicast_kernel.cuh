// The kernel of a pass over elements that adds up ranks, and stores to all of them, by multicast.
#pragma once

#include <plait/target/cuda/map_kernel.cuh>
#include <plait/target/cuda/multimem.cuh>

#include <cstdint>

namespace plait::cuda {

/// Where the same elements lie in the memory of several ranks, and where all of them are reached at once.
template <class T>
struct multicast_pointers {
    peer_pointers<T, 0> of;
    T* all;
};

/// The sum over all ranks, by the switch; of elements that are no whole request, by this rank in rank order.
template <dtype D, reach How>
struct multicast_input : combined_input<D, reduction::sum, How> {
    using base = combined_input<D, reduction::sum, How>;
    using typename base::T;
    using typename base::value;
    using channel = multicast_channel;
    static constexpr bool combines = false;  // the code is the same for any number of ranks

    template <int Ranks>
    using cursor = multicast_pointers<const T>;
    template <int Ranks, bool Whole>
    __device__ static cursor<Ranks> open(const channel& c, const walk&, const tile_range& t)
    {
        constexpr bool whole = Whole || How != reach::line;
        return {peer_pointers<const T, 0>::template open<whole>(c, t), reinterpret_cast<const T*>(c.multicast) + (whole ? 0 : t.begin)};
    }
    template <class Cursor>
    __device__ static void move(Cursor& k, std::int64_t by)
    {
        base::move(k, by);
        k.all += by;
    }
    template <int N, class Cursor, class Place>
    __device__ static void load(const channel& c, const walk& w, const Cursor& k, const Place& at, value (&to)[N])
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        if constexpr (is_multimem_size<N * static_cast<int>(sizeof(T))>) {
            const auto all = multimem_sum<D, N>(k.all + offset_to<How>(c, w, at));
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = computed<D>(all.element[e]); }
            return;
        }
#endif
        base::template load<N>(c, w, k, at, to);
    }
};

/// Stores to all ranks in one request; elements that are no whole one, to one rank after the other.
template <int V, dtype D, reach How>
struct multicast_output : memory_output<V, D, true, How, -1> {
    using base = memory_output<V, D, true, How, -1>;
    using typename base::T;
    using channel = multicast_channel;
    static constexpr bool to_all = false;  // as above

    template <int Ranks>
    using cursor = multicast_pointers<T>;
    template <int Ranks, bool Whole>
    __device__ static cursor<Ranks> open(const channel& c, const walk&, const tile_range& t)
    {
        constexpr bool whole = Whole || How != reach::line;
        return {peer_pointers<T, 0>::template open<whole>(c, t), reinterpret_cast<T*>(c.multicast) + (whole ? 0 : t.begin)};
    }
    template <int N, class Cursor>
    __device__ static bool aligned(const Cursor& k, int i)
    {
        return base::template aligned<N>(k.of, i);
    }
    template <int N, class Cursor, class Place, class From>
    __device__ static void store(const channel& c, const walk& w, const Cursor& k, const Place& at, const From (&x)[N])
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        if constexpr (is_multimem_size<N * static_cast<int>(sizeof(T))>) {
            return multimem_store(k.all + offset_to<How>(c, w, at), stored_packet<D>(x));
        }
#endif
        base::template store<N>(c, w, k.of, at, x);
    }
};

/// What stands in a kernel by multicast for one of its values.
template <class Value>
struct by_multicast {
    using type = Value;
    static constexpr bool is_other = false;
};
template <dtype D, reach How>
requires(has_multimem_sum<D> && (How == reach::line || How == reach::column || How == reach::strided))
struct by_multicast<combined_input<D, reduction::sum, How>> {
    using type = multicast_input<D, How>;
    static constexpr bool is_other = true;
};
template <int V, dtype D, reach How, int Like>
struct by_multicast<memory_output<V, D, true, How, Like>> {
    using type = multicast_output<V, D, How>;
    static constexpr bool is_other = true;
};

template <class Body>
struct multicast_body;
/// The same kernel by multicast, and which of its operands and results are: as bits, by number.
template <class... Input, class Steps, class... Output>
struct multicast_body<map_body<kernels::list<Input...>, Steps, kernels::list<Output...>>> {
    using type = map_body<kernels::list<typename by_multicast<Input>::type...>, Steps, kernels::list<typename by_multicast<Output>::type...>>;
    template <class... Value>
    static constexpr std::uint64_t others()
    {
        std::uint64_t bits = 0;
        int i = 0;
        ((bits |= std::uint64_t{by_multicast<Value>::is_other} << i++), ...);
        return bits;
    }
    static constexpr std::uint64_t operands = others<Input...>();
    static constexpr std::uint64_t results = others<Output...>();
};

template <class Body>
__global__ void __launch_bounds__(block_threads, 2) multicast_kernel(const __grid_constant__ typename Body::arguments a)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    meet(a.before);
    fence_between_addresses();
    Body::run_between(a);
    fence_between_addresses();
    meet(a.after);
#endif
}

}  // namespace plait::cuda
