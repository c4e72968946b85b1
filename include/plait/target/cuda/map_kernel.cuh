// The kernel of a pass over elements: every fused computation and every fused collective is one.
#pragma once

#include <plait/target/cuda/meeting.cuh>
#include <plait/target/cuda/outputs.cuh>
#include <plait/target/cuda/sums.cuh>

#include <algorithm>
#include <utility>

namespace plait::cuda {

/// One of several members, by number: what optimisers split into registers, and parameters into constants.
template <int I, class T>
struct numbered {
    T value;
};
template <int I, class T>
__host__ __device__ T& get(numbered<I, T>& n)
{
    return n.value;
}
template <int I, class T>
__host__ __device__ const T& get(const numbered<I, T>& n)
{
    return n.value;
}
template <class Indices, class... T>
struct numbered_list;
template <int... I, class... T>
struct numbered_list<std::integer_sequence<int, I...>, T...> : numbered<I, T>... {};
template <class... T>
using members = numbered_list<std::make_integer_sequence<int, static_cast<int>(sizeof...(T))>, T...>;

/// A value's elements in a group.
template <class T, int N>
struct group_of {
    T v[N];
};

template <class Inputs, class Steps, class Outputs>
struct map_body;

/// A kernel as a type of types and integers. Inputs are values 0 ... n_in-1; step s is value n_in + s.
template <class... Input, class... Step, class... Output>
struct map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>> {
    static constexpr int n_in = sizeof...(Input);
    static constexpr int n_out = sizeof...(Output);
    static constexpr bool is_strided = (Input::is_strided || ... || false) || (Output::is_strided || ... || false);
    static constexpr bool has_sums = (Output::is_sum || ... || false);

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

    struct arguments {
        walk space;
        meeting before;
        meeting after;
        members<typename Input::channel...> in;
        members<typename Output::channel...> out;
        sums_channel sums;
    };

    __device__ static void run(const arguments& a)
    {
        meet(a.before);
        const int lane = static_cast<int>(threadIdx.x) % warp_size;
        const std::int64_t warps = std::int64_t{gridDim.x} * block_warps;
        for (std::int64_t t = std::int64_t{blockIdx.x} * block_warps + threadIdx.x / warp_size; t < a.space.tiles; t += warps) {
            run_tile(a, t, lane, inputs{}, outputs{});
        }
        if constexpr (has_sums) {
            finish_sums<Output...>(a.sums, outputs{});
        }
        meet(a.after);
    }

    /// The value of the one output at some coordinates, for reductions along an axis.
    template <class Place>
    __device__ static auto evaluate_one(const arguments& a, const Place& at)
    {
        tile_range nothing{};
        return evaluate_at(a, at, nothing, inputs{});
    }

  private:
    using inputs = std::make_integer_sequence<int, n_in>;
    using steps = std::make_integer_sequence<int, static_cast<int>(sizeof...(Step))>;
    using outputs = std::make_integer_sequence<int, n_out>;
    using registers = kernels::registers<std::make_index_sequence<sizeof...(Input) + sizeof...(Step)>,
                                         typename Input::value..., kernels::compute_t<Step::type>...>;
    using in_cursors = members<typename Input::cursor...>;
    template <class O>
    struct output_cursor {
        using type = typename O::cursor;
    };
    template <class O>
    requires O::is_sum
    struct output_cursor<O> {
        using type = sum_state<typename O::total>;
    };
    using out_cursors = members<typename output_cursor<Output>::type...>;

    template <int... I, int... O>
    __device__ static void run_tile(const arguments& a, std::int64_t t, int lane, std::integer_sequence<int, I...>,
                                    std::integer_sequence<int, O...>)
    {
        const tile_range tile = find_tile(a.space, t);
        in_cursors in;
        out_cursors out;
        ((get<I>(in) = Input::open(get<I>(a.in), a.space, tile)), ...);
        (open_output<O, Output>(a, tile, out), ...);
        const int length = static_cast<int>(tile.end - tile.begin);
        // Elements [low, high) go in groups, those before and after one by one.
        int low = 0;
        if (t == 0 && a.space.shift > 0) { low = group - a.space.shift % group; }
        low = low % group < length ? low % group : 0;
        bool groups = a.space.vectors;
        ((groups = groups && Input::template aligned<group>(get<I>(in), low)), ...);
        ((groups = groups && is_output_aligned<O, Output>(out, low)), ...);
        const int high = groups ? low + (length - low) / group * group : low;
        for (int i = low + lane * group; i < high; i += warp_size * group) { run_group<group>(a, tile, in, out, i, inputs{}, outputs{}); }
        if constexpr (has_sums) {  // element i is always lane i / 4 % 32's, in order
            for (int g = high / group + (lane + warp_size - high / group % warp_size) % warp_size; g * group < length; g += warp_size) {
                const int end = (g + 1) * group < length ? (g + 1) * group : length;
#pragma unroll 1
                for (int i = g * group; i < end; ++i) { run_group<1>(a, tile, in, out, i, inputs{}, outputs{}); }
            }
            (close_sum<O, Output>(a, t, lane, out), ...);
        } else {
            const int others = low + length - high;
#pragma unroll 1
            for (int s = lane; s < others; s += warp_size) {
                run_group<1>(a, tile, in, out, s < low ? s : high + s - low, inputs{}, outputs{});
            }
        }
    }

