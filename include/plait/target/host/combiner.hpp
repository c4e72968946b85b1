// Combining what several ranks, or several parts, hold: in rank order, f16 and bf16 in f32 and rounded once.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/macros.hpp>
#include <plait/core/view.hpp>
#include <plait/graph/op.hpp>
#include <plait/kernels/tile.hpp>

#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

namespace plait::host {

/// What elements of dtype D lie in tiles as.
template <dtype D>
using tile_t = std::conditional_t<D == dtype::f16 || D == dtype::bf16, float, element_t<D>>;

/// What an operator leaves unchanged: combining with it changes no bit (so it is -0 for sums).
template <reduction R, class T>
constexpr T identity_of()
{
    using limits = std::numeric_limits<T>;
    if constexpr (R == reduction::product) {
        return T{1};
    } else if constexpr (R == reduction::min) {
        return limits::has_infinity ? limits::infinity() : limits::max();
    } else if constexpr (R == reduction::max) {
        return limits::has_infinity ? -limits::infinity() : limits::lowest();
    } else {
        return std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{};
    }
}

/// acc[i] = acc[i] (op) in[i]
template <reduction R, class Acc, class In>
void accumulate(const In* in, std::size_t n, Acc* acc)
{
    PLAIT_INDEPENDENT_LOOP
    for (std::size_t i = 0; i < n; ++i) { acc[i] = kernels::combine<R, Acc>(acc[i], static_cast<Acc>(in[i])); }
}

template <dtype D, reduction R>
struct combining {
    using element = element_t<D>;
    using acc = tile_t<D>;

    /// tile = ranks[0] (op) ranks[1] ..., as elements of tile_t.
    static void combine(view<const std::byte* const> ranks, std::size_t n, std::byte* tile)
    {
        acc* out = reinterpret_cast<acc*>(tile);
        const element* first = reinterpret_cast<const element*>(ranks[0]);
        PLAIT_INDEPENDENT_LOOP
        for (std::size_t i = 0; i < n; ++i) { out[i] = static_cast<acc>(first[i]); }
        for (std::size_t k = 1; k < ranks.size(); ++k) {
            accumulate<R>(reinterpret_cast<const element*>(ranks[k]), n, out);
        }
        if constexpr (!std::is_same_v<acc, element>) {
            PLAIT_INDEPENDENT_LOOP
            for (std::size_t i = 0; i < n; ++i) { out[i] = static_cast<acc>(element(out[i])); }
        }
    }
    /// n elements of tile_t that change nothing.
    static void fill_identity(std::size_t n, std::byte* tile)
    {
        acc* out = reinterpret_cast<acc*>(tile);
        for (std::size_t i = 0; i < n; ++i) { out[i] = identity_of<R, acc>(); }
    }
    /// From a tile to elements.
    static void store(const std::byte* tile, std::size_t n, std::byte* out)
    {
        if constexpr (std::is_same_v<acc, element>) {
            std::memcpy(out, tile, n * sizeof(element));
        } else {
            const acc* in = reinterpret_cast<const acc*>(tile);
            element* elements = reinterpret_cast<element*>(out);
            PLAIT_INDEPENDENT_LOOP
            for (std::size_t i = 0; i < n; ++i) { elements[i] = element(in[i]); }
        }
    }
};

/// The functions of `combining`, for a dtype and an operator that are known at run time. Only the pairs that a program
/// uses are compiled.
struct combiner {
    void (*combine)(view<const std::byte* const> ranks, std::size_t n, std::byte* tile);
    void (*fill_identity)(std::size_t n, std::byte* tile);
    void (*store)(const std::byte* tile, std::size_t n, std::byte* out);
    bool low_precision;
};
template <dtype D, reduction R>
inline constexpr combiner combiner_of{&combining<D, R>::combine, &combining<D, R>::fill_identity,
                                      &combining<D, R>::store, !std::is_same_v<tile_t<D>, element_t<D>>};

}  // namespace plait::host
