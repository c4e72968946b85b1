// Numbers as types: 0.9_c.
#pragma once

#include <plait/lang/expression.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace plait {

/// A number known at compile time, with the bits of a double. Its dtype follows its partner's in an operation.
template <std::uint64_t Bits>
struct constant : operators::expression_base {
    static constexpr double value = std::bit_cast<double>(Bits);  ///< the number
    static constexpr detail::expression_info info = [] {
        detail::expression_info i;
        i.id = detail::mix(hash("constant"), Bits);
        i.bits = Bits;
        i.type.group = any_group;
        return i;
    }();
    static constexpr value_type type = info.type;  ///< no dimensions, on every group
};

namespace detail {

struct parsed_number {
    double value = 0;
    bool ok = false;
};

/// Reads digits[.digits][e[+-]digits]. With at most 15 significant digits and a power of ten up to 22 both are exact
/// in a double, and so the one division or product is rounded correctly (Clinger 1990, the fast path).
constexpr parsed_number parse_number(const char* s, int n)
{
    std::uint64_t digits = 0;
    int significant = 0;
    int scale = 0;
    int exponent = 0;
    bool point = false;
    bool any = false;
    int i = 0;
    for (; i < n && s[i] != 'e' && s[i] != 'E'; ++i) {
        if (s[i] == '\'') { continue; }
        if (s[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (s[i] < '0' || s[i] > '9') { return {}; }
        any = true;
        digits = digits * 10 + static_cast<std::uint64_t>(s[i] - '0');
        if (digits != 0 && ++significant > 15) { return {}; }
        scale -= point ? 1 : 0;
    }
    if (i < n) {
        const bool negative = i + 1 < n && s[i + 1] == '-';
        i += i + 1 < n && (s[i + 1] == '-' || s[i + 1] == '+') ? 2 : 1;
        for (; i < n; ++i) {
            if (s[i] < '0' || s[i] > '9' || exponent > 1000) { return {}; }
            exponent = exponent * 10 + (s[i] - '0');
        }
        scale += negative ? -exponent : exponent;
    }
    while (scale < 0 && digits != 0 && digits % 10 == 0) {
        digits /= 10;
        ++scale;
    }
    if (!any || scale > 22 || scale < -22) { return {}; }
    double power = 1;
    for (int k = 0; k < (scale < 0 ? -scale : scale); ++k) { power *= 10; }
    const double mantissa = static_cast<double>(digits);
    return {scale < 0 ? mantissa / power : mantissa * power, true};
}

template <char... Chars>
struct literal {
    static constexpr char text[] = {Chars..., '\0'};
    static constexpr parsed_number number = parse_number(text, static_cast<int>(sizeof...(Chars)));
    static consteval auto pick()
    {
        if constexpr (number.ok) {
            return std::type_identity<constant<std::bit_cast<std::uint64_t>(number.value)>>{};
        } else {
            return std::type_identity<refuse_with<rule::literal, message{} << text << "_c">>{};
        }
    }
    using type = typename decltype(pick())::type;
};

}  // namespace detail

namespace literals {

/// A number as a type: `1_c`, `0.9_c`, `1e-8_c`; at most 15 significant digits.
template <char... Chars>
constexpr typename detail::literal<Chars...>::type operator""_c()
{
    return {};
}

}  // namespace literals

/// The type of `world_size`.
struct world_size_t : operators::expression_base {
    static constexpr detail::expression_info info = [] {
        detail::expression_info i;
        i.id = hash("world_size");
        i.kind = op::world_size;
        i.type.group = any_group;
        i.type.made_by = op::world_size;
        return i;
    }();
    static constexpr value_type type = info.type;  ///< no dimensions, on every group
};
/// The number of ranks of a value's pipeline group, as a number: `all_reduce(sum, g) / world_size`.
inline constexpr world_size_t world_size{};

}  // namespace plait
