// What a kernel's outputs are on a device: memory of one rank or of all, and sums of everything.
#pragma once

#include <plait/target/cuda/inputs.cuh>

#include <limits>
#include <type_traits>

namespace plait::cuda {

/// The value as an element in memory.
template <dtype D, class From>
__device__ stored_t<D> as_stored(From x)
{
    if constexpr (D == dtype::f16 || D == dtype::bf16) { return element_t<D>(static_cast<float>(x)); }
    else { return static_cast<stored_t<D>>(kernels::convert<element_t<D>>(x)); }
}

/// Value `V`, stored as dtype D: to one rank's memory, or to that of all ranks.
template <int V, dtype D, bool ToAll, reach How>
struct memory_output {
    static constexpr int value = V;
    static constexpr bool is_sum = false;
    static constexpr bool to_all = ToAll;
    using channel = memory_channel;
    using T = stored_t<D>;
    static constexpr bool is_strided = How >= reach::strided;
    static constexpr int element_bytes = static_cast<int>(sizeof(T));

    struct cursor {
        T* p;
        tile_range tile;
    };
    __device__ static cursor open(const channel& c, const walk&, const tile_range& t)
    {
        cursor k{};
        k.tile = t;
        if constexpr (is_strided) { k.p = reinterpret_cast<T*>(c.base); }
        else if constexpr (ToAll) { k.p = tile_address<T>(c, t, c.first_rank); }
        else { k.p = own_tile_address<T>(c, t); }
        return k;
    }
    template <int N>
    __device__ static bool aligned(const cursor& k, int i)
    {
        return is_strided || is_aligned_for<N>(k.p + i, sizeof(T));
    }
    template <int N, class Place, class From>
    __device__ static void store(const channel& c, const walk& w, const cursor& k, const Place& at, const From (&x)[N])
    {
        packet<T, N> all;
#pragma unroll
        for (int e = 0; e < N; ++e) { all.element[e] = as_stored<D>(x[e]); }
        std::int64_t offset = at.i;
        if constexpr (is_strided) { offset = offset_of(w, at.at, c.stride); }
        if constexpr (!ToAll) {
            all.store(k.p + offset);
        } else {
#pragma unroll 4
            for (int s = 0; s < c.ranks; ++s) {  // each rank begins with another one
                const int r = c.first_rank + s < c.ranks ? c.first_rank + s : c.first_rank + s - c.ranks;
                if constexpr (is_strided) { all.store(reinterpret_cast<T*>(c.table[r]) + c.offset + offset); }
                else { all.store(tile_address<T>(c, k.tile, r) + offset); }
            }
        }
    }
};

namespace detail {
/// The host's identity of an operator, as a total.
template <reduction R, class Element, class Total>
constexpr Total identity_of()
{
    using limits = std::numeric_limits<Element>;
    if constexpr (R == reduction::product) { return Total{1}; }
    else if constexpr (R == reduction::min) { return limits::has_infinity ? limits::infinity() : limits::max(); }
    else if constexpr (R == reduction::max) { return limits::has_infinity ? -limits::infinity() : limits::lowest(); }
    else if constexpr (std::is_floating_point_v<Total>) { return -0.0; }
    else { return 0; }
}
}  // namespace detail

/// Value `V`, added up over the space, or per tensor; the result has dtype D. Sums are taken in f64 or 64-bit integers.
template <int V, dtype D, reduction R>
struct sum_output {
    static constexpr int value = V;
    static constexpr bool is_sum = true;
    static constexpr dtype type = D;
    static constexpr reduction over = R == reduction::mean ? reduction::sum : R;
    static constexpr bool is_strided = false;
    static constexpr int element_bytes = 0;
    using element = std::conditional_t<D == dtype::f16 || D == dtype::bf16, float, element_t<D>>;
    using total = std::conditional_t<std::is_integral_v<element>, std::int64_t, double>;
    using channel = no_channel;

    /// What combining changes no bit with.
    static constexpr total identity = plait::cuda::detail::identity_of<over, element, total>();
};

}  // namespace plait::cuda
