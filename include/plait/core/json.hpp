// JSON, as much as plait's own files need: values, a strict reader, a writer.
#pragma once

#include <plait/core/error.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace plait::json {

class value;
using array = std::vector<value>;
/// In the order of the text; of equal names the first counts.
using object = std::vector<std::pair<std::string, value>>;

/// A JSON value. Numbers are doubles.
class value {
  public:
    value() = default;
    value(bool b) : data_(b) {}                    // NOLINT(google-explicit-constructor)
    value(double d) : data_(d) {}                  // NOLINT(google-explicit-constructor)
    value(int i) : data_(static_cast<double>(i)) {}  // NOLINT(google-explicit-constructor)
    value(std::string s) : data_(std::move(s)) {}  // NOLINT(google-explicit-constructor)
    value(const char* s) : data_(std::string(s)) {}  // NOLINT(google-explicit-constructor)
    value(array a) : data_(std::move(a)) {}        // NOLINT(google-explicit-constructor)
    value(object o) : data_(std::move(o)) {}       // NOLINT(google-explicit-constructor)

    /// What it holds, or null if it holds something else.
    template <class T>
    [[nodiscard]] const T* get_if() const
    {
        return std::get_if<T>(&data_);
    }
    /// What it holds. @throws plait::error "<what> is no <kind>".
    template <class T>
    [[nodiscard]] const T& get(std::string_view what) const
    {
        const T* t = get_if<T>();
        if (t == nullptr) { throw error({what, " is no ", kind_of(T{})}); }
        return *t;
    }
    /// The member of an object. @throws plait::error if this is no object or has none of that name.
    [[nodiscard]] const value& at(std::string_view name) const
    {
        for (const auto& [key, member] : get<object>(name)) {
            if (key == name) { return member; }
        }
        throw error({"\"", name, "\" is missing"});
    }

    /// As text, on one line, or with line breaks down to `depth`.
    [[nodiscard]] std::string text(int depth = 0) const
    {
        std::string s;
        write(s, depth, 0);
        return s;
    }

  private:
    static const char* kind_of(bool) { return "truth value"; }
    static const char* kind_of(double) { return "number"; }
    static const char* kind_of(const std::string&) { return "string"; }
    static const char* kind_of(const array&) { return "list"; }
    static const char* kind_of(const object&) { return "object"; }

    static void write_string(std::string& to, std::string_view s)
    {
        to += '"';
        for (const char c : s) {
            if (c == '"' || c == '\\') {
                (to += '\\') += c;
            } else if (static_cast<unsigned char>(c) < 0x20) {
                char code[8];
                std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
                to += code;
            } else {
                to += c;
            }
        }
        to += '"';
    }
    void write(std::string& to, int depth, int indent) const
    {
        const auto new_line = [&](int level) { to.append(1, '\n').append(static_cast<std::size_t>(level) * 2, ' '); };
        const auto items = [&](const auto& list, char open, char close, auto&& item) {
            to += open;
            bool first = true;
            for (const auto& i : list) {
                if (!first) { to += depth > 0 ? "," : ", "; }
                if (depth > 0) { new_line(indent + 1); }
                first = false;
                item(i);
            }
            if (depth > 0 && !first) { new_line(indent); }
            to += close;
        };
        if (const auto* b = get_if<bool>()) {
            to += *b ? "true" : "false";
        } else if (const auto* d = get_if<double>()) {
            char digits[32];
            to.append(digits, std::isfinite(*d) ? std::to_chars(digits, digits + sizeof digits, *d).ptr : digits);
            if (!std::isfinite(*d)) { to += "null"; }
        } else if (const auto* s = get_if<std::string>()) {
            write_string(to, *s);
        } else if (const auto* a = get_if<array>()) {
            items(*a, '[', ']', [&](const value& v) { v.write(to, depth - 1, indent + 1); });
        } else if (const auto* o = get_if<object>()) {
            items(*o, '{', '}', [&](const auto& member) {
                write_string(to, member.first);
                to += ": ";
                member.second.write(to, depth - 1, indent + 1);
            });
        } else {
            to += "null";
        }
    }