    template <int O, class Out>
    __device__ static void open_output(const arguments& a, const tile_range& tile, out_cursors& out)
    {
        if constexpr (Out::is_sum) { get<O>(out).value = sum_identity<Out>(); }
        else { get<O>(out) = Out::open(get<O>(a.out), a.space, tile); }
    }
    template <int O, class Out>
    __device__ static bool is_output_aligned(const out_cursors& out, int i)
    {
        if constexpr (Out::is_sum) { return true; }
        else { return Out::template aligned<group>(get<O>(out), i); }
    }
    template <int O, class Out>
    __device__ static void close_sum(const arguments& a, std::int64_t t, int lane, const out_cursors& out)
    {
        if constexpr (Out::is_sum) { store_tile_sum<Out>(a.sums, O, t, lane, get<O>(out).value); }
    }

    template <int N>
    __device__ static place<is_strided> place_of(const walk& w, const tile_range& tile, int i)
    {
        if constexpr (is_strided) { return {i, find_coordinates(w, tile.begin + i)}; }
        else { return {i}; }
    }

    template <int N, int... I, int... O>
    __device__ static void run_group(const arguments& a, const tile_range& tile, const in_cursors& in, out_cursors& out, int i,
                                     std::integer_sequence<int, I...>, std::integer_sequence<int, O...>)
    {
        const place<is_strided> at = place_of<N>(a.space, tile, i);
        members<group_of<typename Input::value, N>...> loaded;
        (Input::template load<N>(get<I>(a.in), a.space, get<I>(in), at, get<I>(loaded).v), ...);
        members<group_of<value_at<Output::value>, N>...> results;
#pragma unroll
        for (int e = 0; e < N; ++e) {
            registers r;
            ((kernels::at<static_cast<std::size_t>(I)>(r) = get<I>(loaded).v[e]), ...);
            evaluate_steps(r, steps{});
            ((get<O>(results).v[e] = kernels::at<static_cast<std::size_t>(Output::value)>(r)), ...);
        }
        (put<O, Output, N>(a, out, at, get<O>(results).v), ...);
    }
    template <int V>
    using value_at = std::remove_cvref_t<decltype(kernels::at<static_cast<std::size_t>(V)>(std::declval<registers&>()))>;

    template <int... S>
    __device__ static void evaluate_steps(registers& r, std::integer_sequence<int, S...>)
    {
        ((kernels::at<static_cast<std::size_t>(n_in + S)>(r) = kernels::evaluate<Step>(r)), ...);
    }
    template <int O, class Out, int N, class Place, class From>
    __device__ static void put(const arguments& a, out_cursors& out, const Place& at, const From (&x)[N])
    {
        if constexpr (Out::is_sum) {
#pragma unroll
            for (int e = 0; e < N; ++e) { add_to_sum<Out>(get<O>(out).value, x[e]); }
        } else {
            Out::template store<N>(get<O>(a.out), a.space, get<O>(out), at, x);
        }
    }
    template <class Place, int... I>
    __device__ static auto evaluate_at(const arguments& a, const Place& at, const tile_range& tile, std::integer_sequence<int, I...>)
    {
        in_cursors in;
        ((get<I>(in) = Input::open(get<I>(a.in), a.space, tile)), ...);
        members<group_of<typename Input::value, 1>...> loaded;
        (Input::template load<1>(get<I>(a.in), a.space, get<I>(in), at, get<I>(loaded).v), ...);
        registers r;
        ((kernels::at<static_cast<std::size_t>(I)>(r) = get<I>(loaded).v[0]), ...);
        evaluate_steps(r, steps{});
        constexpr int v = (Output::value, ...);
        return kernels::at<static_cast<std::size_t>(v)>(r);
    }
};

template <class Body>
__global__ void __launch_bounds__(block_threads) map_kernel(const __grid_constant__ typename Body::arguments a)
{
    Body::run(a);
}

}  // namespace plait::cuda
