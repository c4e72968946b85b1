// Sums over many tiles, in an order that does not depend on how the elements are cut into tiles.
#pragma once

#include <plait/target/host/combiner.hpp>

namespace plait::host {

/// What a reduction of elements in tiles of type T accumulates in.
template <class T>
using accumulator_t = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;

inline constexpr std::size_t lanes = 16;

/// The state of a reduction: element i of all that is added goes to lane i % 16; the lanes are combined in a fixed tree
/// at the end. So a long sum has the same bits for every tile size, and vectorises.
struct lane_state {
    alignas(64) std::byte lane[lanes * 8];
    std::size_t next;  // the lane of the next element
};

template <dtype D, reduction R>
struct lane_reducing {
    using element = tile_t<D>;
    using acc = accumulator_t<element>;

    static void reset(lane_state& s)
    {
        acc lane[lanes];
        for (acc& a : lane) { a = identity_of<R, acc>(); }
        std::memcpy(s.lane, lane, sizeof lane);
        s.next = 0;
    }
    /// Adds n elements of a tile.
    static void add(const std::byte* tile, std::size_t n, lane_state& s)
    {
        const element* x = reinterpret_cast<const element*>(tile);
        acc lane[lanes];
        std::memcpy(lane, s.lane, sizeof lane);
        const auto one = [&](element e) {
            lane[s.next] = kernels::combine<R, acc>(lane[s.next], static_cast<acc>(e));
            s.next = (s.next + 1) % lanes;
        };
        std::size_t i = 0;
        for (; s.next != 0 && i < n; ++i) { one(x[i]); }
        for (; i + lanes <= n; i += lanes) {
            PLAIT_INDEPENDENT_LOOP
            for (std::size_t k = 0; k < lanes; ++k) {
                lane[k] = kernels::combine<R, acc>(lane[k], static_cast<acc>(x[i + k]));
            }
        }
        for (; i < n; ++i) { one(x[i]); }
        std::memcpy(s.lane, lane, sizeof lane);
    }
    /// Stores the result, divided by `divisor` (of a mean, else 1), as an element of dtype D.
    static void store(const lane_state& s, double divisor, std::byte* out)
    {
        acc tree[lanes];
        std::memcpy(tree, s.lane, sizeof tree);
        for (std::size_t half = lanes / 2; half > 0; half /= 2) {
            for (std::size_t k = 0; k < half; ++k) { tree[k] = kernels::combine<R, acc>(tree[k], tree[k + half]); }
        }
        const element_t<D> e = finished(tree[0], divisor);
        std::memcpy(out, &e, sizeof e);
    }
    static element_t<D> finished(acc total, double divisor)
    {
        if constexpr (std::is_floating_point_v<acc>) {
            if (divisor != 1) { total = static_cast<acc>(static_cast<double>(total) / divisor); }
        }
        return static_cast<element_t<D>>(static_cast<element>(total));
    }
};

/// The same for many reductions side by side: row after row of n elements, each added to its own.
template <dtype D, reduction R>
struct row_reducing {
    using element = tile_t<D>;
    using acc = accumulator_t<element>;

    static void reset(std::size_t n, std::byte* sums)
    {
        acc* a = reinterpret_cast<acc*>(sums);
        for (std::size_t i = 0; i < n; ++i) { a[i] = identity_of<R, acc>(); }
    }
    static void add(const std::byte* tile, std::size_t n, std::byte* sums)
    {
        accumulate<R>(reinterpret_cast<const element*>(tile), n, reinterpret_cast<acc*>(sums));
    }
    static void store(const std::byte* sums, std::size_t n, double divisor, std::byte* out)
    {
        const acc* a = reinterpret_cast<const acc*>(sums);
        element_t<D>* to = reinterpret_cast<element_t<D>*>(out);
        for (std::size_t i = 0; i < n; ++i) { to[i] = lane_reducing<D, R>::finished(a[i], divisor); }
    }
};

/// The functions of a reduction, as in `combiner`. The parts' results are combined by `parts`.
struct reducer {
    const combiner* parts;
    void (*reset)(lane_state&);
    void (*add)(const std::byte* tile, std::size_t n, lane_state&);
    void (*store)(const lane_state&, double divisor, std::byte* out);
    // of a reduction along one dimension alone:
    void (*reset_rows)(std::size_t n, std::byte* sums);
    void (*add_row)(const std::byte* tile, std::size_t n, std::byte* sums);
    void (*store_rows)(const std::byte* sums, std::size_t n, double divisor, std::byte* out);
};
template <dtype D, reduction R, bool AlongAxis>
constexpr reducer make_reducer()
{
    constexpr reduction over = R == reduction::mean ? reduction::sum : R;
    using whole = lane_reducing<D, over>;
    reducer r{&combiner_of<D, over>, &whole::reset, &whole::add, &whole::store, nullptr, nullptr, nullptr};
    if constexpr (AlongAxis) {
        r.reset_rows = &row_reducing<D, over>::reset;
        r.add_row = &row_reducing<D, over>::add;
        r.store_rows = &row_reducing<D, over>::store;
    }
    return r;
}
template <dtype D, reduction R, bool AlongAxis>
inline constexpr reducer reducer_of = make_reducer<D, R, AlongAxis>();

}  // namespace plait::host
