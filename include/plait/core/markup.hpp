// Text and numbers in XML and HTML. The same in every locale.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace plait::detail {

/// Text as XML and HTML show it, also within quotes. Control characters, which neither can hold, become question marks.
inline std::string markup_text(std::string_view s)
{
    std::string out;
    for (const char c : s) {
        const auto code = static_cast<unsigned char>(c);
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        case '\n':
        case '\t': out += c; break;
        default: out += code < 0x20 || code == 0x7F ? '?' : c;
        }
    }
    return out;
}

/// A number with so many decimals.
inline std::string decimal(double value, int decimals)
{
    char buffer[400];  // the largest double has 309 digits
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals).ptr;
    return {buffer, end};
}

}  // namespace plait::detail
