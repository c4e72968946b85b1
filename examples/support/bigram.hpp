// The yardstick: what is known about the next byte from the one before it, by counting.
#pragma once

#include "corpus.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace demo {

/// Mean -log p(byte | byte before) in nats over the held-out windows, p counted in the training windows:
/// p(b | a) = (count(a, b) + k p(b)) / (count(a) + k), p(b) = (count(b) + 1) / (count + 256).
/// k is the best for the held-out bytes themselves among powers of two from 1/4 to 256: the bigram gets that advantage.
inline double bigram_loss(const corpus& text)
{
    std::vector<std::array<double, 256>> pairs(256);
    std::array<double, 256> before{};
    std::array<double, 256> bytes{};
    const std::size_t last = text.context();
    const auto byte = [](char c) { return static_cast<std::size_t>(static_cast<unsigned char>(c)); };
    for (std::size_t i = 0; i < text.train_windows(); ++i) {
        const std::span<const char> window = text.train(i);
        const std::size_t a = byte(window[last - 1]);
        const std::size_t b = byte(window[last]);
        pairs[a][b] += 1;
        before[a] += 1;
        bytes[b] += 1;
    }

    const auto total = static_cast<double>(text.train_windows());
    double best = INFINITY;
    for (double k = 0.25; k <= 256; k *= 2) {
        double sum = 0;
        for (std::size_t i = 0; i < text.held_out_windows(); ++i) {
            const std::span<const char> window = text.held_out(i);
            const std::size_t a = byte(window[last - 1]);
            const std::size_t b = byte(window[last]);
            sum -= std::log((pairs[a][b] + k * (bytes[b] + 1) / (total + 256)) / (before[a] + k));
        }
        best = std::min(best, sum / static_cast<double>(text.held_out_windows()));
    }
    return best;
}

}  // namespace demo
