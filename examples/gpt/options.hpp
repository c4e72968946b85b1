// train_gpt's command line, and what it makes of it together with a checkpoint.
#pragma once

#include "../support/options.hpp"
#include "settings.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpt {

/// What is not given is taken from the checkpoint, or is the default.
struct options {
    std::optional<std::string> data, save, resume;
    std::optional<std::uint64_t> layers, width, heads, context, seed, batch, steps;
    std::optional<optimizer_kind> optimizer;
    std::optional<double> learning_rate;
    int ranks = 2;
    schedule_kind schedule = schedule_kind::fused;
    std::uint64_t stop_at = 0, save_every = 0;
    int seconds = 0;
    int sample = 400;
    bool help = false;
};

inline constexpr std::string_view usage_text = R"(usage: train_gpt [OPTION...]
Trains a small GPT on the bytes of a text, data-parallel: each rank computes the gradient of its share of every batch, a
scheduled plait program averages the gradients and updates the parameters. Then the model writes.

  --data FILE          learn from FILE (default: plait's README.md and docs/)
  --ranks N            ranks, each a thread with its own replica, 1 to 64 (default 2)
  --schedule NAME      of the optimizer: unscheduled (all-reduce, update), sliced (reduce-scatter, update of slices,
                       all-gather) or fused (the same in one kernel; default). The result is the same
  --seconds N          stop after N seconds; 0 is no limit (default 0)
  --stop-at N          stop after step N, with the learning rate still planned for --steps

the model and its training; kept in checkpoints:
  --layers N           transformer blocks, 1 to 64 (default 2)
  --width N            numbers that stand for one byte, 1 to 4096 (default 64)
  --heads N            attention heads in each block, a divisor of the width (default 4)
  --context N          bytes the model sees, 1 to 2048 (default 64)
  --optimizer NAME     adamw or lamb (default adamw)
  --lr X               peak learning rate (default 0.004 for adamw, 0.01 for lamb); it rises over the first twentieth
                       of the steps, then falls along half a cosine
  --batch N            windows of context + 1 bytes learnt from in one step, over all ranks (default 16)
  --steps N            training steps (default 800)
  --seed N             start of all random numbers (default 1)

checkpoints:
  --save FILE          keep model and optimizer in FILE: at the end, and when stopped by Ctrl-C
  --save-every N       also after every N steps
  --resume FILE        go on from FILE, with any number of ranks. Batch, steps and lr may be given anew

  --sample N           bytes of text to write after training (default 400)
  --help               print this
The same seed and batch give the same losses for any number of ranks, but for rounding.
)";

namespace detail {

inline optimizer_kind to_optimizer(std::string_view flag, std::string_view text)
{
    if (text == "adamw") { return optimizer_kind::adamw; }
    if (text == "lamb") { return optimizer_kind::lamb; }
    throw demo::usage_failure(std::string(flag) + " must be adamw or lamb, not '" + std::string(text) + "'");
}

inline schedule_kind to_schedule(std::string_view flag, std::string_view text)
{
    for (const schedule_kind kind : {schedule_kind::unscheduled, schedule_kind::sliced, schedule_kind::fused}) {
        if (text == name(kind)) { return kind; }
    }
    throw demo::usage_failure(std::string(flag) + " must be unscheduled, sliced or fused, not '" + std::string(text) +
                              "'");
}

inline double to_learning_rate(std::string_view flag, std::string_view text)
{
    const std::string whole(text);
    char* end = nullptr;
    const double result = std::strtod(whole.c_str(), &end);
    if (whole.empty() || end != whole.c_str() + whole.size() || !(result > 0 && result <= most_learning_rate)) {
        throw demo::usage_failure(std::string(flag) + " must be a number above 0 and at most 100, not '" + whole + "'");
    }
    return result;
}

inline std::string to_file(std::string_view flag, std::string_view text)
{
    if (text.empty()) { throw demo::usage_failure(std::string(flag) + " needs the name of a file"); }
    return std::string(text);
}

}  // namespace detail

