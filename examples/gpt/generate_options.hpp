// The command line of generate_pipeline and generate_pipeline_mpi.
#pragma once

#include "../support/options.hpp"
#include "generate.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpt {

struct generate_options {
    std::string checkpoint;
    int groups = 2;
    int ranks = 2;
    writing what{.prompt = "", .batch = 4, .length = 200, .temperature = 0.6, .seed = 1};
    std::optional<std::size_t> micro_batches;  ///< as many as groups, if not given
    stage_schedule schedule = stage_schedule::fused;
    bool compare = false;
    bool help = false;

    generation how() const { return {groups, micro_batches.value_or(static_cast<std::size_t>(groups)), schedule}; }
};

inline constexpr std::string_view generate_usage_text = R"( [OPTION...] --checkpoint FILE
Writes text with a model that train_gpt has saved. Pipeline groups share out the layers, the ranks of each group its
heads and the MLPs; plait programs join their partial products and send slices to the next group, while the other groups
work on other micro-batches.

  --checkpoint FILE    the model
  --groups N           pipeline groups, 1 to 8 and at most the layers (default 2); where the layers do not divide, the
                       first groups have one more
  --ranks N            ranks in each group, 1 to 64 (default 2); the heads need not divide
  --schedule NAME      of the programs: unscheduled (as written), fused (collectives inside the computations, on slices;
                       default) or overlapped (that, in chunks). The text is the same

  --prompt TEXT        what to continue (default: nothing, as at the start of a line)
  --batch N            texts written at once, 1 to 4096 (default 4)
  --micro-batches N    parts of the batch that are on their way at once (default: as many as groups); at most the batch
  --length N           bytes of each text, 0 to 1000000 (default 200)
  --temperature X      0 to 10: 0 takes the likeliest byte, 1 draws as the model says (default 0.6)
  --seed N             start of all random numbers (default 1)

  --compare            write the same again on one rank without plait's programs, and check that it is the same text
  --help               print this
The text depends on model, prompt, seed and temperature alone: sums over ranks are rounded differently for other numbers
of ranks, which could show only where the two best bytes are as close as rounding errors.
)";

namespace detail {

inline stage_schedule to_stage_schedule(std::string_view flag, std::string_view text)
{
    for (const stage_schedule kind : {stage_schedule::unscheduled, stage_schedule::fused, stage_schedule::overlapped}) {
        if (text == name(kind)) { return kind; }
    }
    throw demo::usage_failure(std::string(flag) + " must be unscheduled, fused or overlapped, not '" +
                              std::string(text) + "'");
}

inline double to_temperature(std::string_view flag, std::string_view text)
{
    const std::string whole(text);
    char* end = nullptr;
    const double result = std::strtod(whole.c_str(), &end);
    if (whole.empty() || end != whole.c_str() + whole.size() || !(result >= 0 && result <= 10)) {
        throw demo::usage_failure(std::string(flag) + " must be a number from 0 to 10, not '" + whole + "'");
    }
    return result;
}

}  // namespace detail

/// Reads the arguments (without the program's name); of a repeated option the last one counts. Throws failure, status
/// 2, for an unknown option, a missing value, or a value out of range. Stops at --help.
inline generate_options parse_generate_options(std::span<const char* const> arguments)
{
    generate_options result;
    demo::detail::argument_reader in(arguments);
    while (in.next()) {
        const std::string_view flag = in.flag();
        if (flag == "--checkpoint") {
            result.checkpoint = in.value();
        } else if (flag == "--groups") {
            result.groups = in.number(1, most_groups);
        } else if (flag == "--ranks") {
            result.ranks = in.number(1, 64);
        } else if (flag == "--schedule") {
            result.schedule = detail::to_stage_schedule(flag, in.value());
        } else if (flag == "--prompt") {
            result.what.prompt = in.value();
        } else if (flag == "--batch") {
            result.what.batch = in.number(std::size_t{1}, std::size_t{4096});
        } else if (flag == "--micro-batches") {
            result.micro_batches = in.number(std::size_t{1}, std::size_t{4096});
        } else if (flag == "--length") {
            result.what.length = in.number(std::size_t{0}, std::size_t{1'000'000});
        } else if (flag == "--temperature") {
            result.what.temperature = detail::to_temperature(flag, in.value());
        } else if (flag == "--seed") {
            result.what.seed = in.number(std::uint64_t{0}, UINT64_MAX);
        } else if (flag == "--compare") {
            result.compare = in.present();
        } else if (flag == "--help" || flag == "-h") {
            result.help = in.present();
            return result;
        } else {
            throw demo::usage_failure("unknown option '" + std::string(flag) + "'; --help lists them");
        }
    }
    if (result.what.batch * result.what.length > 1'000'000'000) {
        throw demo::usage_failure("--batch times --length must be at most 1000000000");
    }
    if (result.checkpoint.empty()) {
        throw demo::usage_failure("--checkpoint FILE is missing; train_gpt --save writes one");
    }
    return result;
}

/// Throws failure, status 2, for a model that cannot be shared out like that.
inline void check_fits(const generate_options& chosen, const model_shape& shape)
{
    if (static_cast<std::size_t>(chosen.groups) > shape.layers) {
        throw demo::usage_failure("the model has " + std::to_string(shape.layers) +
                                  " layers: --groups must be at most that, not " + std::to_string(chosen.groups));
    }
}

}  // namespace gpt
