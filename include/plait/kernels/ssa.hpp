// The body of a kernel as a flat list of steps: types and integers only, which is what nvcc takes in the template
// arguments of a kernel. Evaluated in order into registers, for the host and for devices alike.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/macros.hpp>
#include <plait/core/vector_math.hpp>
#include <plait/graph/op.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace plait::kernels {

/// The type that a value of dtype D is computed in: f16 and bf16 in f32 (and rounded after each step), numbers in f64.
template <dtype D>
using compute_t = std::conditional_t<D == dtype::f16 || D == dtype::bf16, float,
                                     typename std::conditional_t<D == dtype::none, std::type_identity<double>,
                                                                 detail::element<D>>::type>;

/// Step: operation Kind on values A, B, C (numbered: the kernel's inputs first, then the steps in order). `D` is the
/// result's dtype, `Operands` the dtype that the operands are brought to. Contracts, of an add or sub with C: which operand
/// is the product (see node::contracts); of a mul: 1 when a sum consumes it.
template <op Kind, dtype D, dtype Operands, int A, int B, int C, int Contracts>
struct step {
    static constexpr op kind = Kind;
    static constexpr dtype type = D;
    static constexpr dtype operands = Operands;
    static constexpr int a = A;
    static constexpr int b = B;
    static constexpr int c = C;
    static constexpr int contracts = Contracts;
};

/// Rounds a value computed in compute_t<D> to what D can hold.
template <dtype D>
PLAIT_INLINE compute_t<D> round_to(compute_t<D> x)
{
    if constexpr (D == dtype::f16 || D == dtype::bf16) {
        return static_cast<float>(element_t<D>(x));
    } else {
        return x;
    }
}

/// From one compute type to another, as cast<T> does.
template <class To, class From>
PLAIT_INLINE To convert(From x)
{
    if constexpr (std::is_same_v<To, bool>) {
        return x != From{};
    } else {
        return static_cast<To>(x);
    }
}

/// a * b + c: one rounding where the hardware has it. Without it (plain x86-64) two, in every schedule alike.
template <class T>
PLAIT_INLINE T multiply_add(T a, T b, T c)
{
#if defined(__FMA__) || defined(__CUDA_ARCH__) || defined(__ARM_FEATURE_FMA)
    if constexpr (std::is_same_v<T, float>) { return __builtin_fmaf(a, b, c); }
    else { return __builtin_fma(a, b, c); }
#else
    return rounded(a * b) + c;
#endif
}

/// Integers wrap around, as in a two's complement machine: sums, differences and products are taken without signs.
template <class T>
using ring_t = typename std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>,
                                           std::make_unsigned<std::conditional_t<sizeof(T) < sizeof(int), int, T>>,
                                           std::type_identity<T>>::type;
template <class T>
PLAIT_INLINE T sum_of(T a, T b) { return static_cast<T>(static_cast<ring_t<T>>(a) + static_cast<ring_t<T>>(b)); }
template <class T>
PLAIT_INLINE T difference_of(T a, T b) { return static_cast<T>(static_cast<ring_t<T>>(a) - static_cast<ring_t<T>>(b)); }
/// On devices no product of floats is contracted with a sum, whatever the flags: what contracts is a multiply_add.
template <class T>
PLAIT_INLINE T product_of(T a, T b)
{
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<T, float>) { return __fmul_rn(a, b); }
    if constexpr (std::is_same_v<T, double>) { return __dmul_rn(a, b); }
#endif
    return static_cast<T>(static_cast<ring_t<T>>(a) * static_cast<ring_t<T>>(b));
}
/// Of integers truncated; 0 where b is 0.
template <class T>
PLAIT_INLINE T quotient_of(T a, T b)
{
    if constexpr (std::is_floating_point_v<T>) {
        return a / b;
    } else if constexpr (std::is_signed_v<T>) {
        return b == 0 ? T{} : b == -1 ? difference_of(T{}, a) : static_cast<T>(a / b);  // -2^31 / -1 would trap
    } else {
        return b == 0 ? T{} : static_cast<T>(a / b);
    }
}

