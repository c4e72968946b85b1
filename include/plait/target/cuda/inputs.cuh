// What a kernel's inputs are on a device: this rank's memory, what several ranks hold combined, scalars, dropout masks.
#pragma once

#include <plait/core/philox.hpp>
#include <plait/kernels/tile.hpp>
#include <plait/plan/plan.hpp>
#include <plait/target/cuda/packet.cuh>
#include <plait/target/cuda/walk.cuh>

#include <cstdint>
#include <type_traits>

namespace plait::cuda {

/// How a value is found along the space of a pass. line: one element after the other; single: one for all; per_tensor: one
/// for each tensor; strided: by coordinates, consecutive along the innermost dimension; broadcast: by coordinates, the same
/// along it.
enum class reach : std::uint8_t { line, single, per_tensor, strided, broadcast };

/// An operand or a result in memory.
struct memory_channel {
    std::byte* base = nullptr;          // element 0 of the space (unless the value is in pieces)
    std::byte* const* table = nullptr;  // by rank, then by piece, where ranks or pieces are several
    std::int64_t offset = 0;            // elements from the table's addresses to element 0 of the space
    int ranks = 1;                      // that are combined, or written
    int first_rank = 0;                 // with which writing begins
    int pieces = 0;                     // of a scattered value; 0: not scattered
    std::int64_t stride[max_dims]{};    // of strided values
};

/// Where a thread is: element `i` of its tile, at these coordinates (of strided spaces).
template <bool Strided>
struct place {
    int i;
};
template <>
struct place<true> {
    int i;
    coordinates at;
};

/// Element 0 of a tile in a value's memory, for one rank or one piece.
template <class T>
__device__ T* tile_address(const memory_channel& c, const tile_range& t, int rank)
{
    if (c.pieces != 0) { return reinterpret_cast<T*>(c.table[rank * c.pieces + t.tensor]) + t.in_piece; }
    return reinterpret_cast<T*>(c.table[rank]) + c.offset + t.begin;
}
template <class T>
__device__ T* own_tile_address(const memory_channel& c, const tile_range& t)
{
    if (c.pieces != 0) { return reinterpret_cast<T*>(c.table[t.tensor]) + t.in_piece; }
    return reinterpret_cast<T*>(c.base) + t.begin;
}
template <int N>
__device__ bool is_aligned_for(const void* p, int bytes)
{
    return reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes * N < 16 ? bytes * N : 16) == 0;
}

template <dtype D>
__device__ kernels::compute_t<D> computed(stored_t<D> x)
{
    if constexpr (D == dtype::boolean) { return x != 0; }
    else { return static_cast<kernels::compute_t<D>>(x); }
}

/// Memory of one rank.
template <dtype D, reach How>
struct memory_input {
    static constexpr bool combines = false;
    using value = kernels::compute_t<D>;
    using channel = memory_channel;
    using T = stored_t<D>;
    static constexpr bool is_strided = How >= reach::strided;
    static constexpr int element_bytes = How == reach::line || How == reach::strided ? static_cast<int>(sizeof(T)) : 0;

    struct cursor {
        const T* p;
        value v;
    };
    __device__ static cursor open(const channel& c, const walk&, const tile_range& t)
    {
        cursor k{};
        if constexpr (How == reach::line) { k.p = own_tile_address<T>(c, t); }
        else if constexpr (How == reach::single) { k.v = computed<D>(*reinterpret_cast<const T*>(c.base)); }
        else if constexpr (How == reach::per_tensor) { k.v = computed<D>(reinterpret_cast<const T*>(c.base)[t.tensor]); }
        else { k.p = reinterpret_cast<const T*>(c.base); }
        return k;
    }
    template <int N>
    __device__ static bool aligned(const cursor& k, int i)
    {
        return How != reach::line || is_aligned_for<N>(k.p + i, sizeof(T));
    }
    template <int N, class Place>
    __device__ static void load(const channel& c, const walk& w, const cursor& k, const Place& at, value (&to)[N])
    {
        if constexpr (How == reach::single || How == reach::per_tensor) {
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = k.v; }
        } else {
            const T* from = k.p;
            if constexpr (How == reach::line) { from += at.i; }
            else { from += offset_of(w, at.at, c.stride); }
            if constexpr (How == reach::broadcast) {
                const value v = computed<D>(*from);
#pragma unroll
                for (int e = 0; e < N; ++e) { to[e] = v; }
            } else {
                const auto all = packet<T, N>::load(from);
#pragma unroll
                for (int e = 0; e < N; ++e) { to[e] = computed<D>(all.element[e]); }
            }
        }
    }
};

/// Memory of all ranks, combined in rank order; f16 and bf16 in f32, rounded once.
template <dtype D, reduction R, reach How>
struct combined_input {
    static constexpr bool combines = true;
    using value = kernels::compute_t<D>;
    using channel = memory_channel;
    using T = stored_t<D>;
    static constexpr bool is_strided = How >= reach::strided;
    static constexpr int element_bytes = How == reach::line || How == reach::strided ? static_cast<int>(sizeof(T)) : 0;

