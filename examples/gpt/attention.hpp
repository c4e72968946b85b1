// Causal self-attention of several heads, forward and backward.
#pragma once

#include "layers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gpt {

/// Sizes of one call: `sequences` texts of `length` bytes each; a head has width / heads numbers per byte.
struct attention_sizes {
    std::size_t sequences;
    std::size_t length;
    std::size_t width;
    std::size_t heads;

    std::size_t head_width() const { return width / heads; }
    std::size_t probabilities() const { return sequences * heads * length * length; }
};

namespace detail {

/// Head `head` of sequence `sequence`, a (length, head_width) matrix, in rows of `columns` numbers that have the heads
/// of what is looked for from column `first` on.
template <class T>
matrix_view<T> head_of(const attention_sizes& sizes, T* rows, std::size_t columns, std::size_t first,
                       std::size_t sequence, std::size_t head)
{
    return dense(rows + sequence * sizes.length * columns + first + head * sizes.head_width(), columns);
}

template <class T>
T attention_scale(const attention_sizes& sizes)
{
    return 1 / std::sqrt(static_cast<T>(sizes.head_width()));
}

}  // namespace detail

/// mixed = softmax(q k' / sqrt(head width)) v for each sequence and head; a byte looks at itself and those before it.
/// qkv has rows of queries, keys and values, 3 width in all. Leaves the probabilities for the backward.
template <class T>
void attention(const attention_sizes& sizes, const T* qkv, T* probabilities, T* mixed, product_scratch& scratch)
{
    const std::size_t length = sizes.length;
    const std::size_t part = sizes.head_width();
    const T scale = detail::attention_scale<T>(sizes);
    for (std::size_t s = 0; s < sizes.sequences; ++s) {
        for (std::size_t h = 0; h < sizes.heads; ++h, probabilities += length * length) {
            const auto head = [&](std::size_t i) {
                return detail::head_of(sizes, qkv, 3 * sizes.width, i * sizes.width, s, h);
            };
            product(length, length, part, head(0), head(1).transposed(), dense(probabilities, length), scratch);
            for (std::size_t i = 0; i < length; ++i) {
                T* row = probabilities + i * length;
                for (std::size_t j = 0; j <= i; ++j) { row[j] *= scale; }
                softmax(i + 1, row);
                std::fill(row + i + 1, row + length, T{});
            }
            product(length, part, length, dense_input(probabilities, length), head(2),
                    detail::head_of(sizes, mixed, sizes.width, 0, s, h), scratch);
        }
    }
}

/// Writes d_qkv from d_mixed and what attention() had and left. `work` is working memory, resized as needed.
template <class T>
void attention_backward(const attention_sizes& sizes, const T* qkv, const T* probabilities, const T* d_mixed, T* d_qkv,
                        std::vector<T>& work, product_scratch& scratch)
{
    const std::size_t length = sizes.length;
    const std::size_t part = sizes.head_width();
    const T scale = detail::attention_scale<T>(sizes);
    work.resize(length * length);
    T* d = work.data();  // by the probabilities, then by the products q k'
    for (std::size_t s = 0; s < sizes.sequences; ++s) {
        for (std::size_t h = 0; h < sizes.heads; ++h, probabilities += length * length) {
            const auto head = [&](auto* rows, std::size_t i) {
                return detail::head_of(sizes, rows, 3 * sizes.width, i * sizes.width, s, h);
            };
            const matrix_view<const T> d_out = detail::head_of(sizes, d_mixed, sizes.width, 0, s, h);
            const matrix_view<const T> p = dense_input(probabilities, length);
            product(length, part, length, p.transposed(), d_out, head(d_qkv, 2), scratch);
            product(length, length, part, d_out, head(qkv, 2).transposed(), dense(d, length), scratch);
            for (std::size_t i = 0; i < length; ++i) {
                const T* p_row = probabilities + i * length;
                T* d_row = d + i * length;
                const T average = sum_of<T>(i + 1, [&](std::size_t j) { return p_row[j] * d_row[j]; });
                for (std::size_t j = 0; j <= i; ++j) { d_row[j] = scale * p_row[j] * (d_row[j] - average); }
                std::fill(d_row + i + 1, d_row + length, T{});
            }
            product(length, part, length, dense_input(d, length), head(qkv, 1), head(d_qkv, 0), scratch);
            product(length, part, length, dense_input(d, length).transposed(), head(qkv, 0), head(d_qkv, 1), scratch);
        }
    }
}

}  // namespace gpt
