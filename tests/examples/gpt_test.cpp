// The transformer of examples/gpt: derivatives against finite differences, and that it does not look ahead.
#include "../../examples/gpt/transformer.hpp"

#include <plait/core/philox.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace {

using numbers = std::vector<double>;

/// n numbers in (-1, 1), other ones for another seed.
numbers random_numbers(std::size_t n, std::uint64_t seed)
{
    numbers result(n);
    for (std::size_t i = 0; i < n; ++i) { result[i] = plait::philox_u32(seed, i) * 0x1p-31 - 1; }
    return result;
}

double dot(std::span<const double> a, std::span<const double> b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) { sum += a[i] * b[i]; }
    return sum;
}

/// The largest difference between `derivative` and the central differences of `f` in each of the numbers `x`.
double worst_difference(std::span<double> x, std::span<const double> derivative, const std::function<double()>& f)
{
    constexpr double h = 1e-5;
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double at = x[i];
        x[i] = at + h;
        const double above = f();
        x[i] = at - h;
        const double below = f();
        x[i] = at;
        const double difference = std::fabs((above - below) / (2 * h) - derivative[i]);
        worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    }
    return worst;
}

std::vector<std::uint8_t> some_bytes(std::size_t n, std::uint64_t seed)
{
    std::vector<std::uint8_t> result(n);
    for (std::size_t i = 0; i < n; ++i) { result[i] = static_cast<std::uint8_t>(plait::philox_u32(seed, i) >> 24U); }
    return result;
}

constexpr double tolerance = 1e-8;

}  // namespace

TEST_CASE("a product is the sum of products, whatever the strides")
{
    gpt::product_scratch scratch;
    struct size {
        std::size_t m, n, k;
    };
    for (const auto [m, n, k] :
         {size{1, 1, 1}, size{5, 3, 7}, size{4, 32, 9}, size{9, 70, 2}, size{3, 4, 0}, size{0, 4, 3}}) {
        const numbers a = random_numbers(m * k, 1);
        const numbers b = random_numbers(k * n, 2);
        for (const bool turned : {false, true}) {
            numbers c(m * n, 99.0);
            const gpt::matrix_view<const double> left =
                turned ? gpt::dense_input(a.data(), m).transposed() : gpt::dense_input(a.data(), k);
            const gpt::matrix_view<const double> right =
                turned ? gpt::dense_input(b.data(), k).transposed() : gpt::dense_input(b.data(), n);
            gpt::product(m, n, k, left, right, gpt::dense(c.data(), n), scratch);
            for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t j = 0; j < n; ++j) {
                    double sum = 0;
                    for (std::size_t t = 0; t < k; ++t) {
                        sum += left.at(i, t) * right.at(t, j);
                    }
                    CHECK(c[i * n + j] == doctest::Approx(sum));
                }
            }
        }
    }
}

TEST_CASE("layer norm: rows have mean 0 and deviation 1; derivatives")
{
    for (const std::size_t width : {1U, 5U, 16U, 37U}) {
        constexpr std::size_t rows = 3;
        numbers x = random_numbers(rows * width, 1);
        numbers gain = random_numbers(width, 2);
        numbers bias = random_numbers(width, 3);
        const numbers d_y = random_numbers(rows * width, 4);
        numbers y(rows * width);
        std::vector<gpt::row_statistics<double>> statistics(rows);
        const auto f = [&] {
            gpt::layer_norm(rows, width, x.data(), gain.data(), bias.data(), y.data(), statistics.data());
            return dot(y, d_y);
        };
        f();
        const numbers before = random_numbers(rows * width, 5);
        numbers d_x = before, d_gain(width, 9.0), d_bias(width, 9.0);
        gpt::layer_norm_backward(rows, width, x.data(), gain.data(), statistics.data(), d_y.data(), d_x.data(),
                                 d_gain.data(), d_bias.data());
        for (std::size_t i = 0; i < d_x.size(); ++i) { d_x[i] -= before[i]; }
        CHECK(worst_difference(x, d_x, f) < tolerance);
        CHECK(worst_difference(gain, d_gain, f) < tolerance);
        CHECK(worst_difference(bias, d_bias, f) < tolerance);

        std::fill(gain.begin(), gain.end(), 1.0);
        std::fill(bias.begin(), bias.end(), 0.0);
        f();
        const std::span<const double> row = std::span<const double>(y).first(width);
        CHECK(std::fabs(dot(row, numbers(width, 1.0))) < 1e-12);
        if (width > 1) { CHECK(dot(row, row) / static_cast<double>(width) == doctest::Approx(1).epsilon(1e-3)); }
    }
}

