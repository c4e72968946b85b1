// The kernel of a reduction along one dimension.
#pragma once

#include <plait/target/cuda/line_sums.cuh>
#include <plait/target/cuda/map_kernel.cuh>

namespace plait::cuda {

/// The lines along the axis: each is reduced part by part, as the slices of a sliced value would be, and the parts are
/// combined in order. Along the innermost dimension several threads take a line, each groups of neighbours; else one does,
/// beside others in memory.
struct axis_walk {
    std::int64_t lines = 0;
    std::int64_t extent = 0;     // of the axis, as far as this rank has it
    std::int64_t part = 0;       // elements of a part; the last may be shorter, or empty
    int parts = 1;
    int axis = 0;
    int dims = 0;
    int threads = 1;             // for a line: 1, or a power of two from 8 on
    bool in_few_turns = true;    // whether threads take no part of a line in more turns than line_turns
    bool vectors = false;        // whether groups may be loaded at once
    double divisor = 1;          // of a mean
    std::int64_t stride[max_dims]{};  // of the result
    std::byte* result = nullptr;

    [[nodiscard]] __host__ __device__ int lines_of_block() const { return line_threads / threads; }
};

template <class Body, class Out>
struct axis_kernel_body {
    struct arguments {
        typename Body::arguments pass;
        axis_walk lines;
    };
    using total = typename Out::total;
    using value = typename Out::element;
    using sum = line_sum<Out>;

    __device__ static void run(const arguments& a)
    {
        const axis_walk& w = a.lines;
        meet(a.pass.before);
        const int lane = static_cast<int>(threadIdx.x) % w.threads;
        const std::int64_t own = static_cast<int>(threadIdx.x) / w.threads;
        // All threads of a block go round equally often, as they may have to wait for each other.
        for (std::int64_t first = std::int64_t{blockIdx.x} * w.lines_of_block(); first < w.lines; first += std::int64_t{gridDim.x} * w.lines_of_block()) {
            const std::int64_t line = first + own;
            const bool here = line < w.lines;
            std::int64_t out = 0;
            const auto cursors = Body::open_line(a.pass, line_at(a, here ? line : 0, out));
            value result{};
            for (int p = 0; p < w.parts; ++p) {
                const std::int64_t end = (p + 1) * w.part < w.extent ? (p + 1) * w.part : w.extent;
                total x = Out::identity;
                if (w.threads != 1) { x = sum_of_team(sum_of_lanes(a, cursors, p * w.part + lane * line_group, here ? end : 0), w.threads / warp_size); }
                else if (here) { x = sum_of_one(a, cursors, p * w.part, end); }
                const value part = element_of_part<Out>(x, w.divisor);
                result = p == 0 ? part : kernels::combine<Out::over, value>(result, part);
            }
            if (here && lane == 0) { reinterpret_cast<stored_t<Out::type>*>(w.result)[out] = as_stored<Out::type>(result); }
        }
        meet(a.pass.after);
    }

  private:
    /// The coordinates of a line, and where its result goes.
    __device__ static coordinates line_at(const arguments& a, std::int64_t line, std::int64_t& out)
    {
        const axis_walk& w = a.lines;
        coordinates at{};
#pragma unroll
        for (int d = max_dims - 1; d >= 0; --d) {
            if (d >= w.dims || d == w.axis) { continue; }
            const auto [above, here] = divided(a.pass.space, line, d);
            at.at[d] = here;
            line = above;
            out += here * w.stride[d];
        }
        return at;
    }
    __device__ static row_and_column divided(const walk& w, std::int64_t i, int d)
    {
        if (w.wide) { return {i / w.counts[d], i % w.counts[d]}; }
        const auto at = static_cast<std::uint32_t>(i);
        const std::uint32_t above = w.by[d].quotient(at);
        return {above, at - above * w.by[d].by};
    }

    /// One thread's share of a part: everything, in order.
    template <class Cursors>
    __device__ static total sum_of_one(const arguments& a, const Cursors& cursors, std::int64_t k, std::int64_t end)
    {
        total x = Out::identity;
#pragma unroll 1
        for (; k < end; ++k) {
            value one[1];
            Body::template evaluate<1>(a.pass, cursors, {k, a.lines.axis}, one);
            add_to_sum<Out>(x, one[0]);
        }
        return x;
    }
    /// That of a line's lanes in a warp: each takes groups from k on.
    template <class Cursors>
    __device__ static total sum_of_lanes(const arguments& a, const Cursors& cursors, std::int64_t k, std::int64_t end)
    {
        if (a.lines.in_few_turns) { return static_cast<total>(combined_lanes<Out::over>(few_turns(a, cursors, k, end), a.lines.threads)); }
        total x = Out::identity;
#pragma unroll 1
        while (k < end) { x = kernels::combine<Out::over, total>(x, static_cast<total>(few_turns(a, cursors, k, end))); }
        return combined_lanes<Out::over>(x, a.lines.threads);
    }
    template <class Cursors>
    __device__ static typename sum::few few_turns(const arguments& a, const Cursors& cursors, std::int64_t& k, std::int64_t end)
    {
        typename sum::few x = sum::nothing_yet();
#pragma unroll 1
        for (int turn = 0; turn < line_turns && k < end; ++turn, k += std::int64_t{a.lines.threads} * line_group) {
            typename sum::few group = sum::nothing_yet();
            if (a.lines.vectors && k + line_group <= end) {
                value all[line_group];
                Body::template evaluate<line_group>(a.pass, cursors, {k, a.lines.axis}, all);
#pragma unroll
                for (int e = 0; e < line_group; ++e) { group = sum::add_element(group, all[e]); }
            } else {
#pragma unroll 1
                for (int e = 0; e < line_group && k + e < end; ++e) {
                    value one[1];
                    Body::template evaluate<1>(a.pass, cursors, {k + e, a.lines.axis}, one);
                    group = sum::add_element(group, one[0]);
                }
            }
            x = sum::add(x, group);
        }
        return x;
    }
    /// The warps of a line in order.
    __device__ static total sum_of_team(total x, int warps)
    {
        if (warps <= 1) { return x; }
        __shared__ total by_warp[line_threads / warp_size];
        const int warp = static_cast<int>(threadIdx.x) / warp_size;
        if (threadIdx.x % warp_size == 0) { by_warp[warp] = x; }
        __syncthreads();
        x = combined_in_order<Out::over>(by_warp + warp / warps * warps, warps);
        __syncthreads();
        return x;
    }
};

/// Two blocks for each multiprocessor are asked for so that ptxas does not spill for the sake of more.
template <class Body>
__global__ void __launch_bounds__(line_threads, 2) axis_kernel(const __grid_constant__ typename Body::arguments a)
{
    Body::run(a);
}

}  // namespace plait::cuda
