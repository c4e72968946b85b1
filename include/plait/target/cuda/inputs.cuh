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
/// for each tensor; row: one for each row; column: the same in all rows; strided: by coordinates, consecutive along the
/// innermost dimension; broadcast: by coordinates, the same along it.
enum class reach : std::uint8_t { line, single, per_tensor, row, column, strided, broadcast };

/// How a kernel's threads know where they are: by one number, by row and column as well, or by coordinates.
enum class arrangement : std::uint8_t { line, rows, strided };
constexpr arrangement arrangement_of(reach how)
{
    return how >= reach::strided                            ? arrangement::strided
           : how == reach::row || how == reach::column ? arrangement::rows
                                                            : arrangement::line;
}

/// Up to how many ranks' addresses are among a kernel's arguments, where they cost nothing.
inline constexpr int direct_ranks = 8;

/// An operand or a result in memory of one rank.
struct memory_channel {
    std::byte* base = nullptr;          // element 0 of the space (unless the value is in pieces)
    std::byte* const* table = nullptr;  // of pieces: where they are
    int pieces = 0;                     // of a scattered value; 0: not scattered
    std::int64_t stride[max_dims]{};    // of strided values
};
/// In memory of several ranks.
struct peers_channel : memory_channel {
    int ranks = 1;                      // that are combined, or written, in the table's order
    std::byte* const* all = nullptr;    // by rank, then by piece; not in pieces: element 0 of the space
    std::byte* direct[direct_ranks]{};  // the same of the first ranks, not in pieces
};

/// Where a thread is: element `i` of what its cursors point to; the row and the column; the coordinates.
template <arrangement A>
struct place {
    unsigned i;
};
template <>
struct place<arrangement::rows> {
    unsigned i;
    std::int64_t row;
    std::int64_t column;
};
template <>
struct place<arrangement::strided> {
    unsigned i;
    coordinates at;
};

/// On a line along one axis, to which cursors of strided values have been moved: `k` steps on.
struct place_on_line {
    std::int64_t k;
    int axis;
};

/// Element 0 of a tile in a value's memory; or of the `Whole` space, which then is in one piece.
template <bool Whole, class T>
__device__ T* tile_address(const memory_channel& c, const tile_range& t)
{
    if constexpr (Whole) { return reinterpret_cast<T*>(c.base); }
    if (c.pieces != 0) { return reinterpret_cast<T*>(c.table[t.tensor]) + t.in_piece; }
    return reinterpret_cast<T*>(c.base) + t.begin;
}
template <int N>
__device__ bool is_aligned_for(const void* p, int bytes)
{
    return reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes * N < 16 ? bytes * N : 16) == 0;
}

/// Where the same elements lie in the memory of several ranks. Ranks: how many, if the code is for as many; 0: any number.
template <class T, int Ranks>
struct peer_pointers {
    T* p[Ranks];
    static constexpr int count = Ranks;
    static constexpr bool is_static = true;

    template <bool Whole>
    __device__ static peer_pointers open(const peers_channel& c, const tile_range& t)
    {
        peer_pointers k;
#pragma unroll
        for (int r = 0; r < Ranks; ++r) {
            if constexpr (Whole) { k.p[r] = reinterpret_cast<T*>(c.direct[r]); }
            else if (c.pieces != 0) { k.p[r] = reinterpret_cast<T*>(c.all[r * c.pieces + t.tensor]) + t.in_piece; }
            else { k.p[r] = reinterpret_cast<T*>(c.direct[r]) + t.begin; }
        }
        return k;
    }
    __device__ T* operator[](int r) const { return p[r]; }
};
template <class T>
struct peer_pointers<T, 0> {
    std::byte* const* of;
    std::int64_t offset;
    int step;
    int count;
    static constexpr bool is_static = false;

    template <bool Whole>
    __device__ static peer_pointers open(const peers_channel& c, const tile_range& t)
    {
        if constexpr (Whole) { return {c.all, 0, 1, c.ranks}; }
        if (c.pieces != 0) { return {c.all + t.tensor, t.in_piece, c.pieces, c.ranks}; }
        return {c.all, t.begin, 1, c.ranks};
    }
    __device__ T* operator[](int r) const { return reinterpret_cast<T*>(in_global_memory(of)[r * step]) + offset; }
};

template <dtype D>
__host__ __device__ kernels::compute_t<D> computed(stored_t<D> x)
{
    if constexpr (D == dtype::boolean) { return x != 0; }
    else { return static_cast<kernels::compute_t<D>>(x); }
}
/// The value as an element in memory.
template <dtype D, class From>
__device__ stored_t<D> as_stored(From x)
{
    if constexpr (D == dtype::f16 || D == dtype::bf16) { return element_t<D>(static_cast<float>(x)); }
    else { return static_cast<stored_t<D>>(kernels::convert<element_t<D>>(x)); }
}

/// N values as elements in memory; those of 16 bits are converted two by two.
template <dtype D, class From, int N>
__device__ packet<stored_t<D>, N> stored_packet(const From (&x)[N])
{
    packet<stored_t<D>, N> all;
    if constexpr ((D == dtype::f16 || D == dtype::bf16) && N % 2 == 0) {
#pragma unroll
        for (int e = 0; e < N; e += 2) {
            const float low = static_cast<float>(x[e]);
            const float high = static_cast<float>(x[e + 1]);
            std::uint32_t two;
            if constexpr (D == dtype::f16) { asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low)); }
            else { asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low)); }
            __builtin_memcpy(all.element + e, &two, sizeof two);
        }
    } else {
#pragma unroll
        for (int e = 0; e < N; ++e) { all.element[e] = as_stored<D>(x[e]); }
    }
    return all;
}

