// One transformer block: attention and a two-layer network, each after a layer norm and added to what came in.
#pragma once

#include "attention.hpp"
#include "layers.hpp"
#include "model.hpp"

#include <cstddef>
#include <vector>

namespace gpt {

/// What a block's forward leaves for its backward.
template <class T>
struct block_activations {
    std::vector<T> norm_1, qkv, probabilities, mixed, middle, norm_2, up, active;
    std::vector<row_statistics<T>> statistics_1, statistics_2;

    void resize(const attention_sizes& sizes)
    {
        const std::size_t rows = sizes.sequences * sizes.length;
        for (std::vector<T>* one : {&norm_1, &mixed, &middle, &norm_2}) { one->resize(rows * sizes.width); }
        for (std::vector<T>* four : {&up, &active}) { four->resize(rows * 4 * sizes.width); }
        qkv.resize(rows * 3 * sizes.width);
        probabilities.resize(sizes.probabilities());
        statistics_1.resize(rows);
        statistics_2.resize(rows);
    }
};

/// Working memory that all blocks share.
template <class T>
struct block_work {
    std::vector<T> d_narrow, d_qkv, d_wide, d_attention;
    product_scratch scratch;
};

/// output = middle + down(gelu(up(norm_2(middle)))) with middle = input + projection(attention(norm_1(input))).
template <class T>
void block_forward(const attention_sizes& sizes, const block_places& at, const T* parameters, const T* input, T* output,
                   block_activations<T>& a, block_work<T>& work)
{
    const std::size_t rows = sizes.sequences * sizes.length;
    const std::size_t width = sizes.width;
    const T* p = parameters;
    a.resize(sizes);
    layer_norm(rows, width, input, p + at.norm_1_gain, p + at.norm_1_bias, a.norm_1.data(), a.statistics_1.data());
    linear(rows, width, 3 * width, a.norm_1.data(), p + at.attention_weight, p + at.attention_bias, a.qkv.data(),
           work.scratch);
    attention(sizes, a.qkv.data(), a.probabilities.data(), a.mixed.data(), work.scratch);
    linear(rows, width, width, a.mixed.data(), p + at.projection_weight, p + at.projection_bias, a.middle.data(),
           work.scratch);
    add(rows * width, input, a.middle.data());

    layer_norm(rows, width, a.middle.data(), p + at.norm_2_gain, p + at.norm_2_bias, a.norm_2.data(),
               a.statistics_2.data());
    linear(rows, width, 4 * width, a.norm_2.data(), p + at.up_weight, p + at.up_bias, a.up.data(), work.scratch);
    gelu(rows * 4 * width, a.up.data(), a.active.data());
    linear(rows, 4 * width, width, a.active.data(), p + at.down_weight, p + at.down_bias, output, work.scratch);
    add(rows * width, a.middle.data(), output);
}

/// d, the derivative by the block's output, becomes that by its input; the parameters' are written to `gradient`.
template <class T>
void block_backward(const attention_sizes& sizes, const block_places& at, const T* parameters, const T* input,
                    const block_activations<T>& a, T* d, T* gradient, block_work<T>& work)
{
    const std::size_t rows = sizes.sequences * sizes.length;
    const std::size_t width = sizes.width;
    const T* p = parameters;
    T* g = gradient;
    work.d_narrow.resize(rows * width);
    work.d_qkv.resize(rows * 3 * width);
    work.d_wide.resize(rows * 4 * width);
    T* d_narrow = work.d_narrow.data();

    linear_backward(rows, 4 * width, width, a.active.data(), p + at.down_weight, d, work.d_wide.data(),
                    g + at.down_weight, g + at.down_bias, work.scratch);
    gelu_backward(rows * 4 * width, a.up.data(), work.d_wide.data());
    linear_backward(rows, width, 4 * width, a.norm_2.data(), p + at.up_weight, work.d_wide.data(), d_narrow,
                    g + at.up_weight, g + at.up_bias, work.scratch);
    layer_norm_backward(rows, width, a.middle.data(), p + at.norm_2_gain, a.statistics_2.data(), d_narrow, d,
                        g + at.norm_2_gain, g + at.norm_2_bias);

    linear_backward(rows, width, width, a.mixed.data(), p + at.projection_weight, d, d_narrow, g + at.projection_weight,
                    g + at.projection_bias, work.scratch);
    attention_backward(sizes, a.qkv.data(), a.probabilities.data(), d_narrow, work.d_qkv.data(), work.d_attention,
                       work.scratch);
    linear_backward(rows, width, 3 * width, a.norm_1.data(), p + at.attention_weight, work.d_qkv.data(), d_narrow,
                    g + at.attention_weight, g + at.attention_bias, work.scratch);
    layer_norm_backward(rows, width, input, p + at.norm_1_gain, a.statistics_1.data(), d_narrow, d, g + at.norm_1_gain,
                        g + at.norm_1_bias);
}

}  // namespace gpt
