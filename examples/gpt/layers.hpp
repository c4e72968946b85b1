// The layers without memory of their neighbours, forward and backward: layer norm, linear, gelu, and the loss.
// Matrices are dense, one row per byte of text. "d_x" is the derivative of the loss by x. float or double.
#pragma once

#include "product.hpp"

#include <plait/core/vector_math.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpt {

/// The sum of term(0), ..., term(n - 1), in an order that lets the compiler use vectors.
template <class T, class Term>
T sum_of(std::size_t n, Term term)
{
    constexpr std::size_t lanes = 16;
    const std::size_t whole = n - n % lanes;
    T lane[lanes] = {};
    for (std::size_t i = 0; i < whole; i += lanes) {
        for (std::size_t l = 0; l < lanes; ++l) { lane[l] += term(i + l); }
    }
    T sum{};
    for (std::size_t i = whole; i < n; ++i) { sum += term(i); }
    for (const T& part : lane) { sum += part; }
    return sum;
}

/// The largest of n >= 1 numbers.
template <class T>
T largest_of(std::size_t n, const T* x)
{
    constexpr std::size_t lanes = 16;
    const std::size_t whole = n - n % lanes;
    T lane[lanes];
    std::fill(lane, lane + lanes, x[0]);
    for (std::size_t i = 0; i < whole; i += lanes) {
        for (std::size_t l = 0; l < lanes; ++l) { lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l]; }
    }
    for (std::size_t i = whole; i < n; ++i) { lane[0] = x[i] > lane[0] ? x[i] : lane[0]; }
    return *std::max_element(lane, lane + lanes);
}

/// sums = the sum of the rows of x.
template <class T>
void sum_rows(std::size_t rows, std::size_t columns, const T* x, T* sums)
{
    std::fill(sums, sums + columns, T{});
    for (std::size_t i = 0; i < rows; ++i, x += columns) {
        for (std::size_t j = 0; j < columns; ++j) { sums[j] += x[j]; }
    }
}

/// to += from
template <class T>
void add(std::size_t n, const T* from, T* to)
{
    for (std::size_t i = 0; i < n; ++i) { to[i] += from[i]; }
}

/// What layer_norm leaves for its backward: of each row its mean and one over its standard deviation.
template <class T>
struct row_statistics {
    T mean;
    T inverse;
};

/// y = (x - mean) / sqrt(variance + 1e-5) * gain + bias, row by row.
template <class T>
void layer_norm(std::size_t rows, std::size_t width, const T* x, const T* gain, const T* bias, T* y,
                row_statistics<T>* statistics)
{
    const T n = static_cast<T>(width);
    for (std::size_t i = 0; i < rows; ++i, x += width, y += width) {
        const T mean = sum_of<T>(width, [&](std::size_t j) { return x[j]; }) / n;
        const T squares = sum_of<T>(width, [&](std::size_t j) { return (x[j] - mean) * (x[j] - mean); });
        const T inverse = 1 / std::sqrt(squares / n + static_cast<T>(1e-5));
        for (std::size_t j = 0; j < width; ++j) { y[j] = (x[j] - mean) * inverse * gain[j] + bias[j]; }
        statistics[i] = {mean, inverse};
    }
}

/// Writes d_gain and d_bias, and ADDS to d_x: the norm's input also goes on past it.
template <class T>
void layer_norm_backward(std::size_t rows, std::size_t width, const T* x, const T* gain,
                         const row_statistics<T>* statistics, const T* d_y, T* d_x, T* d_gain, T* d_bias)
{
    std::fill(d_gain, d_gain + width, T{});
    sum_rows(rows, width, d_y, d_bias);
    const T n = static_cast<T>(width);
    for (std::size_t i = 0; i < rows; ++i, x += width, d_y += width, d_x += width) {
        const auto [mean, inverse] = statistics[i];
        const auto normal = [&, mean = mean, inverse = inverse](std::size_t j) { return (x[j] - mean) * inverse; };
        const T average = sum_of<T>(width, [&](std::size_t j) { return d_y[j] * gain[j]; }) / n;
        const T slope = sum_of<T>(width, [&](std::size_t j) { return d_y[j] * gain[j] * normal(j); }) / n;
        for (std::size_t j = 0; j < width; ++j) {
            d_gain[j] += d_y[j] * normal(j);
            d_x[j] += inverse * (d_y[j] * gain[j] - average - normal(j) * slope);
        }
    }
}

