// Text written by the model, one byte after the other.
#pragma once

#include "transformer.hpp"

#include <plait/core/philox.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpt {

/// `length` bytes that follow `prompt`, which has one byte or more. Each is drawn with probability p^(1 / temperature),
/// scaled to sum 1: below 1, likely bytes become likelier.
inline std::string write_text(transformer<float>& model, std::span<const float> parameters, std::string_view prompt,
                              std::size_t length, double temperature, std::uint64_t seed)
{
    std::vector<std::uint8_t> text(prompt.begin(), prompt.end());
    for (std::size_t i = 0; i < length; ++i) {
        const std::span<const std::uint8_t> seen = std::span(text).last(std::min(text.size(), model.shape().context));
        const std::span<const float> logits = model.logits(parameters, seen, seen.size()).last(vocabulary);
        const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
        double weights[vocabulary];
        double sum = 0;
        for (std::size_t b = 0; b < vocabulary; ++b) {
            sum += weights[b] = std::exp((static_cast<double>(logits[b]) - largest) / temperature);
        }
        double rest = sum * plait::philox_u32(seed, i) * 0x1p-32;
        std::size_t drawn = 0;
        while (drawn < vocabulary - 1 && rest >= weights[drawn]) { rest -= weights[drawn++]; }
        text.push_back(static_cast<std::uint8_t>(drawn));
    }
    return {text.begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.end()};
}

}  // namespace gpt