/// Where a value is that lies in the space as `How` says, from where its cursor points to.
template <reach How, class Place>
__device__ auto offset_to(const memory_channel& c, const walk& w, const Place& at)
{
    if constexpr (std::is_same_v<Place, place_on_line>) { return at.k * c.stride[at.axis]; }
    else if constexpr (How == reach::row) { return at.row; }
    else if constexpr (How == reach::column) { return at.column; }
    else if constexpr (How >= reach::strided) { return offset_of(w, at.at, c.stride); }
    else { return at.i; }
}
template <reach How>
inline constexpr bool is_one_for_a_group = How != reach::line && How != reach::column && How != reach::strided;

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
        return How != reach::line || is_aligned_for<N>(k.p + i, sizeof(T));
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
        return How != reach::line || k.of.count == 0 || is_aligned_for<N>(k.of[0] + i, sizeof(T));
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

/// A scalar argument of the run, by its bits.
struct scalar_channel {
    std::uint64_t bits = 0;
};
template <dtype D>
struct scalar_input {
    using value = kernels::compute_t<D>;
    using channel = scalar_channel;
    static constexpr bool is_argument = true;
    __host__ __device__ static value of(const channel& c)
    {
        stored_t<D> x;
        __builtin_memcpy(&x, &c.bits, sizeof x);
        return computed<D>(x);
    }
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
        for (int e = 0; e < N; ++e) { to[e] = of(c); }
    }
};

/// A number that is known at compile time.
struct no_channel {};
template <std::uint64_t Bits>
struct number_input {
    using value = double;
    using channel = no_channel;
    static constexpr bool is_argument = true;
    __host__ __device__ static value of(const channel&) { return __builtin_bit_cast(double, Bits); }
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
    __device__ static void load(const channel&, const walk&, const Cursor&, const Place&, value (&to)[N])
    {
#pragma unroll
        for (int e = 0; e < N; ++e) { to[e] = of({}); }
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
    static constexpr bool is_argument = false;
    static constexpr bool is_strided = How == reach::strided || How == reach::broadcast;
    static constexpr bool is_one = How != reach::line && How != reach::strided;  // for all elements of a group
    using value = bool;
    using channel = mask_channel;
    static constexpr bool combines = false;
    static constexpr arrangement needs = is_strided ? arrangement::strided : arrangement::line;
    static constexpr int element_bytes = 0;
    template <int Ranks>
    struct cursor {
        std::uint64_t first;
    };
    template <int Ranks, bool Whole>
    __device__ static cursor<Ranks> open(const channel& c, const walk&, const tile_range& t)
    {
        return {static_cast<std::uint64_t>(How == reach::per_tensor ? t.tensor : How == reach::single ? c.offset : c.offset + t.begin)};
    }
    template <class Cursor>
    __device__ static void move(Cursor& k, std::int64_t by)
    {
        if constexpr (How == reach::line || is_strided) { k.first += static_cast<std::uint64_t>(by); }
    }
    template <int N, class Cursor>
    __device__ static bool aligned(const Cursor& k, int i)
    {
        return How != reach::line || (k.first + static_cast<std::uint64_t>(i)) % 4 == 0;
    }
    template <int N, class Cursor, class Place>
    __device__ static void load(const channel& c, const walk& w, const Cursor& k, const Place& at, value (&to)[N])
    {
        std::uint64_t index = k.first;
        if constexpr (std::is_same_v<Place, place_on_line>) { index += static_cast<std::uint64_t>(at.k * c.stride[at.axis]); }
        else if constexpr (How == reach::line) { index += at.i; }
        else if constexpr (is_strided) { index = static_cast<std::uint64_t>(c.offset + offset_of(w, at.at, c.stride)); }
        const auto block = [&](int b) { return plait::detail::philox_block_at(c.seed, index / 4 + static_cast<std::uint64_t>(b)); };
        if constexpr (N == 1 || is_one) {
            const bool kept = word_of(block(0), index) >= c.threshold;
#pragma unroll
            for (int e = 0; e < N; ++e) { to[e] = kept; }
        } else if (How == reach::line || index % 4 == 0) {
#pragma unroll
            for (int b = 0; b < N / 4; ++b) {
                const philox_block words = block(b);
#pragma unroll
                for (int e = 0; e < 4; ++e) { to[4 * b + e] = words.word[e] >= c.threshold; }
            }
        } else {  // a slice that begins inside of a block
#pragma unroll
            for (int b = 0; b <= N / 4; ++b) {
                const philox_block words = block(b);
#pragma unroll
                for (int e = 0; e < N; ++e) {
                    const std::uint64_t i = index + static_cast<std::uint64_t>(e);
                    if (i / 4 == index / 4 + static_cast<std::uint64_t>(b)) { to[e] = word_of(words, i) >= c.threshold; }
                }
            }
        }
    }

  private:
    /// Chosen, not indexed: an array that is indexed lies in memory.
    __device__ static std::uint32_t word_of(const philox_block& b, std::uint64_t index)
    {
        const std::uint32_t low = index % 2 == 0 ? b.word[0] : b.word[1];
        const std::uint32_t high = index % 2 == 0 ? b.word[2] : b.word[3];
        return index % 4 < 2 ? low : high;
    }
};

}  // namespace plait::cuda
