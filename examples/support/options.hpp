// The demo's command line.
#pragma once

#include "failure.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace demo {

enum class optimizer_kind { adam, lamb };

constexpr std::string_view name(optimizer_kind kind) { return kind == optimizer_kind::adam ? "Adam" : "LAMB"; }

struct options {
    std::optional<std::string> text;  ///< a file; without one, plait's own documentation
    int ranks = 4;
    int steps = 1000;
    int seconds = 60;  ///< training stops here even if steps are left; 0 is no limit
    int batch = 256;   ///< bytes to predict in one step, over all ranks
    int context = 16;  ///< bytes the model sees
    int hidden = 256;  ///< units in each hidden layer
    std::uint64_t seed = 1;
    optimizer_kind optimizer = optimizer_kind::adam;
    int sample = 600;  ///< bytes of text to write after training
    bool table = true;
    std::optional<std::string> report;  ///< a file: measure schedules and write this page instead of training
    bool help = false;
};

inline constexpr std::string_view usage_text = R"(usage: demo [OPTION...]
Trains a small language model on text, data-parallel, with a scheduled plait program as the optimizer.

  --text FILE          learn from FILE (default: plait's README.md and docs/)
  --ranks N            ranks, each a thread with its own replica, 1 to 64 (default 4)
  --steps N            training steps (default 1000)
  --seconds N          stop training after N seconds; 0 is no limit (default 60)
  --batch N            bytes predicted per step, shared out among the ranks (default 256)
  --context N          bytes the model sees before the one it predicts, 1 to 128 (default 16)
  --hidden N           units in each of the two hidden layers, 1 to 2048 (default 256)
  --seed N             start of all random numbers (default 1)
  --optimizer NAME     adam or lamb (default adam)
  --sample N           bytes of text to write after training (default 600)
  --no-table           leave out the comparison of schedules
  --report FILE        instead: measure some programs in all their schedules, and write FILE, a page of HTML with times,
                       stages, timelines and graphs, for any browser
  --help               print this
Losses depend on the options and the number of ranks alone: the same command prints the same losses.
)";

namespace detail {

/// Walks over `--flag value` and `--flag=value`.
class argument_reader {
  public:
    explicit argument_reader(std::span<const char* const> arguments) : rest_(arguments) {}

    bool next()
    {
        if (rest_.empty()) { return false; }
        flag_ = take();
        inline_value_.reset();
        if (const std::size_t equals = flag_.find('='); flag_.starts_with("--") && equals != std::string_view::npos) {
            inline_value_ = flag_.substr(equals + 1);
            flag_ = flag_.substr(0, equals);
        }
        return true;
    }

    std::string_view flag() const { return flag_; }

    /// For a flag that takes no value.
    bool present() const
    {
        if (inline_value_) { throw usage_failure(std::string(flag_) + " takes no value"); }
        return true;
    }

    std::string_view value()
    {
        if (inline_value_) { return *inline_value_; }
        if (rest_.empty()) { throw usage_failure(std::string(flag_) + " needs a value"); }
        return take();
    }

    template <class Integer>
    Integer number(Integer least, Integer most)
    {
        const std::string_view text = value();
        Integer result{};
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), result);
        if (status != std::errc() || end != text.data() + text.size() || result < least || result > most) {
            throw usage_failure(std::string(flag_) + " must be a whole number from " + std::to_string(least) + " to " +
                                std::to_string(most) + ", not '" + std::string(text) + "'");
        }
        return result;
    }

    optimizer_kind optimizer()
    {
        const std::string_view text = value();
        if (text == "adam") { return optimizer_kind::adam; }
        if (text == "lamb") { return optimizer_kind::lamb; }
        throw usage_failure(std::string(flag_) + " must be adam or lamb, not '" + std::string(text) + "'");
    }

  private:
    std::string_view take()
    {
        const std::string_view first = rest_.front();
        rest_ = rest_.subspan(1);
        return first;
    }

    std::span<const char* const> rest_;
    std::string_view flag_;
    std::optional<std::string_view> inline_value_;
};

}  // namespace detail

/// Reads the arguments (without the program's name); of a repeated option the last one counts. Throws failure, status 2,
/// for an unknown option, a missing value, or a value out of range. Stops at --help.
inline options parse_options(std::span<const char* const> arguments)
{
    options result;
    detail::argument_reader in(arguments);
    while (in.next()) {
        const std::string_view flag = in.flag();
        if (flag == "--text") {
            result.text = in.value();
        } else if (flag == "--ranks") {
            result.ranks = in.number(1, 64);
        } else if (flag == "--steps") {
            result.steps = in.number(1, 1'000'000);
        } else if (flag == "--seconds") {
            result.seconds = in.number(0, 1'000'000);
        } else if (flag == "--batch") {
            result.batch = in.number(1, 65'536);
        } else if (flag == "--context") {
            result.context = in.number(1, 128);
        } else if (flag == "--hidden") {
            result.hidden = in.number(1, 2048);
        } else if (flag == "--seed") {
            result.seed = in.number(std::uint64_t{0}, UINT64_MAX);
        } else if (flag == "--optimizer") {
            result.optimizer = in.optimizer();
        } else if (flag == "--sample") {
            result.sample = in.number(0, 1'000'000);
        } else if (flag == "--no-table") {
            result.table = !in.present();
        } else if (flag == "--report") {
            result.report = in.value();
        } else if (flag == "--help" || flag == "-h") {
            result.help = in.present();
            break;
        } else {
            throw usage_failure("unknown option '" + std::string(flag) + "'; --help lists them");
        }
    }
    return result;
}

}  // namespace demo
