// The first yardstick: what is known about a byte by counting how often each occurs.
#pragma once

#include "../support/corpus.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

namespace gpt {

/// Mean -log p(byte) in nats over the held-out windows' last bytes, p counted in the training windows':
/// p(b) = (count(b) + 1) / (count + 256).
inline double unigram_loss(const demo::corpus& text)
{
    const auto last = [&](std::span<const char> window) { return static_cast<unsigned char>(window[text.context()]); };
    std::vector<double> count(256, 1.0);
    for (std::size_t i = 0; i < text.train_windows(); ++i) { count[last(text.train(i))] += 1; }
    const double total = static_cast<double>(text.train_windows()) + 256;
    double sum = 0;
    for (std::size_t i = 0; i < text.held_out_windows(); ++i) {
        sum -= std::log(count[last(text.held_out(i))] / total);
    }
    return sum / static_cast<double>(text.held_out_windows());
}

}  // namespace gpt
