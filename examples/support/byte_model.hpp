// The model: predicts the next byte of a text from the bytes before it. Forward and backward are written out by hand.
#pragma once

#include "matrix.hpp"

#include <plait/core/philox.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

namespace demo {

struct model_shape {
    std::size_t context = 16;    ///< bytes seen
    std::size_t embedding = 16;  ///< numbers that stand for one byte
    std::size_t hidden = 256;    ///< units in each hidden layer
};

/// One parameter tensor: rows x columns numbers, from `offset` on in the vector of all parameters.
struct parameter_tensor {
    std::string_view name;
    std::size_t rows;
    std::size_t columns;
    std::size_t offset;

    std::size_t size() const { return rows * columns; }
};

/// byte embeddings, concatenated -> hidden layer, relu -> hidden layer, relu -> logits of 256 bytes -> softmax.
///
/// Parameters and gradients are the caller's, each one vector of parameter_count() numbers; the model holds their layout
/// and its own working memory, so that one model serves one thread. Windows come as a vector of bytes, context + 1 each:
/// what the model sees and the byte to predict. Real is float, or double to check derivatives.
template <class Real>
class byte_model {
  public:
    explicit byte_model(model_shape shape) : shape_(shape)
    {
        const std::size_t inputs = shape.context * shape.embedding;
        std::size_t offset = 0;
        const auto tensor = [&](std::string_view name, std::size_t rows, std::size_t columns) {
            const parameter_tensor result{name, rows, columns, offset};
            offset += result.size();
            return result;
        };
        tensors_ = {tensor("embedding", 256, shape.embedding),   tensor("weight 1", inputs, shape.hidden),
                    tensor("bias 1", 1, shape.hidden),           tensor("weight 2", shape.hidden, shape.hidden),
                    tensor("bias 2", 1, shape.hidden),           tensor("output weight", shape.hidden, 256),
                    tensor("output bias", 1, 256)};
        parameter_count_ = offset;
    }

    const model_shape& shape() const { return shape_; }
    std::size_t parameter_count() const { return parameter_count_; }
    std::span<const parameter_tensor> tensors() const { return tensors_; }

    /// Normal embeddings, He's normal weights (variance 2 / inputs; the output layer's a tenth of it), zero biases.
    void initialise(std::span<Real> parameters, std::uint64_t seed) const
    {
        std::fill(parameters.begin(), parameters.end(), Real{});
        for (const std::size_t t : {embedding, weight_1, weight_2, weight_out}) {
            const parameter_tensor& tensor = tensors_[t];
            const double variance = t == embedding ? 1.0 : (t == weight_out ? 0.2 : 2.0) / static_cast<double>(tensor.rows);
            for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size(); ++i) {
                parameters[i] = static_cast<Real>(std::sqrt(variance) * normal(seed, i));
            }
        }
    }

    /// The sum of -log p(byte to predict) over the windows, in nats.
    double loss(std::span<const Real> parameters, std::span<const std::uint8_t> windows)
    {
        forward(parameters, windows);
        return loss_of(windows);
    }

    /// As loss(). Overwrites `gradient` with the derivative of weight * loss().
    double loss_and_gradient(std::span<const Real> parameters, std::span<const std::uint8_t> windows, Real weight,
                             std::span<Real> gradient)
    {
        forward(parameters, windows);
        const double result = loss_of(windows);
        backward(parameters, windows, weight, gradient);
        return result;
    }

    /// p(byte) for each of the 256 bytes that may follow the context of the only window in `window`.
    std::span<const Real> predict(std::span<const Real> parameters, std::span<const std::uint8_t> window)
    {
        forward(parameters, window);
        return output_;
    }

  private:
    enum : std::size_t { embedding, weight_1, bias_1, weight_2, bias_2, weight_out, bias_out, tensor_count };

    /// Tensor t of a vector of parameters or gradients.
    template <class T>
    matrix<T> part(std::span<T> all, std::size_t t) const
    {
        const parameter_tensor& tensor = tensors_[t];
        return {all.subspan(tensor.offset, tensor.size()).data(), tensor.rows, tensor.columns};
    }

    std::size_t count(std::span<const std::uint8_t> windows) const { return windows.size() / (shape_.context + 1); }

    static matrix<Real> rows_of(std::vector<Real>& values, std::size_t rows, std::size_t columns)
    {
        values.resize(rows * columns);
        return {values.data(), rows, columns};
    }

