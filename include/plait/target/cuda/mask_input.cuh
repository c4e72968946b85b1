// Dropout masks as inputs of kernels.
#pragma once

#include <plait/core/philox.hpp>
#include <plait/target/cuda/places.cuh>

#include <cstdint>
#include <type_traits>

namespace plait::cuda {

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
        if constexpr (N == 1 || is_one_for_a_group<How>) {
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
