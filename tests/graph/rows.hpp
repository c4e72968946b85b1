// Rows of tables: an expression and the type that it must have, or operands and the rule that they must break. Checked
// when compiled, and again at run time, where the row that is wrong is printed.
#pragma once

#include <plait/lang/program.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>

namespace rows {

struct row {
    plait::message type{};
    std::string_view expected{};
    [[nodiscard]] constexpr bool holds() const { return type.view() == expected; }
};

/// E has the type that is printed as `expected`: dtype, shape, layout, and the group unless it is 0.
template <plait::expression E>
constexpr row gives(E, std::string_view expected)
{
    row r;
    plait::type_to(r.type, E::type);
    r.expected = expected;
    return r;
}

/// Operation k on operands of these types breaks a rule.
struct violation {
    plait::inferred found{};
    plait::rule expected = plait::rule::none;
    [[nodiscard]] constexpr bool holds() const { return found.violated == expected; }
};

template <plait::expression... Args>
constexpr violation violates(plait::rule expected, plait::op k, const plait::attributes& attrs, Args...)
{
    const plait::value_type types[] = {Args::type...};
    return {plait::infer(k, attrs, types, static_cast<int>(sizeof...(Args))), expected};
}
template <plait::expression... Args>
constexpr violation violates(plait::rule expected, plait::op k, Args... args)
{
    return violates(expected, k, plait::attributes{}, args...);
}

template <class Table>
constexpr bool all_hold(const Table& table)
{
    for (const auto& r : table) {
        if (!r.holds()) { return false; }
    }
    return true;
}

template <std::size_t N>
void check(const std::array<row, N>& table)
{
    for (const row& r : table) { CHECK(std::string{r.type.view()} == std::string{r.expected}); }
}
template <std::size_t N>
void check(const std::array<violation, N>& table)
{
    for (std::size_t i = 0; i < N; ++i) {
        CAPTURE(i);
        CHECK(static_cast<int>(table[i].found.violated) == static_cast<int>(table[i].expected));
    }
}

}  // namespace rows
