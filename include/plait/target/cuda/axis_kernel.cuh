// The kernel of a reduction along one dimension.
#pragma once

#include <plait/target/cuda/map_kernel.cuh>

namespace plait::cuda {

/// The lines along the axis: each is reduced part by part, as the slices of a sliced value would be, and the parts are
/// combined in order. Along the innermost dimension a warp takes a line; else a thread does, beside others in memory.
struct axis_walk {
    std::int64_t lines = 0;
    std::int64_t extent = 0;     // of the axis, as far as this rank has it
    std::int64_t part = 0;       // elements of a part; the last may be shorter, or empty
    int parts = 1;
    int axis = 0;
    int dims = 0;
    bool by_warp = false;
    double divisor = 1;          // of a mean
    std::int64_t counts[max_dims]{};  // of the axis 1
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

    __device__ static void run(const arguments& a)
    {
        const axis_walk& w = a.lines;
        meet(a.pass.before);
        const std::int64_t thread = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
        const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
        const int lane = w.by_warp ? static_cast<int>(threadIdx.x) % warp_size : 0;
        const int step = w.by_warp ? warp_size : 1;
        for (std::int64_t line = thread / step; line < w.lines; line += threads / step) {
            place<arrangement::strided> at{0, {}};
            std::int64_t rest = line;
            std::int64_t out = 0;
            for (int d = w.dims - 1; d >= 0; --d) {
                at.at.at[d] = rest % w.counts[d];
                rest /= w.counts[d];
                out += at.at.at[d] * w.stride[d];
            }
            value sum{};
            for (int p = 0; p < w.parts; ++p) {
                const std::int64_t end = (p + 1) * w.part < w.extent ? (p + 1) * w.part : w.extent;
                total x = sum_identity<Out>();
                for (std::int64_t k = p * w.part + lane; k < end; k += step) {
                    at.at.at[w.axis] = k;
                    add_to_sum<Out>(x, Body::evaluate_one(a.pass, at));
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
};

template <class Body>
__global__ void __launch_bounds__(block_threads) axis_kernel(const __grid_constant__ typename Body::arguments a)
{
    Body::run(a);
}

}  // namespace plait::cuda
