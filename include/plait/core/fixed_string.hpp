// Strings of fixed capacity that can be template arguments: names (short) and error messages (long).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plait {

/// A name of a tensor, dimension, scalar, label or program, usable as a template argument.
/// Not a template itself: nvcc does not deduce class-template placeholders in partial specialisations.
/// At most 31 characters; a longer literal is a compile error.
struct fixed_string {
    static constexpr std::size_t capacity = 32;
    char text[capacity]{};

    constexpr fixed_string() = default;
    template <std::size_t N>
    consteval fixed_string(const char (&literal)[N])  // NOLINT(google-explicit-constructor): a literal is a name
    {
        static_assert(N <= capacity, "plait: a name has at most 31 characters; shorten it");
        for (std::size_t i = 0; i + 1 < N; ++i) { text[i] = literal[i]; }
    }
    constexpr explicit fixed_string(std::string_view s)
    {
        for (std::size_t i = 0; i < s.size() && i + 1 < capacity; ++i) { text[i] = s[i]; }
    }

    [[nodiscard]] constexpr std::string_view view() const
    {
        std::size_t n = 0;
        while (n < capacity && text[n] != '\0') { ++n; }
        return {text, n};
    }
    [[nodiscard]] constexpr bool empty() const { return text[0] == '\0'; }
    constexpr bool operator==(const fixed_string&) const = default;
};

/// A message put together at compile time; as a template argument g++ prints it as plain text.
struct message {
    static constexpr std::size_t capacity = 384;
    char text[capacity]{};

    /// Appends text, cut at the capacity.
    constexpr message& operator<<(std::string_view s)
    {
        std::size_t n = view().size();
        for (std::size_t i = 0; i < s.size() && n + 1 < capacity; ++i, ++n) { text[n] = s[i]; }
        return *this;
    }
    /// Appends a decimal number.
    constexpr message& operator<<(std::int64_t value)
    {
        char digits[24]{};
        std::size_t n = sizeof digits;
        std::uint64_t rest = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
        do {
            digits[--n] = static_cast<char>('0' + static_cast<char>(rest % 10));
            rest /= 10;
        } while (rest != 0);
        if (value < 0) { digits[--n] = '-'; }
        return *this << std::string_view{digits + n, sizeof digits - n};
    }
    constexpr message& operator<<(int value) { return *this << std::int64_t{value}; }

    [[nodiscard]] constexpr std::string_view view() const
    {
        std::size_t n = 0;
        while (n < capacity && text[n] != '\0') { ++n; }
        return {text, n};
    }
    // What C++26 asks of the message of a static_assert.
    [[nodiscard]] constexpr std::size_t size() const { return view().size(); }
    [[nodiscard]] constexpr const char* data() const { return text; }
    constexpr bool operator==(const message&) const = default;
};

/// FNV-1a, 64 bits: names and programs are compared across ranks by it.
constexpr std::uint64_t hash(std::string_view s, std::uint64_t seed = 0xcbf29ce484222325U)
{
    for (char c : s) { seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3U; }
    return seed;
}

namespace detail {
/// A hash of a hash and one more number.
constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t value)
{
    seed ^= value + 0x9e3779b97f4a7c15U + (seed << 6U) + (seed >> 2U);
    seed = (seed ^ (seed >> 30U)) * 0xbf58476d1ce4e5b9U;
    return seed ^ (seed >> 27U);
}
}  // namespace detail

}  // namespace plait
