// What a kernel's inputs are on a device: this rank's memory, what several ranks hold combined, scalars, dropout masks.
#pragma once

#include <plait/kernels/tile.hpp>
#include <plait/plan/plan.hpp>
#include <plait/target/cuda/elements.cuh>
#include <plait/target/cuda/mask_input.cuh>
#include <plait/target/cuda/places.cuh>

#include <cstdint>

namespace plait::cuda {

/// Memory of one rank.
template <dtype D, reach How>
struct memory_input {
    static constexpr bool is_argument = false;
    static constexpr bool combines = false;
    static constexpr reach how = How;
    using value = kernels::compute_t<D>;
    using channel = memory_channel;
    using T = stored_t<D>;
    static constexpr arrangement needs = arrangement_of(How);
    static constexpr int element_bytes = is_one_for_a_group<How> ? 0 : static_cast<int>(sizeof(T));

    template <int Ranks>
    struct cursor {
        const T* p;
        value v;
    };
    template <int Ranks, bool Whole>
    __device__ static cursor<Ranks> open(const channel& c, const walk&, const tile_range& t)
    {
        cursor<Ranks> k{};
        if constexpr (How == reach::line) { k.p = tile_address<Whole, const T>(c, t); }
        else if constexpr (How == reach::single) { k.v = computed<D>(*in_global_memory(reinterpret_cast<const T*>(c.base))); }
        else if constexpr (How == reach::per_tensor) { k.v = computed<D>(in_global_memory(reinterpret_cast<const T*>(c.base))[t.tensor]); }
        else { k.p = reinterpret_cast<const T*>(c.base); }
        return k;
    }
    template <class Cursor>
    __device__ static void move(Cursor& k, std::int64_t by)
    {
        k.p += by;
    }
    template <int N, class Cursor>
    __device__ static bool aligned(const Cursor& k, int i)
    {
        if constexpr (How == reach::column) { return is_aligned_for<N>(k.p, sizeof(T)); }  // rows are whole groups
        else { return How != reach::line || is_aligned_for<N>(k.p + i, sizeof(T)); }
    }
    template <int N, class Cursor, class Place>
    __device__ static void load(const channel& c, const walk& w, const Cursor& k, const Place& at, value (&to)[N])
    {
        if constexpr (How == reach::single || How == reach::per_tensor) {
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = k.v; }
        } else {
            constexpr int count = is_one_for_a_group<How> ? 1 : N;
            const auto all = packet<T, count>::load(k.p + offset_to<How>(c, w, at));
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = computed<D>(all.element[e % count]); }
        }
    }
};

/// Memory of all ranks, combined in rank order; f16 and bf16 in f32, rounded once.
template <dtype D, reduction R, reach How>
struct combined_input {
    static constexpr bool is_argument = false;
    static constexpr bool combines = true;
    static constexpr reach how = How;
    using value = kernels::compute_t<D>;
    using channel = peers_channel;
    using T = stored_t<D>;
    static constexpr arrangement needs = arrangement_of(How);
    static constexpr int element_bytes = is_one_for_a_group<How> ? 0 : static_cast<int>(sizeof(T));
    static constexpr bool is_constant = How == reach::single || How == reach::per_tensor;

