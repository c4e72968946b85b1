// Contractions: matmul, conv2d, embedding.
#pragma once

#include <plait/lang/collectives.hpp>

namespace plait {

/// The type of what follows.
template <bool A, bool B>
struct transposed_t {};
/// Marks operands of matmul as transposed in their last two dimensions: the first, the second, both.
inline constexpr transposed_t<true, false> transposed_a{};
inline constexpr transposed_t<false, true> transposed_b{};
inline constexpr transposed_t<true, true> transposed_both{};

/// Matrix product: [..., M, K] x [..., K, N] -> [..., M, N]; leading dimensions broadcast; f16 and bf16 accumulate in
/// f32. Contracting a dimension that is sliced on both sides gives each rank a partial sum (local); other slices stay.
template <expression A, expression B, bool TransposeA = false, bool TransposeB = false>
constexpr detail::made<op::matmul, reduction::sum, 0, TransposeA, TransposeB, A, B> matmul(
    A, B, transposed_t<TransposeA, TransposeB> = {})
{
    return {};
}

/// The type of `stride`.
template <int Number>
struct stride_t {};
/// conv2d computes every `Number`-th row and column alone. 1 or more.
template <int Number>
inline constexpr stride_t<Number> stride{};
/// The type of `padding`.
template <int Number>
struct padding_t {};
/// conv2d takes the image as surrounded by `Number` rows and columns of zeros. 0 or more.
template <int Number>
inline constexpr padding_t<Number> padding{};

/// 2-D cross-correlation: x[N, C, H, W], w[K, C, R, S] -> [N, K, (H + 2 padding - R) / stride + 1, likewise].
/// C, H, W, R and S are numbers; f16 and bf16 accumulate in f32. Slices of N and of K stay.
template <expression X, expression W, int Stride = 1, int Padding = 0>
constexpr detail::made<op::conv2d, reduction::sum, 0, Stride, Padding, X, W> conv2d(
    X, W, stride_t<Stride> = {}, padding_t<Padding> = {})
{
    return {};
}

/// Rows of a table by index: table[V, H], integer indices[...] -> [..., H]. Every index must lie in [0, V); one that does
/// not ends the run with an error on every rank. Slices of H and of the indices stay. Of a table whose rows are sliced
/// every rank gives its own rows and zeros elsewhere (local): all_reduce joins them, as in Megatron-LM's parallel
/// embedding (Shoeybi et al., arXiv 1909.08053).
template <expression Table, expression Indices>
constexpr detail::made<op::embedding, reduction::sum, 0, 0, 0, Table, Indices> embedding(Table, Indices)
{
    return {};
}

}  // namespace plait
