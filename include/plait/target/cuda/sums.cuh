// Sums over whole spaces on a device: lanes, tiles, parts, each in a fixed order, so that every schedule has the same bits.
#pragma once

#include <plait/target/cuda/outputs.cuh>

namespace plait::cuda {

/// Tiles [first, last) of one part of the space, or of one tensor in it.
struct sum_range {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t count = 0;  // of the mean's elements
};

/// The sums of a pass: ranges by part and tensor for results per tensor, by part for the others.
struct sums_channel {
    std::uint64_t* tiles = nullptr;        // totals: by result, by tile
    std::uint64_t* parts = nullptr;        // elements, one per word: by result, part, tensor
    std::byte* result[max_results]{};      // where the result of output o goes
    bool per_tensor[max_results]{};
    const sum_range* tensors = nullptr;    // by part, by tensor
    const sum_range* wholes = nullptr;     // by part
    std::uint32_t* arrived = nullptr;      // blocks that have stored their tiles
    std::int64_t n_tiles = 0;
    std::int64_t n_tensors = 1;
    int n_parts = 1;
};

template <class Out>
__device__ typename Out::total sum_identity()
{
    constexpr typename Out::total value = Out::identity;
    return value;
}
template <class Out, class T>
__device__ void add_to_sum(typename Out::total& sum, T x)
{
    using total = typename Out::total;
    sum = kernels::combine<Out::over, total>(sum, static_cast<total>(x));
}
/// The values of so many lanes, a power of two, in a fixed tree; in all of them.
template <reduction R, class T>
__device__ T combined_lanes(T x, int lanes = warp_size)
{
#pragma unroll
    for (int half = warp_size / 2; half > 0; half /= 2) {
        if (half < lanes) { x = kernels::combine<R, T>(x, __shfl_xor_sync(0xffff'ffffU, x, half)); }
    }
    return x;
}
/// So many values, one after the other.
template <reduction R, class T>
__device__ T combined_in_order(const T* x, int n)
{
    T all = x[0];
#pragma unroll 1
    for (int i = 1; i < n; ++i) { all = kernels::combine<R, T>(all, x[i]); }
    return all;
}

template <class Out>
__device__ void store_tile_sum(const sums_channel& s, int output, std::int64_t tile, int lane, typename Out::total x)
{
    x = combined_lanes<Out::over>(x);
    if (lane == 0) { s.tiles[output * s.n_tiles + tile] = __builtin_bit_cast(std::uint64_t, x); }
}

template <class Out>
__device__ typename Out::total tile_sum(const sums_channel& s, int output, std::int64_t tile)
{
    typename Out::total x;
    const std::uint64_t bits = s.tiles[output * s.n_tiles + tile];
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
/// Stores a part's result, as an element in a word of its own.
template <class Out>
__device__ void store_part(const sums_channel& s, int output, std::int64_t index, typename Out::total sum, std::int64_t count)
{
    if constexpr (std::is_floating_point_v<typename Out::total>) {
        if (Out::is_mean && (count > 0 || !s.per_tensor[output])) { sum /= static_cast<double>(count); }  // the mean of nothing is NaN
    }
    const auto x = as_stored<Out::type>(static_cast<typename Out::element>(sum));
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &x, sizeof x);
    s.parts[(output * s.n_parts) * s.n_tensors + index] = bits;
}

/// One output's sums, by the last block.
template <int O, class Out>
__device__ void finish_sum(const sums_channel& s)
{
    using total = typename Out::total;
    __shared__ total by_warp[block_warps];
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    if (s.per_tensor[O]) {  // a warp per tensor
        for (std::int64_t i = warp; i < s.n_parts * s.n_tensors; i += block_warps) {
            const sum_range r = s.tensors[i];
            total x = sum_identity<Out>();
            for (std::int64_t t = r.first + lane; t < r.last; t += warp_size) {
                x = kernels::combine<Out::over, total>(x, tile_sum<Out>(s, O, t));
            }
            x = combined_lanes<Out::over>(x);
            if (lane == 0) { store_part<Out>(s, O, i, x, r.count); }
        }
    } else {  // the block for each part
        for (int p = 0; p < s.n_parts; ++p) {
            const sum_range r = s.wholes[p];
            total x = sum_identity<Out>();
#pragma unroll 4
            for (std::int64_t t = r.first + threadIdx.x; t < r.last; t += block_threads) {
                x = kernels::combine<Out::over, total>(x, tile_sum<Out>(s, O, t));
            }
            x = combined_lanes<Out::over>(x);
            if (lane == 0) { by_warp[warp] = x; }
            __syncthreads();
            if (threadIdx.x == 0) {
                for (int w = 1; w < block_warps; ++w) { x = kernels::combine<Out::over, total>(x, by_warp[w]); }
                store_part<Out>(s, O, p * s.n_tensors, x, r.count);
            }
            __syncthreads();
        }
    }
    __syncthreads();
    // The parts, as ranks would be combined.
    using T = stored_t<Out::type>;
    using value = typename Out::element;
    const std::int64_t n = s.per_tensor[O] ? s.n_tensors : 1;
    for (std::int64_t i = threadIdx.x; i < n; i += block_threads) {
        const auto part = [&](int p) {
            T x;
            const std::uint64_t bits = s.parts[(O * s.n_parts + p) * s.n_tensors + i];
            __builtin_memcpy(&x, &bits, sizeof x);
            return static_cast<value>(x);
        };
        value x = part(0);
        for (int p = 1; p < s.n_parts; ++p) { x = kernels::combine<Out::over, value>(x, part(p)); }
        reinterpret_cast<T*>(s.result[O])[i] = as_stored<Out::type>(x);
    }
    __syncthreads();
}

/// After all tiles of a block are stored: the block that comes last adds them up.
template <class... Output, int... O>
__device__ void finish_sums(const sums_channel& s, std::integer_sequence<int, O...>)
{
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();  // after the barrier: it hands on what the other threads have stored
        is_last = atomicAdd(s.arrived, 1U) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) { return; }
    const auto one = [&]<int I, class Out>(std::integral_constant<int, I>, std::type_identity<Out>) {
        if constexpr (Out::is_sum) { finish_sum<I, Out>(s); }
    };
    (one(std::integral_constant<int, O>{}, std::type_identity<Output>{}), ...);
    if (threadIdx.x == 0) { *s.arrived = 0; }
}

}  // namespace plait::cuda