    template <int Ranks>
    struct cursor {
        peer_pointers<const T, Ranks> of;
        value v;
    };
    template <int Ranks, bool Whole>
    __device__ static cursor<Ranks> open(const channel& c, const walk&, const tile_range& t)
    {
        cursor<Ranks> k{peer_pointers<const T, Ranks>::template open<Whole || How != reach::line>(c, t), {}};
        if constexpr (is_constant) {
            value v[1];
            combine_at<1>(k.of, How == reach::per_tensor ? t.tensor : 0, v);
            k.v = v[0];
        }
        return k;
    }
    template <class Cursor>
    __device__ static void move(Cursor& k, std::int64_t by)
    {
        k.of.offset += by;
    }
    /// All ranks' buffers are aligned alike, or the walk has no vectors.
    template <int N, class Cursor>
    __device__ static bool aligned(const Cursor& k, int i)
    {
        if constexpr (How == reach::column) { return k.of.count == 0 || is_aligned_for<N>(k.of[0], sizeof(T)); }
        else { return How != reach::line || k.of.count == 0 || is_aligned_for<N>(k.of[0] + i, sizeof(T)); }
    }
    template <int N, class Cursor, class Place>
    __device__ static void load(const channel& c, const walk& w, const Cursor& k, const Place& at, value (&to)[N])
    {
        if constexpr (is_constant) {
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = k.v; }
        } else {
            constexpr int count = is_one_for_a_group<How> ? 1 : N;
            value all[count];
            combine_at<count>(k.of, offset_to<How>(c, w, at), all);
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = all[e % count]; }
        }
    }

  private:
    template <int N, int Ranks, class Offset>
    __device__ static void combine_at(const peer_pointers<const T, Ranks>& of, Offset i, value (&to)[N])
    {
        if constexpr (Ranks != 0) {
            packet<T, N> all[Ranks];
#pragma unroll
            for (int r = 0; r < Ranks; ++r) { all[r] = packet<T, N>::load(of[r] + i); }
#pragma unroll
            for (int e = 0; e < N; ++e) {
                to[e] = computed<D>(all[0].element[e]);
#pragma unroll
                for (int r = 1; r < Ranks; ++r) { to[e] = kernels::combine<R, value>(to[e], computed<D>(all[r].element[e])); }
            }
            round_all(to);
        } else {
            if (of.count == 0) {  // not the root: nothing arrives here
#pragma unroll
                for (int e = 0; e < N; ++e) { to[e] = value{}; }
                return;
            }
            const auto first = packet<T, N>::load(of[0] + i);
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = computed<D>(first.element[e]); }
#pragma unroll (N > 1 ? 4 : 1)
            for (int r = 1; r < of.count; ++r) {
                const auto next = packet<T, N>::load(of[r] + i);
#pragma unroll
                for (int e = 0; e < N; ++e) { to[e] = kernels::combine<R, value>(to[e], computed<D>(next.element[e])); }
            }
            round_all(to);
        }
    }
    template <int N>
    __device__ static void round_all(value (&x)[N])
    {
        if constexpr (D == dtype::f16 || D == dtype::bf16) {
            const packet<T, N> all = stored_packet<D>(x);
#pragma unroll
            for (int e = 0; e < N; ++e) { x[e] = computed<D>(all.element[e]); }
        }
    }
};

/// An input that is the same for all elements of a run; `Derived::of(channel)` is its value, on the host as well.
template <class Derived, class Value, class Channel>
struct argument_input {
    using value = Value;
    using channel = Channel;
    static constexpr bool is_argument = true;
    static constexpr bool combines = false;
    static constexpr arrangement needs = arrangement::line;
    static constexpr int element_bytes = 0;
    template <int Ranks>
    struct cursor {};
    template <int Ranks, bool Whole>
    __device__ static cursor<Ranks> open(const channel&, const walk&, const tile_range&)
    {
        return {};
    }
    template <int N, class Cursor>
    __device__ static bool aligned(const Cursor&, int)
    {
        return true;
    }
    template <int N, class Cursor, class Place>
    __device__ static void load(const channel& c, const walk&, const Cursor&, const Place&, value (&to)[N])
    {
#pragma unroll
        for (int e = 0; e < N; ++e) { to[e] = Derived::of(c); }
    }
};

/// A scalar argument of the run, by its bits.
struct scalar_channel {
    std::uint64_t bits = 0;
};
template <dtype D>
struct scalar_input : argument_input<scalar_input<D>, kernels::compute_t<D>, scalar_channel> {
    __host__ __device__ static kernels::compute_t<D> of(const scalar_channel& c)
    {
        stored_t<D> x;
        __builtin_memcpy(&x, &c.bits, sizeof x);
        return computed<D>(x);
    }
};

/// A number that is known at compile time.
struct no_channel {};
template <std::uint64_t Bits>
struct number_input : argument_input<number_input<Bits>, double, no_channel> {
    __host__ __device__ static double of(const no_channel&) { return __builtin_bit_cast(double, Bits); }
};

}  // namespace plait::cuda
