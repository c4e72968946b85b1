// Which part of a model's weights a tensor-parallel rank holds, copied out of the vector of all parameters.
#pragma once

#include "model.hpp"

#include <plait/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpt {

/// Rank `rank` of `ranks` that share each layer's heads and its MLP's inner width.
///
/// Heads are dealt out in equal numbers, so that what a rank's heads compute is a slice as plait makes them; where they
/// do not divide, the last ranks' remaining places are zeros.
struct tensor_slice {
    tensor_slice(const model_shape& shape, int rank, int ranks)
        : width(shape.width), head_width(shape.width / shape.heads), inner(plait::slice_of(inner_width(), rank, ranks))
    {
        const std::size_t n = static_cast<std::size_t>(ranks);
        const std::size_t places = (shape.heads + n - 1) / n;
        first_head = std::min(static_cast<std::size_t>(rank) * places, shape.heads);
        heads = std::min(places, shape.heads - first_head);
        mixed = padded(places * head_width);
        qkv = padded(3 * places * head_width);
        vocabulary_part = plait::slice_of(vocabulary, rank, ranks);
        context_part = plait::slice_of(static_cast<std::int64_t>(shape.context), rank, ranks);
    }

    std::int64_t inner_width() const { return static_cast<std::int64_t>(4 * width); }

    std::size_t width, head_width;
    std::size_t first_head = 0, heads = 0;  ///< this rank's heads
    std::size_t mixed = 0, qkv = 0;         ///< columns of what they mix, and of their queries, keys and values
    plait::slice_range inner;               ///< of the MLP
    plait::slice_range vocabulary_part;     ///< of the byte embedding's rows, and of the head's columns
    plait::slice_range context_part;        ///< of the position embedding's rows

  private:
    /// As plait::slice_of rounds parts up.
    static std::size_t padded(std::size_t columns) { return columns < 1024 ? columns : (columns + 63) / 64 * 64; }
};

/// This rank's weights of one block. Norms and the biases of whole rows are read where they are.
struct block_slice {
    std::vector<float> qkv_weight, qkv_bias;  // (width, qkv), qkv
    std::vector<float> projection;            // (mixed, width)
    std::vector<float> up, up_bias, down;     // (width, inner), inner, (inner, width)
};

/// Columns [first, first + count) of a dense matrix of `columns` columns into those from `at` on of one with
/// `to_columns`.
inline void copy_columns(std::size_t rows, const float* from, std::size_t columns, std::size_t first, std::size_t count,
                         float* to, std::size_t to_columns, std::size_t at)
{
    for (std::size_t i = 0; i < rows; ++i) { std::copy_n(from + i * columns + first, count, to + i * to_columns + at); }
}

/// The columns of a (rows, columns) matrix that belong to a range.
inline std::vector<float> columns_of(std::size_t rows, const float* from, std::size_t columns, plait::slice_range part)
{
    const auto count = static_cast<std::size_t>(part.count);
    std::vector<float> result(rows * count);
    copy_columns(rows, from, columns, static_cast<std::size_t>(part.begin), count, result.data(), count, 0);
    return result;
}

/// The rows of a matrix that belong to a range.
inline std::vector<float> rows_of(const float* from, std::size_t columns, plait::slice_range part)
{
    const float* first = from + static_cast<std::size_t>(part.begin) * columns;
    return {first, first + static_cast<std::size_t>(part.count) * columns};
}

inline block_slice slice_block(const tensor_slice& mine, const block_places& at, std::span<const float> parameters)
{
    const float* p = parameters.data();
    const std::size_t w = mine.width;
    const std::size_t columns = mine.heads * mine.head_width;
    const std::size_t first = mine.first_head * mine.head_width;
    block_slice result;
    result.qkv_weight.resize(w * mine.qkv);
    result.qkv_bias.resize(mine.qkv);
    result.projection.resize(mine.mixed * w);
    for (std::size_t i = 0; i < 3; ++i) {  // queries, keys, values
        copy_columns(w, p + at.attention_weight, 3 * w, i * w + first, columns, result.qkv_weight.data(), mine.qkv,
                     i * columns);
        copy_columns(1, p + at.attention_bias, 3 * w, i * w + first, columns, result.qkv_bias.data(), mine.qkv,
                     i * columns);
    }
    std::copy_n(p + at.projection_weight + first * w, columns * w, result.projection.data());
    result.up = columns_of(w, p + at.up_weight, 4 * w, mine.inner);
    result.up_bias = columns_of(1, p + at.up_bias, 4 * w, mine.inner);
    result.down = rows_of(p + at.down_weight, w, mine.inner);
    return result;
}

}  // namespace gpt