    std::variant<std::monostate, bool, double, std::string, array, object> data_;
};

namespace detail {

class reader {
  public:
    explicit reader(std::string_view text) : text_(text) {}

    value whole()
    {
        value v = next(0);
        skip();
        if (at_ != text_.size()) { fail("there is more after the value"); }
        return v;
    }

  private:
    static constexpr int max_depth = 32;  // of nested lists and objects: the reader recurses

    [[noreturn]] void fail(std::string_view what) const { throw error({"JSON, character ", at_ + 1, ": ", what}); }
    void skip()
    {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) { ++at_; }
    }
    bool take(char c)
    {
        skip();
        const bool is = at_ < text_.size() && text_[at_] == c;
        at_ += is ? 1 : 0;
        return is;
    }
    bool take(std::string_view word)
    {
        const bool is = text_.substr(at_, word.size()) == word;
        at_ += is ? word.size() : 0;
        return is;
    }

    value next(int depth)
    {
        if (depth > max_depth) { fail("nested too deeply"); }
        skip();
        if (take('{')) {
            object o;
            items('}', [&] {
                skip();
                std::string name = string();
                if (!take(':')) { fail("a ':' is missing"); }
                o.emplace_back(std::move(name), next(depth + 1));
            });
            return o;
        }
        if (take('[')) {
            array a;
            items(']', [&] { a.push_back(next(depth + 1)); });
            return a;
        }
        if (at_ < text_.size() && text_[at_] == '"') { return string(); }
        if (take("true")) { return true; }
        if (take("false")) { return false; }
        if (take("null")) { return {}; }
        return number();
    }
    template <class Item>
    void items(char close, Item&& item)
    {
        if (take(close)) { return; }
        do { item(); } while (take(','));
        if (!take(close)) { fail(close == '}' ? "a ',' or '}' is missing" : "a ',' or ']' is missing"); }
    }
    value number()
    {
        double d = 0;
        const char* begin = text_.data() + at_;
        const bool starts = at_ < text_.size() && (*begin == '-' || (*begin >= '0' && *begin <= '9'));
        const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), d);
        if (!starts || failed != std::errc{} || !std::isfinite(d)) { fail("no value"); }
        at_ += static_cast<std::size_t>(end - begin);
        return d;
    }
    std::string string()
    {
        if (at_ == text_.size() || text_[at_] != '"') { fail("a string is missing"); }
        ++at_;
        std::string s;
        for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (static_cast<unsigned char>(text_[at_]) < 0x20) { fail("a control character in a string"); }
            if (text_[at_] != '\\') {
                s += text_[at_];
                continue;
            }
            ++at_;
            escaped(s);
        }
        if (at_ == text_.size()) { fail("a string has no end"); }
        ++at_;
        return s;
    }
    void escaped(std::string& s)
    {
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view means = "\"\\/\b\f\n\r\t";
        if (at_ == text_.size()) { fail("a string has no end"); }
        if (const std::size_t i = letters.find(text_[at_]); i != std::string_view::npos) {
            s += means[i];
            return;
        }
        unsigned code = 0;
        const std::string_view hex = text_.substr(at_, 1) == "u" ? text_.substr(at_ + 1, 4) : "";
        const auto [end, failed] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
        const bool whole = hex.size() == 4 && failed == std::errc{} && end == hex.data() + 4;
        if (!whole || code >= 0x80) { fail("an escape that plait does not write"); }
        s += static_cast<char>(code);
        at_ += 4;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace detail

/// Reads a whole text. @throws plait::error with the number of the character where it is no JSON.
inline value parse(std::string_view text) { return detail::reader(text).whole(); }

}  // namespace plait::json