template <op Kind, class T>
PLAIT_INLINE auto unary(T a)
{
    if constexpr (Kind == op::neg && std::is_integral_v<T>) { return difference_of(T{}, a); }
    else if constexpr (Kind == op::neg) { return static_cast<T>(-a); }
    else if constexpr (Kind == op::abs) { return math::abs(a); }
    else if constexpr (Kind == op::sqrt) { return math::sqrt(a); }
    else if constexpr (Kind == op::rsqrt) { return math::rsqrt(a); }
    else if constexpr (Kind == op::exp) { return math::exp(a); }
    else if constexpr (Kind == op::log) { return math::log(a); }
    else if constexpr (Kind == op::tanh) { return math::tanh(a); }
    else if constexpr (Kind == op::erf) { return math::erf(a); }
    else if constexpr (Kind == op::logical_not) { return !a; }
    else { return a; }  // cast, slice, update, collectives of one rank: the value itself
}

template <op Kind, class T>
PLAIT_INLINE auto binary(T a, T b)
{
    if constexpr (Kind == op::add) { return sum_of(a, b); }
    else if constexpr (Kind == op::sub) { return difference_of(a, b); }
    else if constexpr (Kind == op::mul) { return product_of(a, b); }
    else if constexpr (Kind == op::div) { return quotient_of(a, b); }
    else if constexpr (Kind == op::min) { return math::min(a, b); }
    else if constexpr (Kind == op::max) { return math::max(a, b); }
    else if constexpr (Kind == op::pow) { return math::pow(a, b); }
    else if constexpr (Kind == op::less) { return a < b; }
    else if constexpr (Kind == op::less_equal) { return a <= b; }
    else if constexpr (Kind == op::equal) { return a == b; }
    else if constexpr (Kind == op::not_equal) { return a != b; }
    else if constexpr (Kind == op::logical_and) { return static_cast<bool>(a & b); }
    else if constexpr (Kind == op::logical_or) { return static_cast<bool>(a | b); }
}

/// One register of a kernel's file; a struct derived from all of them is split into scalars by every optimiser.
template <std::size_t I, class T>
struct reg {
    T value;
};
template <std::size_t I, class T>
PLAIT_INLINE T& at(reg<I, T>& r) { return r.value; }
template <std::size_t I, class T>
PLAIT_INLINE const T& at(const reg<I, T>& r) { return r.value; }

template <class Indices, class... T>
struct registers;
template <std::size_t... I, class... T>
struct registers<std::index_sequence<I...>, T...> : reg<I, T>... {};

/// Register N in the type In.
template <int N, class In, class Registers>
PLAIT_INLINE In operand(const Registers& r)
{
    return convert<In>(at<static_cast<std::size_t>(N)>(r));
}

/// Evaluates one step on the registers.
template <class Step, class Registers>
PLAIT_INLINE compute_t<Step::type> evaluate(const Registers& r)
{
    using in = compute_t<Step::operands>;
    using out = compute_t<Step::type>;
    if constexpr (Step::kind == op::select) {
        const in x = operand<Step::b, in>(r);
        const in y = operand<Step::c, in>(r);
        return operand<Step::a, bool>(r) ? x : y;
    } else if constexpr (Step::kind == op::dropout) {  // of x with probability p; the third says what is kept
        const in x = operand<Step::a, in>(r);
        const in p = operand<Step::b, in>(r);
        const in kept = x / (in{1} - p);
        if constexpr (std::is_same_v<in, float>) {
            return round_to<Step::type>(plait::detail::choose(operand<Step::c, bool>(r), kept, 0.0F));
        } else {
            return round_to<Step::type>(operand<Step::c, bool>(r) ? kept : in{});
        }
    } else if constexpr (Step::c >= 0) {  // a contracted addition: the product's factors, then the other operand
        const in x = operand<Step::a, in>(r);
        const in y = operand<Step::b, in>(r);
        const in z = operand<Step::c, in>(r);
        if constexpr (Step::kind == op::add) {
            return multiply_add(x, y, z);
        } else if constexpr (Step::contracts == 1) {
            return multiply_add(x, y, -z);
        } else {
            return multiply_add(-x, y, z);
        }
    } else if constexpr (Step::kind == op::mul && Step::contracts != 0) {
        // A sum consumes this product: whether the compiler contracts them must not depend on the schedule.
        return round_to<Step::type>(rounded(product_of(operand<Step::a, in>(r), operand<Step::b, in>(r))));
    } else if constexpr (Step::b >= 0) {
        return round_to<Step::type>(convert<out>(binary<Step::kind>(operand<Step::a, in>(r), operand<Step::b, in>(r))));
    } else {
        return round_to<Step::type>(convert<out>(unary<Step::kind>(operand<Step::a, in>(r))));
    }
}

}  // namespace plait::kernels
