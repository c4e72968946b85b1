// What determines a training run, apart from the text and from how the run is executed. Checkpoints keep it.
#pragma once

#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>

namespace gpt {

enum class optimizer_kind : std::uint32_t { adamw, lamb };

/// How the optimizer's program runs: all-reduce and update; reduce-scatter, update of slices and all-gather; the latter
/// in one kernel. All three give the same bits.
enum class schedule_kind { unscheduled, sliced, fused };

constexpr std::string_view name(optimizer_kind kind) { return kind == optimizer_kind::adamw ? "AdamW" : "LAMB"; }

constexpr std::string_view name(schedule_kind kind)
{
    if (kind == schedule_kind::unscheduled) { return "unscheduled"; }
    return kind == schedule_kind::sliced ? "sliced" : "fused";
}

struct training_settings {
    model_shape shape;
    optimizer_kind optimizer = optimizer_kind::adamw;
    std::uint64_t seed = 1;
    std::uint64_t batch = 16;     ///< windows learnt from in one step, over all ranks
    std::uint64_t steps = 800;    ///< that the learning rate is planned for
    double learning_rate = 4e-3;  ///< at its peak

    bool operator==(const training_settings&) const = default;
};

inline constexpr std::uint64_t most_batch = 65'536;
inline constexpr std::uint64_t most_steps = 100'000'000;
inline constexpr double most_learning_rate = 100;

constexpr double default_learning_rate(optimizer_kind kind) { return kind == optimizer_kind::adamw ? 4e-3 : 1e-2; }

/// Why nobody can train with these settings, or nothing.
inline std::optional<std::string> problem_of(const training_settings& settings)
{
    if (settings.optimizer != optimizer_kind::adamw && settings.optimizer != optimizer_kind::lamb) {
        return "there is no optimizer number " + std::to_string(static_cast<std::uint32_t>(settings.optimizer));
    }
    if (settings.batch < 1 || settings.batch > most_batch) {
        return "the batch must be 1 to " + std::to_string(most_batch) + ", not " + std::to_string(settings.batch);
    }
    if (settings.steps < 1 || settings.steps > most_steps) {
        return "steps must be 1 to " + std::to_string(most_steps) + ", not " + std::to_string(settings.steps);
    }
    if (!(settings.learning_rate > 0 && settings.learning_rate <= most_learning_rate)) {
        return "the learning rate must be positive and at most 100";
    }
    return problem_of(settings.shape);
}

/// Rises over the first twentieth of the steps, then falls along half a cosine to a twentieth of the peak.
inline float learning_rate(const training_settings& settings, std::uint64_t step)
{
    const double share = static_cast<double>(step) / static_cast<double>(settings.steps);
    const double rising = static_cast<double>(step + 1) / (0.05 * static_cast<double>(settings.steps));
    const double falling = 0.05 + 0.95 * 0.5 * (1 + std::cos(std::numbers::pi * share));
    return static_cast<float>(settings.learning_rate * std::min(rising, falling));
}

}  // namespace gpt
