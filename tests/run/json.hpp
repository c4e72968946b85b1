// Whether a text is JSON (RFC 8259), and whether one is well-formed markup.
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace checked {

/// Reads JSON; `bad` says where it is none.
class json_reader {
  public:
    explicit json_reader(std::string_view text) : text_(text) {}
    bool whole()
    {
        value();
        space();
        return !bad && at_ == text_.size();
    }
    bool bad = false;

  private:
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void space()
    {
        while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') { ++at_; }
    }
    bool take(char c)
    {
        const bool there = peek() == c && at_ < text_.size();
        at_ += there ? 1 : 0;
        return there;
    }
    void need(bool there) { bad = bad || !there; }
    void word(std::string_view w)
    {
        need(text_.substr(at_, w.size()) == w);
        at_ += w.size();
    }
    void digits()
    {
        need(std::isdigit(static_cast<unsigned char>(peek())) != 0);
        while (std::isdigit(static_cast<unsigned char>(peek())) != 0) { ++at_; }
    }
    void number()
    {
        take('-');
        if (!take('0')) { digits(); }
        if (take('.')) { digits(); }
        if (take('e') || take('E')) {
            if (!take('+')) { take('-'); }
            digits();
        }
    }
    void string()
    {
        need(take('"'));
        while (!bad && at_ < text_.size() && peek() != '"') {
            need(static_cast<unsigned char>(peek()) >= 0x20);
            if (take('\\')) {
                const char c = peek();
                ++at_;
                if (c == 'u') {
                    for (int i = 0; i < 4; ++i, ++at_) { need(std::isxdigit(static_cast<unsigned char>(peek())) != 0); }
                } else {
                    need(std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos);
                }
            } else {
                ++at_;
            }
        }
        need(take('"'));
    }
    void list(char close, bool named)
    {
        space();
        if (take(close)) { return; }
        do {
            space();
            if (named) {
                string();
                space();
                need(take(':'));
            }
            value();
            space();
        } while (!bad && take(','));
        need(take(close));
    }
    void value()
    {
        space();
        if (bad || ++depth_ > 100) {
            bad = true;
        } else if (take('{')) {
            list('}', true);
        } else if (take('[')) {
            list(']', false);
        } else if (peek() == '"') {
            string();
        } else if (peek() == 't' || peek() == 'f' || peek() == 'n') {
            word(peek() == 't' ? "true" : peek() == 'f' ? "false" : "null");
        } else {
            number();
        }
        --depth_;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

inline bool is_json(std::string_view text) { return json_reader(text).whole(); }

/// Whether every element of a text ends where it should, and nothing is left unescaped. (Of HTML, the strict kind.)
inline bool is_markup(std::string_view text)
{
    std::vector<std::string> open;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '&') {
            const std::size_t end = text.find(';', i);
            if (end == std::string_view::npos || end - i > 8) { return false; }
        }
        if (text[i] == '>') { return false; }
        if (text[i] != '<') { continue; }
        std::size_t end = i + 1;
        for (bool quoted = false; end < text.size() && (quoted || text[end] != '>'); ++end) {
            if (text[end] == '"') { quoted = !quoted; }
            if (text[end] == '<') { return false; }
        }
        if (end == text.size()) { return false; }
        const std::string_view tag = text.substr(i + 1, end - i - 1);
        const std::string name{tag.substr(0, tag.find_first_of(" \n/", 1))};
        if (tag.starts_with('/')) {
            if (open.empty() || "/" + open.back() != tag) { return false; }
            open.pop_back();
        } else if (!tag.ends_with('/') && !tag.starts_with('!') && name != "meta") {
            open.push_back(name);
        }
        i = end;
        if (name == "style") {  // no markup within
            i = text.find("</style>", i);
            if (i == std::string_view::npos) { return false; }
            --i;
        }
    }
    return open.empty();
}

}  // namespace checked