    struct cursor {
        const T* own;
        tile_range tile;
    };
    __device__ static cursor open(const channel& c, const walk&, const tile_range& t)
    {
        cursor k{};
        k.tile = t;
        if constexpr (How == reach::line) { k.own = c.ranks == 0 ? nullptr : tile_address<T>(c, t, 0); }
        return k;
    }
    /// All ranks' buffers are aligned alike, or the walk has no vectors.
    template <int N>
    __device__ static bool aligned(const cursor& k, int i)
    {
        return How != reach::line || is_aligned_for<N>(k.own + i, sizeof(T));
    }
    template <int N, class Place>
    __device__ static void load(const channel& c, const walk& w, const cursor& k, const Place& at, value (&to)[N])
    {
        if (c.ranks == 0) {  // not the root: nothing arrives here
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = value{}; }
            return;
        }
        std::int64_t offset = 0;
        if constexpr (is_strided) { offset = offset_of(w, at.at, c.stride) + c.offset; }
        const auto address = [&](int r) -> const T* {
            if constexpr (is_strided) { return reinterpret_cast<const T*>(c.table[r]) + offset; }
            else if constexpr (How == reach::line) { return tile_address<T>(c, k.tile, r) + at.i; }
            else if constexpr (How == reach::per_tensor) { return reinterpret_cast<const T*>(c.table[r]) + c.offset + k.tile.tensor; }
            else { return reinterpret_cast<const T*>(c.table[r]) + c.offset; }
        };
        constexpr bool one = How != reach::line && How != reach::strided;
        constexpr int count = one ? 1 : N;
        value sum[count];
        const auto first = packet<T, count>::load(address(0));
#pragma unroll
        for (int e = 0; e < count; ++e) { sum[e] = computed<D>(first.element[e]); }
#pragma unroll 4
        for (int r = 1; r < c.ranks; ++r) {
            const auto next = packet<T, count>::load(address(r));
#pragma unroll
            for (int e = 0; e < count; ++e) { sum[e] = kernels::combine<R, value>(sum[e], computed<D>(next.element[e])); }
        }
#pragma unroll
        for (int e = 0; e < N; ++e) { to[e] = kernels::round_to<D>(sum[one ? 0 : e]); }
    }
};

/// A scalar argument of the run, by its bits.
struct scalar_channel {
    std::uint64_t bits = 0;
};
template <dtype D>
struct scalar_input {
    using value = kernels::compute_t<D>;
    using channel = scalar_channel;
    static constexpr bool is_strided = false;
    static constexpr int element_bytes = 0;
    struct cursor {};
    __device__ static cursor open(const channel&, const walk&, const tile_range&) { return {}; }
    template <int N>
    __device__ static bool aligned(const cursor&, int)
    {
        return true;
    }
    template <int N, class Place>
    __device__ static void load(const channel& c, const walk&, const cursor&, const Place&, value (&to)[N])
    {
        stored_t<D> x;
        __builtin_memcpy(&x, &c.bits, sizeof x);
#pragma unroll
        for (int e = 0; e < N; ++e) { to[e] = computed<D>(x); }
    }
};

/// A number that is known at compile time.
struct no_channel {};
template <std::uint64_t Bits>
struct number_input {
    using value = double;
    using channel = no_channel;
    static constexpr bool is_strided = false;
    static constexpr int element_bytes = 0;
    struct cursor {};
    __device__ static cursor open(const channel&, const walk&, const tile_range&) { return {}; }
    template <int N>
    __device__ static bool aligned(const cursor&, int)
    {
        return true;
    }
    template <int N, class Place>
    __device__ static void load(const channel&, const walk&, const cursor&, const Place&, value (&to)[N])
    {
#pragma unroll
        for (int e = 0; e < N; ++e) { to[e] = __builtin_bit_cast(double, Bits); }
    }
};

/// What a dropout keeps: drawn from the global index of an element, so that it is the same in every layout.
struct mask_channel {
    std::uint64_t seed = 0;
    std::uint64_t threshold = 0;  // see keep_threshold
    std::int64_t offset = 0;      // the global index of element 0 of the space
    std::int64_t stride[max_dims]{};
};
template <reach How>
struct mask_input {
    using value = bool;
    using channel = mask_channel;
    static constexpr bool is_strided = How >= reach::strided;
    static constexpr bool is_one = How != reach::line && How != reach::strided;  // for all elements of a group
    static constexpr int element_bytes = 0;
    struct cursor {
        std::int64_t first;
    };
    __device__ static cursor open(const channel& c, const walk&, const tile_range& t)
    {
        return {How == reach::per_tensor ? t.tensor : How == reach::single ? c.offset : c.offset + t.begin};
    }
    template <int N>
    __device__ static bool aligned(const cursor&, int)
    {
        return true;
    }
    template <int N, class Place>
    __device__ static void load(const channel& c, const walk& w, const cursor& k, const Place& at, value (&to)[N])
    {
        std::int64_t index = is_one ? k.first : k.first + at.i;
        if constexpr (is_strided) { index = c.offset + offset_of(w, at.at, c.stride); }
        const auto first = static_cast<std::uint64_t>(index);
        if constexpr (is_one) {
            const bool kept = philox_u32(c.seed, first) >= c.threshold;
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = kept; }
        } else if (N % 4 == 0 && first % 4 == 0) {
#pragma unroll
            for (int b = 0; b < N / 4; ++b) {
                const philox_block words = plait::detail::philox_block_at(c.seed, first / 4 + static_cast<std::uint64_t>(b));
#pragma unroll
                for (int e = 0; e < 4; ++e) { to[4 * b + e] = words.word[e] >= c.threshold; }
            }
        } else {
#pragma unroll 1
            for (int e = 0; e < N; ++e) {
                to[e] = philox_u32(c.seed, first + static_cast<std::uint64_t>(e)) >= c.threshold;
            }
        }
    }
};

}  // namespace plait::cuda
