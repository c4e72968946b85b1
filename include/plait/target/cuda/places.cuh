// Where the values of a kernel lie: how they are found along its space, and in whose memory.
#pragma once

#include <plait/target/cuda/packet.cuh>
#include <plait/target/cuda/walk.cuh>

#include <cstddef>
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

/// And where multimem instructions reach all of them at once; null: nowhere.
struct multicast_channel : peers_channel {
    std::byte* multicast = nullptr;  // element 0 of the space
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

/// Calls f with the number of ranks as a constant, where there is code for as many; with 0 for 1; not at all for 0.
template <bool HasPeers, class F>
__device__ void with_peers(int peers, F&& f)
{
    if constexpr (HasPeers) {
        if (peers == 2) { return f(std::integral_constant<int, 2>{}); }
        if (peers == 4) { return f(std::integral_constant<int, 4>{}); }
        if (peers == 8) { return f(std::integral_constant<int, 8>{}); }
    }
    if (peers != 0) { f(std::integral_constant<int, 0>{}); }
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

}  // namespace plait::cuda
