// Philox 4x32-10: random words as a pure function of a seed and an index, the same in every order and layout.
#pragma once

#include <plait/core/macros.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plait {

/// The input and the output of Philox: four words.
struct philox_block {
    std::uint32_t word[4];

    friend constexpr bool operator==(const philox_block&, const philox_block&) = default;
};

struct philox_key {
    std::uint32_t word[2];
};

/// The Philox 4x32 bijection of a counter under a key, with 10 rounds.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
PLAIT_INLINE constexpr philox_block philox4x32(philox_block counter, philox_key key)
{
    std::uint32_t x0 = counter.word[0];
    std::uint32_t x1 = counter.word[1];
    std::uint32_t x2 = counter.word[2];
    std::uint32_t x3 = counter.word[3];
    std::uint32_t k0 = key.word[0];
    std::uint32_t k1 = key.word[1];
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xd251'1f53U} * x0;
        const std::uint64_t p1 = std::uint64_t{0xcd9e'8d57U} * x2;
        x0 = static_cast<std::uint32_t>(p1 >> 32U) ^ x1 ^ k0;
        x1 = static_cast<std::uint32_t>(p1);
        x2 = static_cast<std::uint32_t>(p0 >> 32U) ^ x3 ^ k1;
        x3 = static_cast<std::uint32_t>(p0);
        k0 += 0x9e37'79b9U;
        k1 += 0xbb67'ae85U;
    }
    return {{x0, x1, x2, x3}};
}

namespace detail {
PLAIT_INLINE constexpr std::uint32_t low_word(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
PLAIT_INLINE constexpr std::uint32_t high_word(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32U); }

PLAIT_INLINE constexpr philox_block philox_block_at(std::uint64_t seed, std::uint64_t block)
{
    return philox4x32({{low_word(block), high_word(block), 0, 0}}, {{low_word(seed), high_word(seed)}});
}
}  // namespace detail

/// The random word number `index` of the stream `seed`: word index % 4 of the block whose counter is index / 4.
PLAIT_INLINE constexpr std::uint32_t philox_u32(std::uint64_t seed, std::uint64_t index)
{
    return detail::philox_block_at(seed, index / 4).word[index % 4];
}

namespace detail {

#if defined(__AVX2__) && defined(__GNUC__) && !defined(__CUDACC__)
/// Philox lives on products of two 32-bit words, which x86 multiplies in the low halves of 64-bit lanes. GCC finds that
/// instruction only through slow shuffles, so it is named here; clang finds it by itself.
#define PLAIT_PHILOX_LANES 1
#if defined(__AVX512F__)
using philox_lanes [[gnu::vector_size(64)]] = std::uint64_t;
#else
using philox_lanes [[gnu::vector_size(32)]] = std::uint64_t;
#endif
using philox_signed [[gnu::vector_size(sizeof(philox_lanes))]] = long long;
using philox_words [[gnu::vector_size(sizeof(philox_lanes))]] = int;

PLAIT_INLINE philox_lanes multiply_low_words(philox_lanes a, philox_lanes b)
{
#if defined(__clang__)
    return (a & 0xffff'ffffU) * (b & 0xffff'ffffU);
#elif defined(__AVX512F__)
    return (philox_lanes)__builtin_ia32_pmuludq512_mask((philox_words)a, (philox_words)b, philox_signed{}, 0xff);
#else
    return (philox_lanes)__builtin_ia32_pmuludq256((philox_words)a, (philox_words)b);
#endif
}

/// Writes as many whole vectors of blocks as fit into `count` blocks; returns how many blocks that is.
/// The upper half of a lane holds what it happens to hold: products ignore it, and the end drops it.
inline std::size_t philox_fill_lanes(std::uint64_t seed, std::uint64_t block, std::size_t count, std::uint32_t* out)
{
    constexpr std::size_t width = sizeof(philox_lanes) / sizeof(std::uint64_t);
    philox_lanes counter{};
    for (std::size_t lane = 0; lane < width; ++lane) { counter[lane] = block + lane; }
    std::size_t done = 0;
    for (; done + width <= count; done += width, counter += width) {
        philox_lanes x0 = counter;
        philox_lanes x1 = counter >> 32U;
        philox_lanes x2{};
        philox_lanes x3{};
        std::uint64_t k0 = low_word(seed);
        std::uint64_t k1 = high_word(seed);
        for (int round = 0; round < 10; ++round) {
            const philox_lanes p0 = multiply_low_words(x0, philox_lanes{} + 0xd251'1f53U);
            const philox_lanes p1 = multiply_low_words(x2, philox_lanes{} + 0xcd9e'8d57U);
            x0 = (p1 >> 32U) ^ x1 ^ k0;
            x1 = p1;
            x2 = (p0 >> 32U) ^ x3 ^ k1;
            x3 = p0;
            k0 += 0x9e37'79b9U;
            k1 += 0xbb67'ae85U;
        }
        const philox_lanes first = (x0 & 0xffff'ffffU) | (x1 << 32U);
        const philox_lanes second = (x2 & 0xffff'ffffU) | (x3 << 32U);
        std::uint64_t pairs[2 * width];
        for (std::size_t lane = 0; lane < width; ++lane) {
            pairs[2 * lane] = first[lane];
            pairs[2 * lane + 1] = second[lane];
        }
        std::memcpy(out + 4 * done, pairs, sizeof pairs);
    }
    return done;
}
#endif

/// Writes `count` whole blocks, from block number `block` on.
inline void philox_fill_blocks(std::uint64_t seed, std::uint64_t block, std::size_t count, std::uint32_t* out)
{
    std::size_t done = 0;
#if defined(PLAIT_PHILOX_LANES)
    done = philox_fill_lanes(seed, block, count, out);
#endif
    for (; done < count; ++done) {
        const philox_block words = philox_block_at(seed, block + done);
        for (std::size_t i = 0; i < 4; ++i) { out[4 * done + i] = words.word[i]; }
    }
}

}  // namespace detail

/// Writes philox_u32(seed, first_index), philox_u32(seed, first_index + 1), ... to out[0] to out[n - 1], one block at a
/// time instead of one word at a time, and several blocks at a time where vectors allow. Any first_index and n.
inline void philox_fill(std::uint64_t seed, std::uint64_t first_index, std::size_t n, std::uint32_t* out)
{
    std::size_t done = 0;
    for (; done < n && (first_index + done) % 4 != 0; ++done) { out[done] = philox_u32(seed, first_index + done); }
    const std::size_t blocks = (n - done) / 4;
    detail::philox_fill_blocks(seed, (first_index + done) / 4, blocks, out + done);
    for (done += 4 * blocks; done < n; ++done) { out[done] = philox_u32(seed, first_index + done); }
}

/// The threshold for dropping with probability p (0 to 1): the element is kept iff its word >= keep_threshold(p).
/// It is 64 bits wide so that p = 1 drops every word; p = 0 keeps every word. p is rounded to a multiple of 2^-32.
PLAIT_INLINE constexpr std::uint64_t keep_threshold(double p) { return static_cast<std::uint64_t>(p * 0x1p32 + 0.5); }

}  // namespace plait
