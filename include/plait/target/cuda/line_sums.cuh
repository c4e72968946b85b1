// Sums along the innermost dimension: which thread adds what, in an order that the lengths alone determine, so that every
// kernel and every schedule has the same bits.
#pragma once

#include <plait/target/cuda/sums.cuh>

#include <cstdint>
#include <type_traits>

namespace plait::cuda {

/// Threads of a block that works on whole lines.
inline constexpr int line_threads = 512;
/// Neighbouring elements that a thread takes at a time, and how often it does before it adds what it has to its total.
inline constexpr int line_group = 4;
inline constexpr int line_turns = 4;

/// The fewest threads of a part: their groups fill a cache line.
inline constexpr int least_team = 8;
/// How many threads add up a part of a line: the fewest that need not come back, a power of two.
inline int threads_of_part(std::int64_t elements)
{
    int threads = least_team;
    while (threads < line_threads && std::int64_t{threads} * line_group * line_turns < elements) { threads *= 2; }
    return threads;
}

/// How a line is added up: the elements of a group, the groups of a thread's turns, the threads of a warp in a tree, in f32 where
/// elements are; then warps in f64 (or 64-bit integers). Threads that need more turns add up every few of them in f64.
template <class Out>
struct line_sum {
    using total = typename Out::total;
    using few = std::conditional_t<Out::over == reduction::sum && std::is_same_v<typename Out::element, float>, float, total>;

    __device__ static few nothing_yet() { return static_cast<few>(Out::identity); }
    __device__ static few add(few a, few b) { return kernels::combine<Out::over, few>(a, b); }
    template <class T>
    __device__ static few add_element(few a, T x)
    {
        return add(a, static_cast<few>(x));
    }
};

/// What a part's total is as an element of the result, by which parts are combined.
template <class Out>
__device__ typename Out::element element_of_part(typename Out::total x, double divisor)
{
    if constexpr (std::is_floating_point_v<typename Out::total> && Out::is_mean) { x /= divisor; }
    return static_cast<typename Out::element>(as_stored<Out::type>(static_cast<typename Out::element>(x)));
}

}  // namespace plait::cuda
