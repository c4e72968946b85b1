// The whole model, forward and backward: embeddings, blocks, final norm, output head.
#pragma once

#include "block.hpp"
#include "model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpt {

/// A decoder-only transformer in the manner of GPT-2, over bytes.
///
/// Parameters and gradients are the caller's, each one vector of layout().count() numbers. The transformer holds their
/// layout and its activations, so that one serves one thread. T is float, or double to check derivatives.
template <class T>
class transformer {
  public:
    explicit transformer(const model_shape& shape) : shape_(shape), layout_(shape), blocks_(shape.layers) {}

    const model_shape& shape() const { return shape_; }
    const parameter_layout& layout() const { return layout_; }

    /// 256 logits for the byte after each of `texts`, which are texts of `length` bytes, 1 to context, one after the
    /// other. They are valid until the next call.
    std::span<const T> logits(std::span<const T> parameters, std::span<const std::uint8_t> texts, std::size_t length)
    {
        inputs_.assign(texts.begin(), texts.end());
        forward(parameters, length);
        return logits_;
    }

    /// The sum of -log p, in nats, over all bytes but the first of each window. `windows` are context + 1 bytes each.
    double loss(std::span<const T> parameters, std::span<const std::uint8_t> windows)
    {
        take(windows);
        forward(parameters, shape_.context);
        return cross_entropy(vocabulary, logits_.data(), targets_);
    }

    /// As loss(). Overwrites `gradient` with the derivative of weight * loss().
    double loss_and_gradient(std::span<const T> parameters, std::span<const std::uint8_t> windows, T weight,
                             std::span<T> gradient)
    {
        const double result = loss(parameters, windows);
        backward(parameters.data(), weight, gradient);
        return result;
    }

  private:
    /// Windows become inputs, and what follows each of them.
    void take(std::span<const std::uint8_t> windows)
    {
        inputs_.clear();
        targets_.clear();
        for (; !windows.empty(); windows = windows.subspan(shape_.context + 1)) {
            const auto window = windows.first(shape_.context + 1);
            inputs_.insert(inputs_.end(), window.begin(), window.end() - 1);
            targets_.insert(targets_.end(), window.begin() + 1, window.end());
        }
    }

    void forward(std::span<const T> parameters, std::size_t length)
    {
        const std::size_t rows = inputs_.size();
        const std::size_t width = shape_.width;
        const T* p = parameters.data();
        sizes_ = {rows / length, length, width, shape_.heads};
        streams_.resize(shape_.layers + 1);
        for (std::vector<T>& stream : streams_) { stream.resize(rows * width); }
        normal_.resize(rows * width);
        statistics_.resize(rows);
        logits_.resize(rows * vocabulary);

        for (std::size_t i = 0; i < rows; ++i) {
            const T* byte = p + layout_.bytes + inputs_[i] * width;
            const T* position = p + layout_.positions + i % length * width;
            T* to = streams_[0].data() + i * width;
            for (std::size_t j = 0; j < width; ++j) { to[j] = byte[j] + position[j]; }
        }
        for (std::size_t l = 0; l < shape_.layers; ++l) {
            block_forward(sizes_, layout_.blocks[l], p, streams_[l].data(), streams_[l + 1].data(), blocks_[l], work_);
        }
        layer_norm(rows, width, streams_.back().data(), p + layout_.final_gain, p + layout_.final_bias, normal_.data(),
                   statistics_.data());
        linear<T>(rows, width, vocabulary, normal_.data(), p + layout_.head, nullptr, logits_.data(), work_.scratch);
    }

    /// After loss().
    void backward(const T* p, T weight, std::span<T> gradient)
    {
        const std::size_t rows = inputs_.size();
        const std::size_t width = shape_.width;
        T* g = gradient.data();
        d_normal_.resize(rows * width);
        d_stream_.assign(rows * width, T{});
        cross_entropy_backward(vocabulary, logits_.data(), targets_, weight);
        linear_backward<T>(rows, width, vocabulary, normal_.data(), p + layout_.head, logits_.data(), d_normal_.data(),
                           g + layout_.head, nullptr, work_.scratch);
        layer_norm_backward(rows, width, streams_.back().data(), p + layout_.final_gain, statistics_.data(),
                            d_normal_.data(), d_stream_.data(), g + layout_.final_gain, g + layout_.final_bias);
        for (std::size_t l = shape_.layers; l-- > 0;) {
            block_backward(sizes_, layout_.blocks[l], p, streams_[l].data(), blocks_[l], d_stream_.data(), g, work_);
        }
        // The embeddings come first and lie together.
        std::fill(g + layout_.bytes, g + layout_.positions + shape_.context * width, T{});
        for (std::size_t i = 0; i < rows; ++i) {
            const T* from = d_stream_.data() + i * width;
            add(width, from, g + layout_.bytes + inputs_[i] * width);
            add(width, from, g + layout_.positions + i % sizes_.length * width);
        }
    }

    model_shape shape_;
    parameter_layout layout_;
    attention_sizes sizes_{};
    std::vector<std::uint8_t> inputs_, targets_;
    std::vector<std::vector<T>> streams_;  // into block 0, ..., out of the last
    std::vector<block_activations<T>> blocks_;
    std::vector<T> normal_, logits_, d_normal_, d_stream_;
    std::vector<row_statistics<T>> statistics_;
    block_work<T> work_;
};

}  // namespace gpt
