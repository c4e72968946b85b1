// The kernel of a pass over elements: every fused computation and every fused collective is one.
#pragma once

#include <plait/target/cuda/map_cursors.cuh>
#include <plait/target/cuda/map_steps.cuh>
#include <plait/target/cuda/meeting.cuh>
#include <plait/target/cuda/sums.cuh>

#include <algorithm>
#include <utility>

namespace plait::cuda {

template <class Inputs, class Steps, class Outputs>
struct map_body;

/// A kernel as a type of types and integers. Inputs are values 0 ... n_in-1; step s is value n_in + s.
template <class... Input, class... Step, class... Output>
struct map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>> {
    static constexpr int n_in = sizeof...(Input);
    static constexpr int n_out = sizeof...(Output);
    static constexpr arrangement places = std::max({arrangement::line, Input::needs..., Output::needs...});
    static constexpr bool has_sums = (Output::is_sum || ... || false);
    static constexpr bool has_peers = (Input::combines || ... || false) || (Output::to_all || ... || false);
    /// Whether elements are addressed from the start of the space: then the grid may take them as one run.
    static constexpr bool can_be_flat = places != arrangement::strided;

    /// Elements that a lane does at once: 16 bytes of the smallest that are read or written, 4 to 8 of them; where
    /// elements are added up always 4, so that sums do not depend on what else a kernel does.
    static constexpr int group = [] {
        if (has_sums) { return 4; }
        int smallest = 16;
        for (int b : {Input::element_bytes..., Output::element_bytes...}) {
            if (b > 0 && b < smallest) { smallest = b; }
        }
        return smallest <= 2 ? 8 : 4;
    }();

    using steps = map_steps<kernels::list<Input...>, kernels::list<Step...>>;

    /// Where the values are.
    struct channels {
        members<typename Input::channel...> in;
        members<typename Output::channel...> out;
        typename steps::constants constants;
    };
    struct arguments : channels {
        walk space;
        meeting before;
        meeting after;
        sums_channel sums;
    };

    __device__ static void run(const arguments& a)
    {
        meet(a.before);
        run_between(a);
        meet(a.after);
    }
    /// The same without the meetings.
    __device__ static void run_between(const arguments& a)
    {
        if constexpr (can_be_flat) {
            with_peers<has_peers>(a.space.flat, [&](auto ranks) { run_flat<decltype(ranks)::value>(a); });
        }
        if (has_sums ? !can_be_flat || a.space.flat == 0 : a.space.tiles != 0) {
            const auto lane = static_cast<int>(threadIdx.x % warp_size);
            const std::int64_t warps = std::int64_t{gridDim.x} * block_warps;
#pragma unroll 1
            for (std::int64_t t = std::int64_t{blockIdx.x} * block_warps + threadIdx.x / warp_size; t < a.space.tiles; t += warps) {
                run_tile(a, t, lane, inputs{}, outputs{});
            }
        }
        if constexpr (has_sums) {
            finish_sums<Output...>(a.sums, outputs{});
        }
    }

    using registers = typename steps::registers;
    template <int V>
    using value_at = std::remove_cvref_t<decltype(kernels::at<static_cast<std::size_t>(V)>(std::declval<registers&>()))>;

    /// Where element `begin` + i of the space is, for cursors that were opened at `begin`.
    template <bool Flat>
    __device__ static place<places> place_of(const walk& w, std::int64_t begin, unsigned i)
    {
        if constexpr (places == arrangement::strided) { return {i, find_coordinates(w, begin + i)}; }
        else if constexpr (places == arrangement::rows) {
            const auto [row, column] = find_row<Flat>(w, begin + i);
            return {i, row, column};
        }
        else { return {i}; }
    }

    /// Evaluates, on the host, what is the same for all elements.
    static void find_constants(channels& a) { steps::find_constants(a.in, a.constants); }

    /// For reductions along an axis: where the operands are on the line through some coordinates ...
    template <class Line>
    __device__ static auto open_line(const arguments& a, const Line& at)
    {
        return open_line(a, at, inputs{});
    }
    /// ... and the one output at N places of that line.
    template <int N, class Cursors, class Value>
    __device__ static void evaluate(const arguments& a, const Cursors& k, const place_on_line& at, Value (&to)[N])
    {
        evaluate_at(a, k, at, to, inputs{});
    }

