// The one exception type of plait's run-time errors, and the text of its messages.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace plait {

/// A piece of a message: words, or a whole number.
class text_part {
  public:
    text_part(const char* words) : words_(words) {}         // NOLINT(google-explicit-constructor)
    text_part(std::string_view words) : words_(words) {}    // NOLINT(google-explicit-constructor)
    text_part(const std::string& words) : words_(words) {}  // NOLINT(google-explicit-constructor)
    template <std::integral I>
    text_part(I number)  // NOLINT(google-explicit-constructor)
        : is_number_(true),
          length_(static_cast<std::size_t>(std::to_chars(digits_, digits_ + sizeof digits_, number).ptr - digits_))
    {
    }
    [[nodiscard]] std::string_view view() const { return is_number_ ? std::string_view{digits_, length_} : words_; }

  private:
    std::string_view words_;
    bool is_number_ = false;
    std::size_t length_ = 0;
    char digits_[24];
};

/// The parts one after the other. One function for all messages: they are many, and their code is never hot.
[[gnu::cold, gnu::noinline]] inline std::string joined(std::initializer_list<text_part> parts)
{
    std::string text;
    for (const text_part& p : parts) { text += p.view(); }
    return text;
}

/// Thrown for every run-time error of plait. `what()` names the tensor, rank or stage concerned, the rule and the fix.
/// Rule violations known at compile time never get this far: they are compile errors (see graph/rules.hpp).
class error : public std::runtime_error {
  public:
    explicit error(const std::string& what) : std::runtime_error("plait: " + what) {}
    explicit error(std::initializer_list<text_part> what) : error(joined(what)) {}
};

}  // namespace plait