/// Reads the arguments (without the program's name); of a repeated option the last one counts. Throws failure, status
/// 2, for an unknown option, a missing value, or a value out of range. Stops at --help.
inline options parse_options(std::span<const char* const> arguments)
{
    using whole = std::uint64_t;
    options result;
    demo::detail::argument_reader in(arguments);
    while (in.next()) {
        const std::string_view flag = in.flag();
        if (flag == "--data") {
            result.data = detail::to_file(flag, in.value());
        } else if (flag == "--ranks") {
            result.ranks = in.number(1, 64);
        } else if (flag == "--schedule") {
            result.schedule = detail::to_schedule(flag, in.value());
        } else if (flag == "--seconds") {
            result.seconds = in.number(0, 100'000'000);
        } else if (flag == "--stop-at") {
            result.stop_at = in.number(whole{1}, most_steps);
        } else if (flag == "--layers") {
            result.layers = in.number(whole{1}, whole{most_layers});
        } else if (flag == "--width") {
            result.width = in.number(whole{1}, whole{most_width});
        } else if (flag == "--heads") {
            result.heads = in.number(whole{1}, whole{most_heads});
        } else if (flag == "--context") {
            result.context = in.number(whole{1}, whole{most_context});
        } else if (flag == "--optimizer") {
            result.optimizer = detail::to_optimizer(flag, in.value());
        } else if (flag == "--lr") {
            result.learning_rate = detail::to_learning_rate(flag, in.value());
        } else if (flag == "--batch") {
            result.batch = in.number(whole{1}, most_batch);
        } else if (flag == "--steps") {
            result.steps = in.number(whole{1}, most_steps);
        } else if (flag == "--seed") {
            result.seed = in.number(whole{0}, UINT64_MAX);
        } else if (flag == "--save") {
            result.save = detail::to_file(flag, in.value());
        } else if (flag == "--save-every") {
            result.save_every = in.number(whole{1}, most_steps);
        } else if (flag == "--resume") {
            result.resume = detail::to_file(flag, in.value());
        } else if (flag == "--sample") {
            result.sample = in.number(0, 1'000'000);
        } else if (flag == "--help" || flag == "-h") {
            result.help = in.present();
            return result;
        } else {
            throw demo::usage_failure("unknown option '" + std::string(flag) + "'; --help lists them");
        }
    }
    if (result.save_every > 0 && !result.save) { throw demo::usage_failure("--save-every needs --save FILE"); }
    return result;
}

/// The settings of a new run. Throws failure, status 2, for those that do not go together.
inline training_settings new_settings(const options& chosen)
{
    training_settings s;
    s.shape.layers = chosen.layers.value_or(s.shape.layers);
    s.shape.width = chosen.width.value_or(s.shape.width);
    s.shape.heads = chosen.heads.value_or(s.shape.heads);
    s.shape.context = chosen.context.value_or(s.shape.context);
    s.optimizer = chosen.optimizer.value_or(s.optimizer);
    s.seed = chosen.seed.value_or(s.seed);
    s.batch = chosen.batch.value_or(s.batch);
    s.steps = chosen.steps.value_or(s.steps);
    s.learning_rate = chosen.learning_rate.value_or(default_learning_rate(s.optimizer));
    if (const std::optional<std::string> problem = problem_of(s)) { throw demo::usage_failure(*problem); }
    return s;
}

/// The settings of a run that goes on from a checkpoint with these. Throws failure, status 2, where an option would
/// make it another model or another run.
inline training_settings resumed_settings(const options& chosen, training_settings s)
{
    const auto same = [](const char* flag, const auto& wanted, auto kept, const auto& text) {
        if (wanted && *wanted != kept) {
            throw demo::usage_failure(std::string(flag) + " is " + std::string(text(kept)) +
                                      " in the checkpoint and cannot be changed: leave the option out");
        }
    };
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    same("--layers", chosen.layers, s.shape.layers, number);
    same("--width", chosen.width, s.shape.width, number);
    same("--heads", chosen.heads, s.shape.heads, number);
    same("--context", chosen.context, s.shape.context, number);
    same("--seed", chosen.seed, s.seed, number);
    same("--optimizer", chosen.optimizer, s.optimizer,
         [](optimizer_kind kind) { return kind == optimizer_kind::adamw ? "adamw" : "lamb"; });
    s.batch = chosen.batch.value_or(s.batch);
    s.steps = chosen.steps.value_or(s.steps);
    s.learning_rate = chosen.learning_rate.value_or(s.learning_rate);
    return s;
}

/// Throws failure, status 2, if after `done` steps there is nothing left to do.
inline void check_steps_left(const options& chosen, const training_settings& settings, std::uint64_t done)
{
    if (done >= settings.steps) {
        throw demo::usage_failure("all " + std::to_string(done) +
                                  " steps of the checkpoint are done: --steps must be more");
    }
    if (chosen.stop_at > 0 && chosen.stop_at <= done) {
        throw demo::usage_failure("--stop-at must be more than the " + std::to_string(done) + " steps that are done");
    }
}

}  // namespace gpt
