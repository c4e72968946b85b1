// What an expression or a schedule that violates a rule turns into.
#pragma once

#include <plait/graph/rules.hpp>  // first: a compile error about a rule then lists few includes

#include <plait/core/fixed_string.hpp>

#include <cstddef>

namespace plait {

namespace operators {
/// Base of every expression type: the operators on expressions live in its namespace, found by argument-dependent
/// lookup and by nothing else.
struct expression_base {};
}  // namespace operators

/// A message cut to its length, so that compilers which print template arguments as lists of characters stay brief.
template <std::size_t N>
struct message_text {
    char text[N]{};
    [[nodiscard]] constexpr std::size_t size() const { return N - 1; }  // what C++26 asks of a static_assert's message
    [[nodiscard]] constexpr const char* data() const { return text; }
    constexpr bool operator==(const message_text&) const = default;
};

/// Cuts a message to N characters, the last of them the terminating zero.
template <std::size_t N>
consteval message_text<N> cut(const message& m)
{
    message_text<N> result;
    for (std::size_t i = 0; i + 1 < N; ++i) { result.text[i] = m.text[i]; }
    return result;
}

/// What an expression or schedule that violates rule R turns into. Completing it is the compile error: the assertion's
/// literal states rule and fix on every compiler, and the message, which names the tensors concerned, stands in the
/// type that the compiler prints with it. Everything built from a refused expression is that same type, so there is
/// one error and not a cascade.
template <rule R, auto Message>
struct refused : operators::expression_base, detail::assert_rule<R, Message> {
    static constexpr bool is_refused = true;
};

}  // namespace plait
