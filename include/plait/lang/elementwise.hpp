// Elementwise operations: operators and functions of one, two or three values, with broadcasting.
#pragma once

#include <plait/lang/tensor.hpp>

#include <cstdint>
#include <type_traits>

namespace plait {
namespace detail {

template <class T>
concept bare_number = std::is_arithmetic_v<T>;

/// An operand: an expression, or a bare C++ number, which is refused with a word on how to write it.
template <class T>
concept operand = expression<T> || bare_number<T>;

template <bool AnyBareNumber, op Kind, class... Args>
struct elementwise_of {
    using type = make<Kind, attributes{}, Args...>;
};
template <op Kind, class... Args>
struct elementwise_of<true, Kind, Args...> {
    using type = refuse_with<rule::bare_number, message{} << "a C++ number in an expression">;
};

template <op Kind, class... Args>
using elementwise = typename elementwise_of<(bare_number<Args> || ...), Kind, Args...>::type;

template <class A, class B>
concept operands = operand<A> && operand<B> && (expression<A> || expression<B>);

}  // namespace detail

namespace operators {

/// Arithmetic on numbers: operands of different dtypes are promoted (see promote), shapes broadcast from the last dimension.
/// Integers wrap around; an integer divided by zero is 0.
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::add, A, B> operator+(A, B) { return {}; }
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::sub, A, B> operator-(A, B) { return {}; }
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::mul, A, B> operator*(A, B) { return {}; }
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::div, A, B> operator/(A, B) { return {}; }
template <expression A>
constexpr detail::elementwise<op::neg, A> operator-(A) { return {}; }

/// Comparisons give boolean values. == and != compare booleans, too.
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::less, A, B> operator<(A, B) { return {}; }
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::less, B, A> operator>(A, B) { return {}; }
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::less_equal, A, B> operator<=(A, B) { return {}; }
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::less_equal, B, A> operator>=(A, B) { return {}; }
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::equal, A, B> operator==(A, B) { return {}; }
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::not_equal, A, B> operator!=(A, B) { return {}; }
/// Of booleans; both operands are computed.
template <expression A, expression B>
constexpr detail::elementwise<op::logical_and, A, B> operator&&(A, B) { return {}; }
template <expression A, expression B>
constexpr detail::elementwise<op::logical_or, A, B> operator||(A, B) { return {}; }
template <expression A>
constexpr detail::elementwise<op::logical_not, A> operator!(A) { return {}; }

}  // namespace operators

/// |a|, of numbers. The lowest integer stays as it is.
template <expression A>
constexpr detail::elementwise<op::abs, A> abs(A) { return {}; }
/// The square root, of floating point.
template <expression A>
constexpr detail::elementwise<op::sqrt, A> sqrt(A) { return {}; }
/// 1 / sqrt(a), of floating point.
template <expression A>
constexpr detail::elementwise<op::rsqrt, A> rsqrt(A) { return {}; }
/// e to the power of a, of floating point; in f32 within 1.4 ulp, as are log, tanh and erf, with the same bits on every host.
template <expression A>
constexpr detail::elementwise<op::exp, A> exp(A) { return {}; }
/// The natural logarithm, of floating point.
template <expression A>
constexpr detail::elementwise<op::log, A> log(A) { return {}; }
/// The hyperbolic tangent, of floating point.
template <expression A>
constexpr detail::elementwise<op::tanh, A> tanh(A) { return {}; }
/// The error function 2 / sqrt(pi) * integral of exp(-t * t) from 0 to a, of floating point.
template <expression A>
constexpr detail::elementwise<op::erf, A> erf(A) { return {}; }
/// a to the power of b, of floating point.
template <class A, class B>
    requires detail::operands<A, B>
constexpr detail::elementwise<op::pow, A, B> pow(A, B) { return {}; }

/// a where the condition holds, b elsewhere.
template <expression C, detail::operand A, detail::operand B>
constexpr detail::elementwise<op::select, C, A, B> select(C, A, B) { return {}; }

/// The same values in another element type. Floating point is rounded to nearest even; towards integers it is
/// truncated towards zero, as a static_cast does.
template <class T, expression A>
constexpr detail::made<op::cast, reduction::sum, 0, static_cast<int>(dtype_of<T>), 0, A> cast(A)
{
    static_assert(dtype_of<T> != dtype::none, "plait: cast<T>: T is none of bool, std::uint8_t, std::int32_t, "
                                              "std::int64_t, f16, bf16, float, double");
    return {};
}

/// Sets each element to zero with probability p and scales the others by 1/(1-p) (Srivastava et al. 2014, inverted).
/// Element i is kept where word i of Philox 4x32-10 with this seed is at least p * 2^32, i being the element's index
/// in the WHOLE tensor: the same mask in every layout, schedule and number of ranks.
/// p: a number or f32 scalar in [0, 1]; seed: a number or integer scalar.
template <expression X, expression P, expression Seed>
constexpr detail::elementwise<op::dropout, X, P, Seed> dropout(X, P, Seed) { return {}; }

}  // namespace plait
