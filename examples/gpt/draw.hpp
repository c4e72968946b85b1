// The next byte, drawn from logits.
#pragma once

#include "model.hpp"

#include <plait/core/philox.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpt {

/// Where a byte is drawn: the random numbers depend on this alone, and so on no rank.
struct draw_place {
    std::uint64_t seed = 1;
    std::uint64_t text = 0;
    std::uint64_t position = 0;  ///< in the text that is generated
};

/// A byte with probability softmax(logits / temperature); the likeliest one at temperature 0.
///
/// It is the largest of logit / temperature + noise, with noise of Gumbel's distribution (Maddison et al. 2014, arXiv
/// 1411.0030). Other than a walk along added-up probabilities, that gives another byte for slightly different logits
/// only where the two best are as close as these differ.
inline std::uint8_t draw_byte(std::span<const float> logits, double temperature, const draw_place& at)
{
    const std::uint64_t stream = at.seed + 0x9e37'79b9'7f4a'7c15U * (at.text + 1);
    std::size_t best = 0;
    double largest = -INFINITY;
    for (std::size_t b = 0; b < vocabulary; ++b) {
        double value = static_cast<double>(logits[b]);
        if (temperature > 0) {
            const double u = (plait::philox_u32(stream, at.position * vocabulary + b) + 0.5) * 0x1p-32;
            value = value / temperature - std::log(-std::log(u));
        }
        if (value > largest) {
            largest = value;
            best = b;
        }
    }
    return static_cast<std::uint8_t>(best);
}

}  // namespace gpt