TEST_CASE("linear: derivatives, with and without a bias")
{
    constexpr std::size_t rows = 6, inputs = 5, outputs = 34;
    numbers x = random_numbers(rows * inputs, 1);
    numbers weight = random_numbers(inputs * outputs, 2);
    numbers bias = random_numbers(outputs, 3);
    const numbers d_y = random_numbers(rows * outputs, 4);
    gpt::product_scratch scratch;
    for (const bool with_bias : {true, false}) {
        numbers y(rows * outputs);
        const auto f = [&] {
            gpt::linear(rows, inputs, outputs, x.data(), weight.data(), with_bias ? bias.data() : nullptr, y.data(),
                        scratch);
            return dot(y, d_y);
        };
        numbers d_x(x.size()), d_weight(weight.size()), d_bias(outputs);
        gpt::linear_backward(rows, inputs, outputs, x.data(), weight.data(), d_y.data(), d_x.data(), d_weight.data(),
                             with_bias ? d_bias.data() : nullptr, scratch);
        CHECK(worst_difference(x, d_x, f) < tolerance);
        CHECK(worst_difference(weight, d_weight, f) < tolerance);
        CHECK(worst_difference(bias, d_bias, f) < tolerance);
    }
}

TEST_CASE("gelu: values and derivatives")
{
    numbers x = random_numbers(50, 1);
    for (double& value : x) { value *= 4; }
    x[0] = 0;
    const numbers d_y = random_numbers(x.size(), 2);
    numbers y(x.size());
    const auto f = [&] {
        gpt::gelu(x.size(), x.data(), y.data());
        return dot(y, d_y);
    };
    f();
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = x[i] * 0.5 * std::erfc(-x[i] / std::sqrt(2.0));  // the tanh form is within 5e-4 of it
        CHECK(std::fabs(y[i] - exact) < 5e-4);
    }
    numbers d = d_y;
    gpt::gelu_backward(x.size(), x.data(), d.data());
    CHECK(worst_difference(x, d, f) < tolerance);
}

TEST_CASE("cross entropy: values, derivatives, and no overflow")
{
    constexpr std::size_t classes = 21;
    const std::vector<std::uint8_t> targets{3, 0, 20};
    numbers x = random_numbers(targets.size() * classes, 1);
    constexpr double weight = 0.7;
    const auto f = [&] {
        numbers logits = x;
        return weight * gpt::cross_entropy(classes, logits.data(), targets);
    };
    numbers d = x;
    gpt::cross_entropy(classes, d.data(), targets);
    gpt::cross_entropy_backward(classes, d.data(), std::span(targets), weight);
    CHECK(worst_difference(x, d, f) < tolerance);

    double expected = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < classes; ++j) { sum += std::exp(x[i * classes + j]); }
        expected -= weight * std::log(std::exp(x[i * classes + targets[i]]) / sum);
    }
    CHECK(f() == doctest::Approx(expected));

    std::vector<float> large(classes, -1e30F);
    large[4] = 1e30F;
    CHECK(gpt::cross_entropy(classes, large.data(), std::vector<std::uint8_t>{4}) == 0);
    CHECK(large[4] == 1);
}

TEST_CASE("attention: rows of probabilities sum to 1 and end at the diagonal; derivatives")
{
    for (const std::size_t length : {1U, 2U, 7U, 18U}) {
        const gpt::attention_sizes sizes{2, length, 6, 3};
        numbers qkv = random_numbers(sizes.sequences * length * 3 * sizes.width, 1);
        for (double& value : qkv) { value *= 2; }
        const numbers d_mixed = random_numbers(sizes.sequences * length * sizes.width, 2);
        numbers probabilities(sizes.probabilities()), mixed(d_mixed.size()), work;
        gpt::product_scratch scratch;
        const auto f = [&] {
            gpt::attention(sizes, qkv.data(), probabilities.data(), mixed.data(), scratch);
            return dot(mixed, d_mixed);
        };
        f();
        for (std::size_t row = 0; row < probabilities.size() / length; ++row) {
            const std::span<const double> p = std::span<const double>(probabilities).subspan(row * length, length);
            CHECK(dot(p, numbers(length, 1.0)) == doctest::Approx(1));
            for (std::size_t j = row % length + 1; j < length; ++j) { CHECK(p[j] == 0); }
        }
        numbers d_qkv(qkv.size(), 9.0);
        gpt::attention_backward(sizes, qkv.data(), probabilities.data(), d_mixed.data(), d_qkv.data(), work, scratch);
        CHECK(worst_difference(qkv, d_qkv, f) < tolerance);
    }
}

