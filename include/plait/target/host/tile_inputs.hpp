// Filling the inputs of a tile: what several ranks hold, combined; dropout masks.
#pragma once

#include <plait/core/philox.hpp>
#include <plait/target/host/pass_context.hpp>

namespace plait::host {

/// Combines ranks 0 ... n-1 into `tile`: f16 and bf16 in f32, rounded once at the end.
inline void combine_ranks(dtype type, reduction r, std::span<const std::byte* const> ranks, std::size_t n, std::byte* tile)
{
    with_reduction(r, [&](auto op) {
        constexpr reduction R = decltype(op)::value;
        with_element(type, [&](auto e) {
            using T = decltype(e);
            if constexpr (!std::is_same_v<T, bool>) {
                constexpr bool low = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
                using Acc = std::conditional_t<low, float, T>;
                Acc* acc = reinterpret_cast<Acc*>(tile);
                load(reinterpret_cast<const T*>(ranks[0]), n, acc);
                for (std::size_t k = 1; k < ranks.size(); ++k) {
                    accumulate<R>(reinterpret_cast<const T*>(ranks[k]), n, acc);
                }
                if constexpr (low) { round_tile<T>(acc, n); }
            }
        });
    });
}

/// Stores what combine_ranks left in a tile as elements of dtype `type`.
inline void store_tile(dtype type, const std::byte* tile, std::size_t n, std::byte* out)
{
    if (type == dtype::f16) {
        load(reinterpret_cast<const float*>(tile), n, reinterpret_cast<f16*>(out));
    } else if (type == dtype::bf16) {
        load(reinterpret_cast<const float*>(tile), n, reinterpret_cast<bf16*>(out));
    } else {
        std::memcpy(out, tile, n * size_of(type));
    }
}

/// n elements that change nothing when combined, or zeros.
inline void fill_tile(dtype type, reduction r, bool zeros, std::size_t n, std::byte* tile)
{
    with_reduction(r, [&](auto op) {
        with_element(type, [&](auto e) {
            using T = decltype(e);
            constexpr bool low = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
            using Acc = std::conditional_t<low, float, T>;
            Acc* out = reinterpret_cast<Acc*>(tile);
            Acc value = zeros ? Acc{} : identity_of<decltype(op)::value, Acc>();
            for (std::size_t i = 0; i < n; ++i) { out[i] = value; }
        });
    });
}

/// Combined values of all ranks for elements [offset, offset + n) of operand o, as the tile loop reads them: one
/// pointer, or two streams of which the loop does the last combination itself.
inline void prepare_combined(const pass_context& c, const pass_operand& o, std::int64_t offset, std::int64_t t,
                             std::size_t n, std::byte* tile, std::byte* identity, const void*& first, const void*& second)
{
    const dtype type = c.slot_node(o.slot).type;
    const bool low = type == dtype::f16 || type == dtype::bf16;
    const int ranks = c.args.ranks();
    if (o.from == source::root_combined && c.args.rank() != o.root) {
        fill_tile(type, o.combine, true, n, tile);
        first = tile;
        second = identity;
        return;
    }
    const std::byte* streams[64];
    const int batch = 64;
    const bool one_pointer = low || o.uniform;
    const int direct = one_pointer || ranks == 1 ? 0 : 1;  // ranks left to the tile loop
    const int combined = ranks - direct;
    if (combined <= batch) {
        for (int r = 0; r < combined; ++r) { streams[r] = c.address(o.slot, r, offset, t); }
        if (combined == 1 && !low) {
            first = streams[0];
        } else {
            combine_ranks(type, o.combine, {streams, static_cast<std::size_t>(combined)}, n, tile);
            first = tile;
        }
    } else {
        std::vector<const std::byte*> many(static_cast<std::size_t>(combined));
        for (int r = 0; r < combined; ++r) { many[static_cast<std::size_t>(r)] = c.address(o.slot, r, offset, t); }
        combine_ranks(type, o.combine, many, n, tile);
        first = tile;
    }
    second = direct != 0 ? static_cast<const void*>(c.address(o.slot, ranks - 1, offset, t)) : identity;
}

/// Which elements a dropout keeps, from the global index of the first.
inline void prepare_mask(const pass_context& c, int dropout, std::int64_t first_index, std::size_t n, std::byte* tile)
{
    const node& d = c.node_at(dropout);
    const std::uint64_t threshold = keep_threshold(number_value(c, d.args[1]));
    std::uint32_t words[tile_elements];
    philox_fill(seed_value(c, d.args[2]), static_cast<std::uint64_t>(first_index), n, words);
    bool* kept = reinterpret_cast<bool*>(tile);
    for (std::size_t i = 0; i < n; ++i) { kept[i] = words[i] >= threshold; }
}

}  // namespace plait::host
