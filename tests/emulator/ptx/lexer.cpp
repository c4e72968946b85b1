#include "../error.hpp"
#include "token.hpp"

#include <cctype>
#include <charconv>
#include <string>

namespace emulator::ptx {
namespace {

bool starts_word(char c)
{
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
}
bool continues_word(char c) { return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

class lexer {
  public:
    explicit lexer(std::string_view text) : text_{text} {}

    std::vector<token> run()
    {
        std::vector<token> tokens;
        tokens.reserve(text_.size() / 5);
        do {
            skip_blanks();
            tokens.push_back(next());
        } while (tokens.back().kind != token_kind::end);
        return tokens;
    }

  private:
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

    void skip_blanks()
    {
        for (;;) {
            const char c = peek();
            if (c == '\n') {
                ++line_;
                ++at_;
            } else if (c == ' ' || c == '\t' || c == '\r') {
                ++at_;
            } else if (c == '/' && peek(1) == '/') {
                while (at_ < text_.size() && peek() != '\n') { ++at_; }
            } else if (c == '/' && peek(1) == '*') {
                at_ += 2;
                while (at_ < text_.size() && !(peek() == '*' && peek(1) == '/')) { line_ += peek() == '\n', ++at_; }
                at_ += 2;
            } else {
                return;
            }
        }
    }

    token next()
    {
        if (at_ >= text_.size()) { return {token_kind::end, {}, 0, line_}; }
        const char c = peek();
        if (c == '"') { return string(); }
        if (std::isdigit(static_cast<unsigned char>(c)) != 0) { return number(); }
        if (starts_word(c)) { return word(); }
        return {token_kind::punctuation, text_.substr(at_++, 1), 0, line_};
    }

    token string()
    {
        const std::size_t close = text_.find('"', at_ + 1);
        if (close == std::string_view::npos) {
            throw unsupported("PTX line " + std::to_string(line_) + ": open string");
        }
        const token t{token_kind::string, text_.substr(at_ + 1, close - at_ - 1), 0, line_};
        at_ = close + 1;
        return t;
    }

    // `::` belongs to a modifier such as L2::128B or shared::cta; a single colon ends a label.
    token word()
    {
        const std::size_t begin = at_;
        if (peek() == '.') {  // a directive: `.reg.b16` are two
            do {
                ++at_;
            } while (continues_word(peek()) && peek() != '.');
            return {token_kind::word, text_.substr(begin, at_ - begin), 0, line_};
        }
        while (continues_word(peek()) || (peek() == ':' && peek(1) == ':')) { at_ += peek() == ':' ? 2 : 1; }
        return {token_kind::word, text_.substr(begin, at_ - begin), 0, line_};
    }

    token number()
    {
        const char kind = peek(1);
        if (peek() == '0' && (kind == 'f' || kind == 'F')) { return bits(token_kind::float32, 2, 8, 16); }
        if (peek() == '0' && (kind == 'd' || kind == 'D')) { return bits(token_kind::float64, 2, 16, 16); }
        if (peek() == '0' && (kind == 'x' || kind == 'X')) { return bits(token_kind::integer, 2, 64, 16); }
        if (peek() == '0' && (kind == 'b' || kind == 'B')) { return bits(token_kind::integer, 2, 64, 2); }
        if (peek() == '0' && std::isdigit(static_cast<unsigned char>(kind)) != 0) {
            return bits(token_kind::integer, 1, 64, 8);
        }
        return bits(token_kind::integer, 0, 64, 10);
    }

    token bits(token_kind kind, std::size_t prefix, std::size_t digits, int base)
    {
        const char* begin = text_.data() + at_ + prefix;
        const char* end = text_.data() + text_.size();
        if (static_cast<std::size_t>(end - begin) > digits) { end = begin + digits; }
        token t{kind, {}, 0, line_};
        const auto [stop, error] = std::from_chars(begin, end, t.bits, base);
        if (error != std::errc{}) { throw unsupported("PTX line " + std::to_string(line_) + ": bad number"); }
        at_ = static_cast<std::size_t>(stop - text_.data());
        if (kind == token_kind::integer && (peek() == 'U' || peek() == 'u')) { ++at_; }
        if (peek() == '.' && std::isdigit(static_cast<unsigned char>(peek(1))) != 0) { decimal_fraction(t, begin); }
        t.text = std::string_view(begin - prefix, static_cast<std::size_t>(text_.data() + at_ - begin) + prefix);
        return t;
    }

    // A number such as 1.5, as in the .version directive: its value is a double.
    void decimal_fraction(token& t, const char* begin)
    {
        double value = 0;
        const auto result = std::from_chars(begin, text_.data() + text_.size(), value);
        at_ = static_cast<std::size_t>(result.ptr - text_.data());
        t.kind = token_kind::float64;
        __builtin_memcpy(&t.bits, &value, sizeof value);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    unsigned line_ = 1;
};

}  // namespace

std::vector<token> split_into_tokens(std::string_view text) { return lexer(text).run(); }

}  // namespace emulator::ptx