TEST_CASE("the whole model: derivatives by every parameter")
{
    const gpt::model_shape shape{2, 6, 2, 4};
    gpt::transformer<double> model(shape);
    numbers parameters(model.layout().count());
    model.layout().initialise(std::span(parameters), 7);
    const numbers moved = random_numbers(parameters.size(), 3);  // so that no bias is 0 and no gain 1
    for (std::size_t i = 0; i < parameters.size(); ++i) { parameters[i] += 0.5 * moved[i]; }
    const std::vector<std::uint8_t> windows = some_bytes(2 * (shape.context + 1), 4);
    constexpr double weight = 0.3;
    numbers gradient(parameters.size(), 9.0);
    const double loss = model.loss_and_gradient(parameters, windows, weight, gradient);
    CHECK(loss == model.loss(parameters, windows));
    const auto check = [&](std::size_t at, std::size_t n) {
        CHECK(worst_difference(std::span(parameters).subspan(at, n), std::span(gradient).subspan(at, n),
                               [&] { return weight * model.loss(parameters, windows); }) < tolerance);
    };
    // Of the embedding, the rows of the bytes in the windows, and one of a byte that is not: 256 take long.
    std::vector<std::uint8_t> bytes = windows;
    for (bytes.push_back(0); std::find(windows.begin(), windows.end(), bytes.back()) != windows.end();) {
        ++bytes.back();
    }
    for (const std::uint8_t byte : bytes) { check(model.layout().bytes + byte * shape.width, shape.width); }
    for (const gpt::tensor_place& tensor : model.layout().tensors().subspan(1)) {
        CAPTURE(tensor.name);
        check(tensor.offset, tensor.size());
    }
}

TEST_CASE("no windows: no loss, and a gradient of zeros")
{
    gpt::transformer<float> model({1, 4, 2, 3});
    const std::vector<float> parameters(model.layout().count(), 0.5F);
    std::vector<float> gradient(parameters.size(), 9.0F);
    CHECK(model.loss_and_gradient(parameters, {}, 1.0F, gradient) == 0);
    CHECK(std::all_of(gradient.begin(), gradient.end(), [](float x) { return x == 0; }));
}

TEST_CASE("no byte changes what is predicted before it")
{
    gpt::transformer<float> model({2, 32, 4, 20});
    std::vector<float> parameters(model.layout().count());
    model.layout().initialise(std::span(parameters), 1);
    std::vector<std::uint8_t> text = some_bytes(20, 1);
    const auto logits_of = [&](std::size_t length) {
        const auto logits = model.logits(parameters, std::span(text).first(length), length);
        return std::vector<float>(logits.begin(), logits.end());
    };
    const std::vector<float> all = logits_of(20);
    for (std::size_t changed = 0; changed < 20; ++changed) {
        text[changed] ^= 0x55U;
        const std::vector<float> other = logits_of(20);
        text[changed] ^= 0x55U;
        const auto before = static_cast<std::ptrdiff_t>(changed * gpt::vocabulary);
        CHECK(std::equal(all.begin(), all.begin() + before, other.begin()));
        CHECK(!std::equal(all.begin() + before, all.begin() + before + gpt::vocabulary, other.begin() + before));
    }
    for (const std::size_t length : {1U, 7U, 19U}) {  // nor does what follows
        const std::vector<float> shorter = logits_of(length);
        CHECK(shorter.size() == length * gpt::vocabulary);
        for (std::size_t i = 0; i < shorter.size(); ++i) { CHECK(shorter[i] == doctest::Approx(all[i]).epsilon(1e-4)); }
    }
}
