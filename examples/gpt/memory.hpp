// How much memory a training run takes, to say so before the system runs out of it.
#pragma once

#include "../support/failure.hpp"
#include "settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

namespace gpt {

/// Bytes, about: the ranks' activations, parameters and gradients, and the optimizer's state with its checkpoint.
inline double memory_of(const training_settings& settings, int ranks)
{
    const model_shape& s = settings.shape;
    const auto width = static_cast<double>(s.width);
    const auto layers = static_cast<double>(s.layers);
    const double in_a_block = 16 * width + static_cast<double>(s.heads * s.context);
    const double per_byte = layers * in_a_block + 11 * width + static_cast<double>(vocabulary);
    const double windows = static_cast<double>(std::max<std::size_t>(settings.batch, static_cast<std::size_t>(ranks)));
    const auto parameters = static_cast<double>(parameter_layout(s).count());
    const double numbers = windows * static_cast<double>(s.context) * per_byte + (2.0 * ranks + 8) * parameters;
    return numbers * sizeof(float);
}

/// Throws failure, status 1, if the run takes more memory than the machine has.
inline void check_memory(const training_settings& settings, int ranks)
{
    const double needed = memory_of(settings, ranks);
    const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    if (there <= 0 || needed <= there) { return; }
    char text[160];
    std::snprintf(text, sizeof text,
                  "this takes about %.0f GB of memory, the machine has %.0f: a smaller --batch, --context, --width, "
                  "--layers or --ranks helps",
                  needed / 1e9, there / 1e9);
    throw demo::failure(1, text);
}

}  // namespace gpt
