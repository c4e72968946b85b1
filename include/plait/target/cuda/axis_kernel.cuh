// The kernel of a reduction along one dimension.
#pragma once

#include <plait/target/cuda/map_kernel.cuh>

namespace plait::cuda {

/// The lines along the axis: each is reduced part by part, as the slices of a sliced value would be, and the parts are
/// combined in order. Along the innermost dimension a warp takes a line, lanes groups of four elements; else a thread does,
/// beside others in memory.
struct axis_walk {
    std::int64_t lines = 0;
    std::int64_t extent = 0;     // of the axis, as far as this rank has it
    std::int64_t part = 0;       // elements of a part; the last may be shorter, or empty
    int parts = 1;
    int axis = 0;
    int dims = 0;
    bool by_warp = false;
    bool vectors = false;        // whether groups may be loaded at once
    double divisor = 1;          // of a mean
    std::int64_t stride[max_dims]{};  // of the result
    std::byte* result = nullptr;
};

/// Threads per line; a warp adds up in a fixed tree.
template <class Body, class Out>
struct axis_kernel_body {
    struct arguments {
        typename Body::arguments pass;
        axis_walk lines;
    };
    using total = typename Out::total;
    using value = typename Out::element;
    static constexpr int group = 4;

    __device__ static void run(const arguments& a)
    {
        const axis_walk& w = a.lines;
        meet(a.pass.before);
        const std::int64_t thread = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
        const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
        const int lane = w.by_warp ? static_cast<int>(threadIdx.x) % warp_size : 0;
        const int step = w.by_warp ? warp_size : 1;
        for (std::int64_t line = thread / step; line < w.lines; line += threads / step) {
            coordinates at{};
            std::int64_t rest = line;
            std::int64_t out = 0;
#pragma unroll
            for (int d = max_dims - 1; d >= 0; --d) {
                if (d >= w.dims || d == w.axis) { continue; }
                const auto [above, here] = divided(a.pass.space, rest, d);
                at.at[d] = here;
                rest = above;
                out += here * w.stride[d];
            }
            const auto cursors = Body::open_line(a.pass, at);
            value sum{};
            for (int p = 0; p < w.parts; ++p) {
                const std::int64_t end = (p + 1) * w.part < w.extent ? (p + 1) * w.part : w.extent;
                total x = sum_identity<Out>();
                std::int64_t k = p * w.part + lane * group;
                if (w.vectors) {
#pragma unroll 1
                    for (; k + group <= end; k += warp_size * group) { add<group>(a, cursors, k, x); }
                }
#pragma unroll 1
                for (; k < end; k += step * group) {
#pragma unroll 1
                    for (int e = 0; e < group && k + e < end; ++e) { add<1>(a, cursors, k + e, x); }
                }
                if (w.by_warp) { x = sum_of_warp<Out>(x); }
                if constexpr (std::is_floating_point_v<total>) {
                    if (w.divisor != 1) { x /= w.divisor; }
                }
                const auto part = static_cast<value>(as_stored<Out::type>(static_cast<value>(x)));
                sum = p == 0 ? part : kernels::combine<Out::over, value>(sum, part);
            }
            if (lane == 0) { reinterpret_cast<stored_t<Out::type>*>(w.result)[out] = as_stored<Out::type>(sum); }
        }
        meet(a.pass.after);
    }

  private:
    __device__ static row_and_column divided(const walk& w, std::int64_t i, int d)
    {
        if (w.wide) { return {i / w.counts[d], i % w.counts[d]}; }
        const auto at = static_cast<std::uint32_t>(i);
        const std::uint32_t above = w.by[d].quotient(at);
        return {above, at - above * w.by[d].by};
    }
    template <int N, class Cursors>
    __device__ static void add(const arguments& a, const Cursors& cursors, std::int64_t k, total& x)
    {
        value all[N];
        Body::template evaluate<N>(a.pass, cursors, {k, a.lines.axis}, all);
#pragma unroll
        for (int e = 0; e < N; ++e) { add_to_sum<Out>(x, all[e]); }
    }
};

/// Two blocks for each multiprocessor are asked for so that ptxas does not spill for the sake of more.
template <class Body>
__global__ void __launch_bounds__(block_threads, 2) axis_kernel(const __grid_constant__ typename Body::arguments a)
{
    Body::run(a);
}

}  // namespace plait::cuda