  private:
    using inputs = std::make_integer_sequence<int, n_in>;
    using outputs = std::make_integer_sequence<int, n_out>;
    template <int Ranks>
    using cursors = map_cursors<kernels::list<Input...>, kernels::list<Output...>, Ranks>;
    template <class O>
    struct total_of {
        using type = nothing;
    };
    template <class O>
    requires O::is_sum
    struct total_of<O> {
        using type = typename O::total;
    };
    using totals = members<typename total_of<Output>::type...>;

    template <int Ranks>
    __device__ static void run_flat(const arguments& a)
    {
        tile_range whole;
        whole.tensor = a.space.tensor;
        const auto k = cursors<Ranks>::template open<true>(a, whole);
        if constexpr (has_sums) {
            add_tiles(a, k, outputs{});
        } else {
            totals none;
            const unsigned step = gridDim.x * (block_threads * group);
#pragma unroll 1
            for (unsigned i = a.space.low + (blockIdx.x * block_threads + threadIdx.x) * group; i < a.space.high; i += step) {
                run_group<group, true>(a, 0, k, none, i, inputs{}, outputs{});
            }
        }
    }
    template <int Ranks, int... O>
    __device__ static void add_tiles(const arguments& a, const cursors<Ranks>& k, std::integer_sequence<int, O...>)
    {
        const auto tiles = static_cast<unsigned>(a.space.tiles);
        const auto count = static_cast<unsigned>(a.space.count);
        const unsigned lane = threadIdx.x % warp_size;
#pragma unroll 1
        for (unsigned t = blockIdx.x * block_warps + threadIdx.x / warp_size; t < tiles; t += gridDim.x * block_warps) {
            totals sums;
            (begin_sum<O, Output>(sums), ...);
            const unsigned begin = t * sum_tile;
            const unsigned end = count - begin < sum_tile ? count : begin + sum_tile;
#pragma unroll 1
            for (unsigned i = begin + lane * group; i < end; i += warp_size * group) {
                run_group<group, true>(a, 0, k, sums, i, inputs{}, outputs{});
            }
            (close_sum<O, Output>(a, t, static_cast<int>(lane), sums), ...);
        }
    }

    template <int... I, int... O>
    __device__ static void run_tile(const arguments& a, std::int64_t t, int lane, std::integer_sequence<int, I...>,
                                    std::integer_sequence<int, O...>)
    {
        const tile_range tile = find_tile(a.space, t);
        const auto k = cursors<0>::template open<false>(a, tile);
        totals sums;
        (begin_sum<O, Output>(sums), ...);
        const int length = static_cast<int>(tile.end - tile.begin);
        // Elements [low, high) go in groups, those before and after one by one.
        int low = 0;
        if (t == 0 && a.space.shift > 0) { low = group - a.space.shift % group; }
        low = low % group < length ? low % group : 0;
        bool groups = a.space.vectors;
        ((groups = groups && Input::template aligned<group>(get<I>(k.in), low)), ...);
        ((groups = groups && is_output_aligned<O, Output>(k, low)), ...);
        const int high = groups ? low + (length - low) / group * group : low;
        const auto run_groups = [&](const auto& cursors) {
#pragma unroll 1
            for (int i = low + lane * group; i < high; i += warp_size * group) {
                run_group<group, false>(a, tile.begin, cursors, sums, static_cast<unsigned>(i), inputs{}, outputs{});
            }
        };
        if constexpr (can_be_flat) { run_groups(k); }
        else {
            with_peers<has_peers>(a.space.peers, [&](auto ranks) { run_groups(cursors<decltype(ranks)::value>::template open<false>(a, tile)); });
        }
        if constexpr (has_sums) {  // element i is always lane i / 4 % 32's, in order
#pragma unroll 1
            for (int g = high / group + (lane + warp_size - high / group % warp_size) % warp_size; g * group < length; g += warp_size) {
                const int end = (g + 1) * group < length ? (g + 1) * group : length;
#pragma unroll 1
                for (int i = g * group; i < end; ++i) {
                    run_group<1, false>(a, tile.begin, k, sums, static_cast<unsigned>(i), inputs{}, outputs{});
                }
            }
            (close_sum<O, Output>(a, t, lane, sums), ...);
        } else {
            const int others = low + length - high;
#pragma unroll 1
            for (int s = lane; s < others; s += warp_size) {
                run_group<1, false>(a, tile.begin, k, sums, static_cast<unsigned>(s < low ? s : high + s - low), inputs{}, outputs{});
            }
        }
    }