    /// Leaves the activations in inputs_, hidden_1_ and hidden_2_, and the probabilities in output_.
    void forward(std::span<const Real> parameters, std::span<const std::uint8_t> windows)
    {
        const std::size_t n = count(windows);
        const matrix<Real> inputs = rows_of(inputs_, n, shape_.context * shape_.embedding);
        const matrix<Real> hidden_1 = rows_of(hidden_1_, n, shape_.hidden);
        const matrix<Real> hidden_2 = rows_of(hidden_2_, n, shape_.hidden);
        const matrix<Real> output = rows_of(output_, n, 256);
        const matrix<const Real> table = part(parameters, embedding);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t c = 0; c < shape_.context; ++c) {
                const Real* from = &table(windows[i * (shape_.context + 1) + c], 0);
                std::copy(from, from + shape_.embedding, &inputs(i, c * shape_.embedding));
            }
        }
        layer(inputs, part(parameters, weight_1), part(parameters, bias_1), hidden_1);
        relu(hidden_1_);
        layer(hidden_1, part(parameters, weight_2), part(parameters, bias_2), hidden_2);
        relu(hidden_2_);
        layer(hidden_2, part(parameters, weight_out), part(parameters, bias_out), output);
        for (std::size_t i = 0; i < n; ++i) { softmax(&output(i, 0)); }
    }

    double loss_of(std::span<const std::uint8_t> windows) const
    {
        double sum = 0;
        for (std::size_t i = 0; i < count(windows); ++i) {
            const Real p = output_[i * 256 + windows[i * (shape_.context + 1) + shape_.context]];
            sum -= std::log(std::max(static_cast<double>(p), 1e-30));
        }
        return sum;
    }

    void backward(std::span<const Real> parameters, std::span<const std::uint8_t> windows, Real weight,
                  std::span<Real> gradient)
    {
        std::fill(gradient.begin(), gradient.end(), Real{});
        const std::size_t n = count(windows);
        const matrix<Real> inputs{inputs_.data(), n, shape_.context * shape_.embedding};
        const matrix<Real> hidden_1{hidden_1_.data(), n, shape_.hidden};
        const matrix<Real> hidden_2{hidden_2_.data(), n, shape_.hidden};
        const matrix<Real> output{output_.data(), n, 256};
        const matrix<Real> d_hidden_1 = rows_of(d_hidden_1_, n, shape_.hidden);
        const matrix<Real> d_hidden_2 = rows_of(d_hidden_2_, n, shape_.hidden);
        const matrix<Real> d_inputs = rows_of(d_inputs_, n, shape_.context * shape_.embedding);

        // The derivative of -log softmax: p, less 1 at the byte to predict.
        for (std::size_t i = 0; i < n; ++i) {
            output(i, windows[i * (shape_.context + 1) + shape_.context]) -= 1;
            for (std::size_t j = 0; j < 256; ++j) { output(i, j) *= weight; }
        }
        layer_backward(hidden_2, part(parameters, weight_out), output, part(gradient, weight_out),
                       part(gradient, bias_out), d_hidden_2);
        relu_backward(hidden_2_, d_hidden_2_);
        layer_backward(hidden_1, part(parameters, weight_2), d_hidden_2, part(gradient, weight_2),
                       part(gradient, bias_2), d_hidden_1);
        relu_backward(hidden_1_, d_hidden_1_);
        layer_backward(inputs, part(parameters, weight_1), d_hidden_1, part(gradient, weight_1),
                       part(gradient, bias_1), d_inputs);
        const matrix<Real> d_table = part(gradient, embedding);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t c = 0; c < shape_.context; ++c) {
                Real* to = &d_table(windows[i * (shape_.context + 1) + c], 0);
                const Real* from = &d_inputs(i, c * shape_.embedding);
                for (std::size_t e = 0; e < shape_.embedding; ++e) { to[e] += from[e]; }
            }
        }
    }

    /// y = x w + bias
    void layer(matrix<const Real> x, matrix<const Real> w, matrix<const Real> bias, matrix<Real> y)
    {
        for (std::size_t i = 0; i < y.rows; ++i) { std::copy(bias.data, bias.data + bias.columns, &y(i, 0)); }
        add_product(x, w, y, scratch_);
    }

    /// From dy: adds to dw and dbias, and overwrites dx.
    void layer_backward(matrix<Real> x, matrix<const Real> w, matrix<Real> dy, matrix<Real> dw, matrix<Real> dbias,
                        matrix<Real> dx)
    {
        add_product(x.transposed(), dy, dw, scratch_);
        for (std::size_t i = 0; i < dy.rows; ++i) {
            for (std::size_t j = 0; j < dy.columns; ++j) { dbias.data[j] += dy(i, j); }
        }
        std::fill(dx.data, dx.data + dx.rows * dx.columns, Real{});
        add_product(dy, w.transposed(), dx, scratch_);
    }

    static void relu(std::vector<Real>& values)
    {
        for (Real& value : values) { value = value > 0 ? value : Real{}; }
    }

    static void relu_backward(const std::vector<Real>& values, std::vector<Real>& derivatives)
    {
        for (std::size_t i = 0; i < values.size(); ++i) { derivatives[i] = values[i] > 0 ? derivatives[i] : Real{}; }
    }

    /// 256 logits become probabilities, in place; the largest is taken off first so that exp cannot overflow.
    static void softmax(Real* values)
    {
        const Real largest = *std::max_element(values, values + 256);
        Real sum = 0;
        for (std::size_t j = 0; j < 256; ++j) {
            values[j] = std::exp(values[j] - largest);
            sum += values[j];
        }
        for (std::size_t j = 0; j < 256; ++j) { values[j] /= sum; }
    }

    /// The normal random number `i` of a seed, by Box and Muller.
    static double normal(std::uint64_t seed, std::uint64_t i)
    {
        const double u = (philox_u32_at(seed, 2 * i) + 0.5) * 0x1p-32;
        const double v = (philox_u32_at(seed, 2 * i + 1) + 0.5) * 0x1p-32;
        return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    }

    static double philox_u32_at(std::uint64_t seed, std::uint64_t i) { return plait::philox_u32(seed, i); }

    model_shape shape_;
    std::array<parameter_tensor, tensor_count> tensors_;
    std::size_t parameter_count_ = 0;
    std::vector<Real> inputs_, hidden_1_, hidden_2_, output_;
    std::vector<Real> d_inputs_, d_hidden_1_, d_hidden_2_;
    std::vector<Real> scratch_;
};

}  // namespace demo
