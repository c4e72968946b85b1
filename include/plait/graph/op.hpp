// The operations of plait's graphs and their static facts.
#pragma once

#include <plait/core/fixed_string.hpp>

#include <cstdint>
#include <string_view>

namespace plait {

/// What a node of a graph computes.
enum class op : std::uint8_t {
    // leaves
    tensor, scalar, constant, world_size,
    // elementwise, one operand
    neg, abs, sqrt, rsqrt, exp, log, tanh, erf, logical_not, cast,
    // elementwise, two operands
    add, sub, mul, div, min, max, pow, less, less_equal, equal, not_equal, logical_and, logical_or,
    // elementwise, three operands
    select, dropout,
    // reductions and contractions
    reduce, reduce_per_tensor, matmul, conv2d, embedding,
    // each rank's part of a replicated value
    slice,
    // collectives
    all_reduce, reduce_scatter, all_gather, reduce_to_root, broadcast, gather, scatter, all_to_all, send,
    // a tensor's new value
    update,
};

/// The name that programs and messages use for an operation.
constexpr std::string_view name_of(op k)
{
    constexpr std::string_view names[] = {
        "tensor", "scalar", "constant", "world_size",
        "neg", "abs", "sqrt", "rsqrt", "exp", "log", "tanh", "erf", "not", "cast",
        "add", "sub", "mul", "div", "min", "max", "pow", "less", "less_equal", "equal", "not_equal", "and", "or",
        "select", "dropout",
        "reduce", "reduce_per_tensor", "matmul", "conv2d", "embedding",
        "slice",
        "all_reduce", "reduce_scatter", "all_gather", "reduce", "broadcast", "gather", "scatter", "all_to_all", "send",
        "update"};
    return names[static_cast<int>(k)];
}

constexpr bool is_leaf(op k) { return k <= op::world_size; }
constexpr bool is_elementwise(op k) { return k >= op::neg && k <= op::dropout; }
constexpr bool is_comparison(op k) { return k >= op::less && k <= op::not_equal; }
constexpr bool is_logical(op k) { return k == op::logical_and || k == op::logical_or || k == op::logical_not; }
constexpr bool is_reduction(op k) { return k == op::reduce || k == op::reduce_per_tensor; }
/// Reads whole rows, tiles or images of operands in memory: a stage of its own.
constexpr bool is_contraction(op k) { return k >= op::matmul && k <= op::embedding; }
constexpr bool is_collective(op k) { return k >= op::all_reduce && k <= op::send; }
/// Defined for floating point alone.
constexpr bool is_transcendental(op k) { return (k >= op::sqrt && k <= op::erf) || k == op::pow; }

/// How values are combined by all_reduce, reduce_scatter and reductions. `mean` is for reductions alone.
enum class reduction : std::uint8_t { sum, product, min, max, mean };

constexpr std::string_view name_of(reduction r)
{
    constexpr std::string_view names[] = {"sum", "product", "min", "max", "mean"};
    return names[static_cast<int>(r)];
}

/// What an operation needs beside its operands; the meaning of the numbers is the operation's:
/// reduce: axis (all_axes for every dimension), keep_dims; reduce_scatter, slice, scatter, all_to_all: axis;
/// reduce_to_root, broadcast, gather, scatter: root; send: group; matmul: transposed a, transposed b;
/// conv2d: stride, padding; cast: dtype.
struct attributes {
    static constexpr int all_axes = -100;
    reduction combine = reduction::sum;
    int axis = 0;
    int a = 0;
    int b = 0;
    constexpr bool operator==(const attributes&) const = default;
};

namespace detail {
constexpr std::uint64_t mix(std::uint64_t seed, const attributes& a)
{
    seed = mix(seed, static_cast<std::uint64_t>(a.combine));
    seed = mix(seed, static_cast<std::uint64_t>(a.axis));
    return mix(mix(seed, static_cast<std::uint64_t>(a.a)), static_cast<std::uint64_t>(a.b));
}
}  // namespace detail

}  // namespace plait