    template <int O, class Out>
    __device__ static void begin_sum(totals& sums)
    {
        if constexpr (Out::is_sum) { get<O>(sums) = sum_identity<Out>(); }
    }
    template <int O, class Out>
    __device__ static bool is_output_aligned(const cursors<0>& k, int i)
    {
        if constexpr (Out::is_sum) { return true; }
        else { return Out::template aligned<group>(get<O>(k.out), i); }
    }
    template <int O, class Out>
    __device__ static void close_sum(const arguments& a, std::int64_t t, int lane, const totals& sums)
    {
        if constexpr (Out::is_sum) { store_tile_sum<Out>(a.sums, O, t, lane, get<O>(sums)); }
    }

    template <int N, bool Flat, int Ranks, int... I, int... O>
    __device__ static void run_group(const arguments& a, std::int64_t begin, const cursors<Ranks>& k, totals& sums, unsigned i,
                                     std::integer_sequence<int, I...>, std::integer_sequence<int, O...>)
    {
        const place<places> at = place_of<Flat>(a.space, begin, i);
        members<group_of<typename Input::value, N>...> loaded;
        (Input::template load<N>(get<I>(a.in), a.space, get<I>(k.in), at, get<I>(loaded).v), ...);
        members<group_of<value_at<Output::value>, N>...> results;
#pragma unroll
        for (int e = 0; e < N; ++e) {
            registers r;
            ((kernels::at<static_cast<std::size_t>(I)>(r) = get<I>(loaded).v[e]), ...);
            steps::evaluate(a.constants, r);
            ((get<O>(results).v[e] = kernels::at<static_cast<std::size_t>(Output::value)>(r)), ...);
        }
        (put<O, Output, N>(a, k, sums, at, get<O>(results).v), ...);
    }
    template <int O, class Out, int N, int Ranks, class Place, class From>
    __device__ static void put(const arguments& a, const cursors<Ranks>& k, totals& sums, const Place& at, const From (&x)[N])
    {
        if constexpr (Out::is_sum) {
#pragma unroll
            for (int e = 0; e < N; ++e) { add_to_sum<Out>(get<O>(sums), x[e]); }
        } else {
            Out::template store<N>(get<O>(a.out), a.space, get<O>(k.out), at, x);
        }
    }
    template <class Line, int... I>
    __device__ static auto open_line(const arguments& a, const Line& at, std::integer_sequence<int, I...>)
    {
        members<typename Input::template cursor<0>...> in;
        ((get<I>(in) = Input::template open<0, true>(get<I>(a.in), a.space, tile_range{})), ...);
        (move_to_line<Input>(get<I>(in), get<I>(a.in), a.space, at), ...);
        return in;
    }
    template <class In, class Cursor, class Line>
    __device__ static void move_to_line(Cursor& k, const typename In::channel& c, const walk& w, const Line& at)
    {
        if constexpr (In::needs == arrangement::strided) { In::move(k, offset_of(w, at, c.stride)); }
    }
    template <int N, class Cursors, class Value, int... I>
    __device__ static void evaluate_at(const arguments& a, const Cursors& k, const place_on_line& at, Value (&to)[N],
                                       std::integer_sequence<int, I...>)
    {
        members<group_of<typename Input::value, N>...> loaded;
        (Input::template load<N>(get<I>(a.in), a.space, get<I>(k), at, get<I>(loaded).v), ...);
        constexpr int v = (Output::value, ...);
#pragma unroll
        for (int e = 0; e < N; ++e) {
            registers r;
            ((kernels::at<static_cast<std::size_t>(I)>(r) = get<I>(loaded).v[e]), ...);
            steps::evaluate(a.constants, r);
            to[e] = static_cast<Value>(kernels::at<static_cast<std::size_t>(v)>(r));
        }
    }
};

/// Two blocks for each multiprocessor are asked for so that ptxas does not spill for the sake of more.
template <class Body>
__global__ void __launch_bounds__(block_threads, 2) map_kernel(const __grid_constant__ typename Body::arguments a)
{
    Body::run(a);
}

}  // namespace plait::cuda
