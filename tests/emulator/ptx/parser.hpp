// The parser's cursor over tokens, shared by the parts that parse declarations and instructions.
#pragma once

#include "../error.hpp"
#include "syntax.hpp"
#include "token.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace emulator::ptx {

class cursor {
  public:
    explicit cursor(std::vector<token> tokens) : tokens_{std::move(tokens)} {}

    const token& peek(std::size_t ahead = 0) const
    {
        return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : tokens_.back();
    }
    const token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
    bool done() const { return peek().kind == token_kind::end; }

    bool accept(char c) { return peek().is(c) && (take(), true); }
    bool accept(std::string_view word) { return peek().is(word) && (take(), true); }
    void expect(char c)
    {
        if (!accept(c)) { refuse(std::string("'") + c + "' expected"); }
    }
    std::string word()
    {
        if (peek().kind != token_kind::word) { refuse("a name expected"); }
        return std::string(take().text);
    }
    std::int64_t integer()
    {
        const bool minus = accept('-');
        if (peek().kind != token_kind::integer) { refuse("an integer expected"); }
        const auto value = static_cast<std::int64_t>(take().bits);
        return minus ? -value : value;
    }

    [[noreturn]] void refuse(const std::string& why) const
    {
        throw unsupported("PTX line " + std::to_string(peek().line) + ", at '" + std::string(peek().text) +
                          "': " + why);
    }

  private:
    std::vector<token> tokens_;
    std::size_t at_ = 0;
};

/// Bytes of a PTX type such as `.f32` or `u64`; 0 when it is none.
std::uint32_t type_size(std::string_view type);

/// After the state space: `.align 4 .b8 name[16] = {...}`, up to but without the comma or semicolon.
variable parse_variable(cursor& at, space where);

/// An instruction with its guard and semicolon.
statement parse_instruction(cursor& at, source_line source);

}  // namespace emulator::ptx
