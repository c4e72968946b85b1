// The words of a PTX text (PTX ISA, "Syntax").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace emulator::ptx {

enum class token_kind : std::uint8_t {
    word,         ///< an opcode with its modifiers, a directive, a name, or a register such as %tid.x
    integer,      ///< bits holds the value
    float32,      ///< 0f........; bits holds the pattern
    float64,      ///< 0d................
    punctuation,  ///< one character
    string,       ///< without its quotes
    end
};

struct token {
    token_kind kind = token_kind::end;
    std::string_view text;
    std::uint64_t bits = 0;
    unsigned line = 0;

    bool is(char c) const { return kind == token_kind::punctuation && text[0] == c; }
    bool is(std::string_view word) const { return kind == token_kind::word && text == word; }
};

/// The tokens of a text, which must outlive them; the last is `end`. Throws `unsupported`.
std::vector<token> split_into_tokens(std::string_view text);

}  // namespace emulator::ptx
