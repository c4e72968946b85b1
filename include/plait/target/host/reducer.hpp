// Sums over many tiles, in an order that does not depend on how the elements are cut into tiles.
#pragma once

#include <plait/target/host/combiner.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace plait::host {

/// What the elements of a tile of type T are added up in, and what the sums of many elements are.
template <class T>
using lane_t = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
template <class T>
using total_t = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

inline constexpr std::size_t lanes = 16;
inline constexpr std::size_t block_elements = 1024;

/// The state of a reduction. Element i of all that is added goes to lane i % 16; every 1024 elements the lanes are
/// added to wider totals, so that a long sum of f32 loses no more than a short one; the totals are combined in a fixed
/// tree. So a sum has the same bits for every tile size, and vectorises.
struct lane_state {
    alignas(64) std::byte lane[lanes * 8];
    alignas(64) std::byte total[lanes * 8];
    std::size_t position;  // of the next element in its block
};

template <dtype D, reduction R>
struct lane_reducing {
    using element = tile_t<D>;
    using lane_type = lane_t<element>;
    using total = total_t<element>;

    static void reset(lane_state& s)
    {
        fill<total>(s.total);
        fill<lane_type>(s.lane);
        s.position = 0;
    }
    /// Adds n elements of a tile.
    static void add(const std::byte* tile, std::size_t n, lane_state& s)
    {
        const element* x = reinterpret_cast<const element*>(tile);
        while (n > 0) {
            const std::size_t now = n < block_elements - s.position ? n : block_elements - s.position;
            add_to_block(x, now, s);
            if (s.position == block_elements) { close_block(s); }
            x += now;
            n -= now;
        }
    }
    /// Stores the result, divided by `divisor` (of a mean, else 1), as an element of dtype D.
    static void store(const lane_state& state, double divisor, std::byte* out)
    {
        lane_state s = state;
        close_block(s);
        total tree[lanes];
        std::memcpy(tree, s.total, sizeof tree);
        for (std::size_t half = lanes / 2; half > 0; half /= 2) {
            for (std::size_t k = 0; k < half; ++k) { tree[k] = kernels::combine<R, total>(tree[k], tree[k + half]); }
        }
        const element_t<D> e = finished(tree[0], divisor);
        std::memcpy(out, &e, sizeof e);
    }
    static element_t<D> finished(total sum, double divisor)
    {
        if constexpr (std::is_floating_point_v<total>) {
            if (divisor != 1) { sum /= divisor; }
        }
        return static_cast<element_t<D>>(static_cast<element>(sum));
    }

  private:
    template <class T>
    static void fill(std::byte* to)
    {
        T values[lanes];
        for (T& v : values) { v = static_cast<T>(identity_of<R, element>()); }
        std::memcpy(to, values, sizeof values);
    }
    static void add_to_block(const element* x, std::size_t n, lane_state& s)
    {
        lane_type lane[lanes];
        std::memcpy(lane, s.lane, sizeof lane);
        const auto one = [&](element e) {
            const std::size_t k = s.position++ % lanes;
            lane[k] = kernels::combine<R, lane_type>(lane[k], static_cast<lane_type>(e));
        };
        std::size_t i = 0;
        for (; s.position % lanes != 0 && i < n; ++i) { one(x[i]); }
        for (; i + lanes <= n; i += lanes) {
            PLAIT_INDEPENDENT_LOOP
            for (std::size_t k = 0; k < lanes; ++k) {
                lane[k] = kernels::combine<R, lane_type>(lane[k], static_cast<lane_type>(x[i + k]));
            }
            s.position += lanes;
        }
        for (; i < n; ++i) { one(x[i]); }
        std::memcpy(s.lane, lane, sizeof lane);
    }
    static void close_block(lane_state& s)
    {
        lane_type lane[lanes];
        total sum[lanes];
        std::memcpy(lane, s.lane, sizeof lane);
        std::memcpy(sum, s.total, sizeof sum);
        for (std::size_t k = 0; k < lanes; ++k) {
            sum[k] = kernels::combine<R, total>(sum[k], static_cast<total>(lane[k]));
        }
        std::memcpy(s.total, sum, sizeof sum);
        fill<lane_type>(s.lane);
        s.position = 0;
    }
};

/// The same for many reductions side by side: row after row of n elements, each added to its own.
template <dtype D, reduction R>
struct row_reducing {
    using element = tile_t<D>;
    using acc = total_t<element>;

    static void reset(std::size_t n, std::byte* sums)
    {
        acc* a = reinterpret_cast<acc*>(sums);
        for (std::size_t i = 0; i < n; ++i) { a[i] = static_cast<acc>(identity_of<R, element>()); }
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
