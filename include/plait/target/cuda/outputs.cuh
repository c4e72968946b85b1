// What a kernel's outputs are on a device: memory of one rank or of all, and sums of everything.
#pragma once

#include <plait/target/cuda/inputs.cuh>

#include <limits>
#include <type_traits>

namespace plait::cuda {

/// Value `V`, stored as dtype D: to one rank's memory, or to that of all ranks. Like: the input that lies where this rank's
/// result goes, or -1.
template <int V, dtype D, bool ToAll, reach How, int Like>
struct memory_output {
    static constexpr int like = Like;
    static constexpr int value = V;
    static constexpr dtype type = D;
    static constexpr bool is_sum = false;
    static constexpr bool to_all = ToAll;
    static constexpr reach how = How;
    using channel = std::conditional_t<ToAll, peers_channel, memory_channel>;
    using T = stored_t<D>;
    static constexpr arrangement needs = arrangement_of(How);
    static constexpr int element_bytes = static_cast<int>(sizeof(T));

    template <int Ranks>
    using cursor = typename std::conditional_t<ToAll, std::type_identity<peer_pointers<T, Ranks>>, std::type_identity<T*>>::type;
    template <int Ranks, bool Whole>
    __device__ static auto open(const channel& c, const walk&, const tile_range& t)
    {
        constexpr bool whole = Whole || How != reach::line;
        if constexpr (ToAll) { return peer_pointers<T, Ranks>::template open<whole>(c, t); }
        else { return tile_address<whole, T>(c, t); }
    }
    template <class Cursor>
    __device__ static void set_first(Cursor& k, T* p)
    {
        if constexpr (ToAll) { k.p[0] = p; }
        else { k = p; }
    }
    template <int N, class Cursor>
    __device__ static bool aligned(const Cursor& k, int i)
    {
        if constexpr (How != reach::line) { return true; }
        else if constexpr (ToAll) { return is_aligned_for<N>(k[0] + i, sizeof(T)); }
        else { return is_aligned_for<N>(k + i, sizeof(T)); }
    }
    template <int N, class Cursor, class Place, class From>
    __device__ static void store(const channel& c, const walk& w, const Cursor& k, const Place& at, const From (&x)[N])
    {
        const packet<T, N> all = stored_packet<D>(x);
        const auto offset = offset_to<How>(c, w, at);
        if constexpr (!ToAll) {
            all.store(k + offset);
        } else if constexpr (Cursor::is_static) {
#pragma unroll
            for (int r = 0; r < Cursor::count; ++r) { all.store(k[r] + offset); }
        } else {
#pragma unroll 1
            for (int r = 0; r < k.count; ++r) { all.store(k[r] + offset); }
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
    static constexpr bool is_mean = R == reduction::mean;
    static constexpr reduction over = is_mean ? reduction::sum : R;
    static constexpr bool to_all = false;
    static constexpr arrangement needs = arrangement::line;
    static constexpr int element_bytes = 0;
    using element = std::conditional_t<D == dtype::f16 || D == dtype::bf16, float, element_t<D>>;
    using total = std::conditional_t<std::is_integral_v<element>, std::int64_t, double>;
    using channel = no_channel;

    /// What combining changes no bit with.
    static constexpr total identity = plait::cuda::detail::identity_of<over, element, total>();
};

}  // namespace plait::cuda
