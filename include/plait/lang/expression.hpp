// Expressions: what every part of a program is made of. An expression is an empty object; all is in its type.
#pragma once

#include <plait/graph/graph.hpp>
#include <plait/graph/refused.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace plait {
namespace detail {

/// What an expression is, as data: flattening is ordinary code over these, and knows no types.
struct expression_info {
    std::uint64_t id = 0;  // a hash of what is computed
    op kind = op::constant;
    attributes attrs{};
    value_type type{};
    std::uint64_t bits = 0;        // of a constant
    std::string_view label{};      // of a label: its one argument is what it labels
    int n_args = 0;
    const expression_info* args[max_args]{};
};

}  // namespace detail

/// A part of a program: a tensor, a scalar, a number literal, or an operation on expressions. `E::type` is its
/// plait::value_type.
template <class E>
concept expression = std::derived_from<E, operators::expression_base>;

namespace detail {

template <class E>
concept refused_expression = requires { requires E::is_refused; };

// info_of is a friend that is meant to be no template; g++ and nvcc warn about that by default.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 1301
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
/// The operation behind a number: declared by `named`, defined by `meaning`.
template <std::uint64_t Id>
struct named {
    friend constexpr const expression_info* info_of(named<Id>);
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#if defined(__CUDACC__)
#pragma nv_diag_default 1301
#endif
template <class Operation>
struct meaning {
    friend constexpr const expression_info* info_of(named<Operation::info.id>) { return &Operation::info; }
};

/// An operation on expressions, known by the hash of what it computes, so that the names of types stay short however
/// deep a program is. (Nested types are printed whole in debug information, which doubles with every shared operand.)
/// Equal hashes of different operations are a redefinition, and so a compile error.
template <std::uint64_t Id>
struct operation_t : operators::expression_base {
    static constexpr expression_info info = *info_of(named<Id>{});
    static constexpr value_type type = info.type;
};

template <class Operation>
struct intern {
    static_assert(sizeof(meaning<Operation>) > 0);  // defines info_of
    using type = operation_t<Operation::info.id>;
};

template <op Kind, attributes Attrs, class... Args>
struct inference {
    static constexpr value_type types[] = {Args::type...};
    static constexpr inferred result = infer(Kind, Attrs, types, static_cast<int>(sizeof...(Args)));
};

/// An operation that has passed the rules.
template <op Kind, attributes Attrs, class... Args>
struct checked_operation {
    static constexpr expression_info info = [] {
        expression_info i;
        i.id = mix(static_cast<std::uint64_t>(Kind), Attrs);
        ((i.id = mix(i.id, Args::info.id)), ...);
        i.kind = Kind;
        i.attrs = Attrs;
        i.type = inference<Kind, Attrs, Args...>::result.type;
        ((i.args[i.n_args++] = &Args::info), ...);
        return i;
    }();
};

template <class... Args>
struct first_refused {
    using type = void;
};
template <class First, class... Rest>
struct first_refused<First, Rest...> : first_refused<Rest...> {};
template <refused_expression First, class... Rest>
struct first_refused<First, Rest...> {
    using type = First;
};

struct not_an_expression {};

template <bool Expressions, op Kind, attributes Attrs, class... Args>
struct operation_or_refused {
    using type = not_an_expression;
};
template <op Kind, attributes Attrs, class... Args>
struct operation_or_refused<true, Kind, Attrs, Args...> {
    static consteval auto pick()
    {
        using refusal = typename first_refused<Args...>::type;
        if constexpr (!std::is_void_v<refusal>) {
            return std::type_identity<refusal>{};
        } else if constexpr (inference<Kind, Attrs, Args...>::result.ok()) {
            return intern<checked_operation<Kind, Attrs, Args...>>{};
        } else {
            using found = inference<Kind, Attrs, Args...>;
            constexpr message m = why(Kind, found::types, found::result);
            return std::type_identity<refused<found::result.violated, cut<m.size() + 1>(m)>>{};
        }
    }
    using type = typename decltype(pick())::type;
};

/// The expression that operation Kind on Args makes, or `refused` naming the rule that it violates.
template <op Kind, attributes Attrs, class... Args>
using make = typename operation_or_refused<(expression<Args> && ...), Kind, Attrs, Args...>::type;

/// The same from plain numbers: g++ 12 cannot mangle a dependent class value in a function's return type.
template <op Kind, reduction Combine, int Axis, int A, int B, class... Args>
struct made_of {
    using type = make<Kind, attributes{Combine, Axis, A, B}, Args...>;
};
template <op Kind, reduction Combine, int Axis, int A, int B, class... Args>
using made = typename made_of<Kind, Combine, Axis, A, B, Args...>::type;

/// `refused` for a rule that is checked outside `infer`. (g++ 12 fails inside an alias that cuts a dependent message.)
template <rule R, message M>
struct refusal {
    using type = refused<R, cut<M.size() + 1>(M)>;
};
template <rule R, message M>
using refuse_with = typename refusal<R, M>::type;

}  // namespace detail
}  // namespace plait
