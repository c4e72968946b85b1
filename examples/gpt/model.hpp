// What a model is: its shape, and where each parameter tensor lies in the one vector of all parameters.
#pragma once

#include <plait/core/philox.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpt {

/// Tokens are bytes.
inline constexpr std::size_t vocabulary = 256;

struct model_shape {
    std::size_t layers = 2;
    std::size_t width = 64;    ///< numbers that stand for one byte
    std::size_t heads = 4;     ///< of attention in each layer; they share out the width
    std::size_t context = 64;  ///< bytes seen at most

    bool operator==(const model_shape&) const = default;
};

inline constexpr std::size_t most_layers = 64;
inline constexpr std::size_t most_width = 4096;
inline constexpr std::size_t most_heads = 64;
inline constexpr std::size_t most_context = 2048;
inline constexpr std::size_t most_parameters = std::size_t{1} << 28U;

/// One parameter tensor: rows x columns numbers, from `offset` on in the vector of all parameters.
struct tensor_place {
    std::string name;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t offset = 0;
    double deviation = 0;  ///< of its normal random start; 0 starts at `start`
    double start = 0;

    std::size_t size() const { return rows * columns; }
};

/// Offsets of one block's tensors; the comments say their rows and columns.
struct block_places {
    std::size_t norm_1_gain, norm_1_bias;            // 1, width
    std::size_t attention_weight, attention_bias;    // width, 3 width (queries, keys, values); 1, 3 width
    std::size_t projection_weight, projection_bias;  // width, width; 1, width
    std::size_t norm_2_gain, norm_2_bias;            // 1, width
    std::size_t up_weight, up_bias;                  // width, 4 width; 1, 4 width
    std::size_t down_weight, down_bias;              // 4 width, width; 1, width
};

/// The places of all parameters of a shape. The output head has weights of its own, not the embedding's.
class parameter_layout {
  public:
    explicit parameter_layout(const model_shape& shape)
    {
        const std::size_t w = shape.width;
        const double from_width = 1 / std::sqrt(static_cast<double>(w));
        // As in GPT-2, what is added to the residual stream starts smaller the more layers add to it.
        const double residual = 1 / std::sqrt(2 * static_cast<double>(shape.layers));
        bytes = add("byte embedding", vocabulary, w, 0.1);
        positions = add("position embedding", shape.context, w, 0.05);
        for (std::size_t l = 0; l < shape.layers; ++l) {
            const std::string in = "block " + std::to_string(l) + " ";
            block_places b{};
            b.norm_1_gain = add(in + "norm 1 gain", 1, w, 0, 1);
            b.norm_1_bias = add(in + "norm 1 bias", 1, w);
            b.attention_weight = add(in + "attention weight", w, 3 * w, from_width);
            b.attention_bias = add(in + "attention bias", 1, 3 * w);
            b.projection_weight = add(in + "projection weight", w, w, from_width * residual);
            b.projection_bias = add(in + "projection bias", 1, w);
            b.norm_2_gain = add(in + "norm 2 gain", 1, w, 0, 1);
            b.norm_2_bias = add(in + "norm 2 bias", 1, w);
            b.up_weight = add(in + "up weight", w, 4 * w, from_width);
            b.up_bias = add(in + "up bias", 1, 4 * w);
            b.down_weight = add(in + "down weight", 4 * w, w, 0.5 * from_width * residual);
            b.down_bias = add(in + "down bias", 1, w);
            blocks.push_back(b);
        }
        final_gain = add("final norm gain", 1, w, 0, 1);
        final_bias = add("final norm bias", 1, w);
        head = add("head weight", w, vocabulary, 0.3 * from_width);
    }

    std::size_t bytes = 0, positions = 0;
    std::vector<block_places> blocks;
    std::size_t final_gain = 0, final_bias = 0, head = 0;

    std::span<const tensor_place> tensors() const { return tensors_; }
    std::size_t count() const { return tensors_.back().offset + tensors_.back().size(); }

    /// The parameters that training with this seed starts from.
    template <class T>
    void initialise(std::span<T> parameters, std::uint64_t seed) const
    {
        for (const tensor_place& tensor : tensors_) {
            for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size(); ++i) {
                const double random = tensor.deviation > 0 ? tensor.deviation * normal(seed, i) : 0;
                parameters[i] = static_cast<T>(tensor.start + random);
            }
        }
    }

  private:
    std::size_t add(std::string name, std::size_t rows, std::size_t columns, double deviation = 0, double start = 0)
    {
        const std::size_t offset = tensors_.empty() ? 0 : count();
        tensors_.push_back({std::move(name), rows, columns, offset, deviation, start});
        return offset;
    }

    /// The normal random number `i` of a seed, by Box and Muller.
    static double normal(std::uint64_t seed, std::uint64_t i)
    {
        const double u = (plait::philox_u32(seed, 2 * i) + 0.5) * 0x1p-32;
        const double v = (plait::philox_u32(seed, 2 * i + 1) + 0.5) * 0x1p-32;
        return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    }

    std::vector<tensor_place> tensors_;
};

/// Why there is no model of this shape, or nothing.
inline std::optional<std::string> problem_of(const model_shape& shape)
{
    const auto outside = [](std::size_t value, std::size_t most) { return value < 1 || value > most; };
    const auto range = [](const char* what, std::size_t value, std::size_t most) {
        return std::string(what) + " must be 1 to " + std::to_string(most) + ", not " + std::to_string(value);
    };
    if (outside(shape.layers, most_layers)) { return range("layers", shape.layers, most_layers); }
    if (outside(shape.width, most_width)) { return range("the width", shape.width, most_width); }
    if (outside(shape.heads, most_heads)) { return range("heads", shape.heads, most_heads); }
    if (outside(shape.context, most_context)) { return range("the context", shape.context, most_context); }
    if (shape.width % shape.heads != 0) {
        return "the width, " + std::to_string(shape.width) + ", must be a multiple of the heads, " +
               std::to_string(shape.heads);
    }
    if (const std::size_t count = parameter_layout(shape).count(); count > most_parameters) {
        return "a model of " + std::to_string(count) + " parameters is too large; the most are " +
               std::to_string(most_parameters);
    }
    return std::nullopt;
}

}  // namespace gpt