/// y = x weight + bias; weight is (inputs, outputs). Without a bias where it is null.
template <class T>
void linear(std::size_t rows, std::size_t inputs, std::size_t outputs, const T* x, const T* weight, const T* bias, T* y,
            product_scratch& scratch)
{
    product(rows, outputs, inputs, dense_input(x, inputs), dense_input(weight, outputs), dense(y, outputs), scratch);
    if (bias == nullptr) { return; }
    for (std::size_t i = 0; i < rows; ++i, y += outputs) { add(outputs, bias, y); }
}

/// Writes d_x, d_weight and, where it is not null, d_bias.
template <class T>
void linear_backward(std::size_t rows, std::size_t inputs, std::size_t outputs, const T* x, const T* weight,
                     const T* d_y, T* d_x, T* d_weight, T* d_bias, product_scratch& scratch)
{
    product(inputs, outputs, rows, dense_input(x, inputs).transposed(), dense_input(d_y, outputs),
            dense(d_weight, outputs), scratch);
    if (d_bias != nullptr) { sum_rows(rows, outputs, d_y, d_bias); }
    product(rows, inputs, outputs, dense_input(d_y, outputs), dense_input(weight, outputs).transposed(),
            dense(d_x, inputs), scratch);
}

namespace detail {
template <class T>
inline constexpr T gelu_scale = static_cast<T>(0.79788456080286535588);  // sqrt(2 / pi)
template <class T>
inline constexpr T gelu_cube = static_cast<T>(0.044715);
}  // namespace detail

/// y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as in GPT-2.
template <class T>
void gelu(std::size_t n, const T* x, T* y)
{
    for (std::size_t i = 0; i < n; ++i) {
        const T v = x[i];
        const T t = plait::math::tanh(detail::gelu_scale<T> * (v + detail::gelu_cube<T> * v * v * v));
        y[i] = v * (1 + t) / 2;
    }
}

/// d, the derivative by gelu's output, becomes that by its input x.
template <class T>
void gelu_backward(std::size_t n, const T* x, T* d)
{
    for (std::size_t i = 0; i < n; ++i) {
        const T v = x[i];
        const T t = plait::math::tanh(detail::gelu_scale<T> * (v + detail::gelu_cube<T> * v * v * v));
        const T inner = detail::gelu_scale<T> * (1 + 3 * detail::gelu_cube<T> * v * v);
        d[i] *= (1 + t + v * (1 - t * t) * inner) / 2;
    }
}

/// n >= 1 logits become probabilities, in place. Returns log(sum(exp(logits))).
template <class T>
T softmax(std::size_t n, T* x)
{
    const T largest = largest_of(n, x);  // taken off first, so that exp cannot overflow
    for (std::size_t j = 0; j < n; ++j) { x[j] = plait::math::exp(x[j] - largest); }
    const T sum = sum_of<T>(n, [&](std::size_t j) { return x[j]; });
    const T share = 1 / sum;
    for (std::size_t j = 0; j < n; ++j) { x[j] *= share; }
    return largest + std::log(sum);
}

/// The sum over the rows of -log p(target), in nats. Logits become probabilities, in place.
template <class T>
double cross_entropy(std::size_t classes, T* logits, std::span<const std::uint8_t> targets)
{
    double sum = 0;
    for (const std::uint8_t target : targets) {
        const T wanted = logits[target];
        sum += static_cast<double>(softmax(classes, logits) - wanted);
        logits += classes;
    }
    return sum;
}

/// The probabilities that cross_entropy left become weight * the derivative by the logits, in place.
template <class T>
void cross_entropy_backward(std::size_t classes, T* probabilities, std::span<const std::uint8_t> targets, T weight)
{
    for (const std::uint8_t target : targets) {
        probabilities[target] -= 1;
        for (std::size_t j = 0; j < classes; ++j) { probabilities[j] *= weight; }
        probabilities += classes;
    }
}

}  // namespace gpt
