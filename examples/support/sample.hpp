// Text written by the model, one byte after the other.
#pragma once

#include "byte_model.hpp"

#include <plait/core/philox.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace demo {

/// `length` bytes that follow `prompt` (its last shape().context bytes count; a shorter one is padded with newlines in
/// front). Each byte is drawn with probability p^(1 / temperature), scaled to sum 1: below 1, likely bytes become likelier.
inline std::string write_text(byte_model<float>& model, std::span<const float> parameters, std::string_view prompt,
                              std::size_t length, double temperature, std::uint64_t seed)
{
    const std::size_t context = model.shape().context;
    std::string text = std::string(context, '\n') + std::string(prompt);
    std::vector<std::uint8_t> window(context + 1);
    const std::size_t start = text.size();
    for (std::size_t i = 0; i < length; ++i) {
        std::transform(text.end() - static_cast<std::ptrdiff_t>(context), text.end(), window.begin(),
                       [](char c) { return static_cast<std::uint8_t>(c); });
        double weights[256];
        double sum = 0;
        const std::span<const float> p = model.predict(parameters, window);
        for (std::size_t b = 0; b < 256; ++b) { sum += weights[b] = std::pow(p[b], 1 / temperature); }
        double rest = sum * plait::philox_u32(seed, i) * 0x1p-32;
        std::size_t drawn = 0;
        while (drawn < 255 && rest >= weights[drawn]) { rest -= weights[drawn++]; }
        text += static_cast<char>(drawn);
    }
    return text.substr(start);
}

/// The same text with '?' for each byte that is not part of a newline, tab, printable ASCII or whole UTF-8 character.
inline std::string printable(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        const unsigned lead = byte(i);
        std::size_t length = 0;
        if (lead == '\n' || lead == '\t' || (lead >= 0x20 && lead < 0x7f)) { length = 1; }
        if (lead >= 0xc2 && lead < 0xe0) { length = 2; }
        if (lead >= 0xe0 && lead < 0xf0) { length = 3; }
        if (lead >= 0xf0 && lead < 0xf5) { length = 4; }
        for (std::size_t k = 1; k < length; ++k) {
            // What the second byte may be depends on the first (RFC 3629): no overlong forms, surrogates or planes > 16.
            unsigned least = 0x80;
            unsigned most = 0xbf;
            if (k == 1 && lead == 0xe0) { least = 0xa0; }
            if (k == 1 && lead == 0xed) { most = 0x9f; }
            if (k == 1 && lead == 0xf0) { least = 0x90; }
            if (k == 1 && lead == 0xf4) { most = 0x8f; }
            if (byte(i + k) < least || byte(i + k) > most) { length = 0; }
        }
        result += length == 0 ? "?" : text.substr(i, length);
        i += std::max<std::size_t>(length, 1);
    }
    return result;
}

}  // namespace demo
