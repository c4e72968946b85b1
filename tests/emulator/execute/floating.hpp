// Operations of f32 and f64 arithmetic, and how .ftz, .sat and a rounding are applied to them.
#pragma once

#include "../numeric/canonical.hpp"
#include "../numeric/small_float.hpp"
#include "lanewise.hpp"

namespace emulator {

struct float_modifiers {
    rounding mode = rounding::nearest_even;
    bool given = false;  ///< a rounding was written
    bool ftz = false;
    bool sat = false;
};

/// Takes .rn .rz .rm .rp, .ftz and .sat.
inline float_modifiers take_float_modifiers(binding& b, type t)
{
    float_modifiers m;
    const int mode = b.one_of({"rn", "rz", "rm", "rp"});
    if (mode >= 0) { m.mode = static_cast<rounding>(mode); }
    m.given = mode >= 0;
    m.ftz = b.has("ftz");
    m.sat = b.has("sat");
    if (t == type::f64 && (m.ftz || m.sat)) { b.refuse("f64 has neither .ftz nor .sat"); }
    return m;
}

namespace {  // one copy per translation unit, as they are compiled with different assumptions about rounding

struct plus {
    template <class T>
    T operator()(T a, T b) const
    {
        return a + b;
    }
};
struct minus {
    template <class T>
    T operator()(T a, T b) const
    {
        return a - b;
    }
};
struct times {
    template <class T>
    T operator()(T a, T b) const
    {
        return a * b;
    }
};
struct over {
    template <class T>
    T operator()(T a, T b) const
    {
        return a / b;
    }
};
struct fused {
    template <class T>
    T operator()(T a, T b, T c) const
    {
        return std::fma(a, b, c);
    }
};
struct root {
    template <class T>
    T operator()(T a) const
    {
        return std::sqrt(a);
    }
};
struct reciprocal {
    template <class T>
    T operator()(T a) const
    {
        return T{1} / a;
    }
};

template <class T, class Op, bool Flush, bool Saturate>
struct adjusted {
    T operator()(T a) const { return result<T, Flush, Saturate>(Op{}(input<T, Flush>(a))); }
    T operator()(T a, T b) const { return result<T, Flush, Saturate>(Op{}(input<T, Flush>(a), input<T, Flush>(b))); }
    T operator()(T a, T b, T c) const
    {
        return result<T, Flush, Saturate>(Op{}(input<T, Flush>(a), input<T, Flush>(b), input<T, Flush>(c)));
    }
};

/// The execute function for an operation with `Arity` operands, given how to wrap it.
template <class T, class Op, int Arity, bool Flush, bool Saturate>
constexpr auto execution()
{
    using op = adjusted<T, Op, Flush, Saturate>;
    if constexpr (Arity == 1) {
        return &unary<T, T, op>;
    } else if constexpr (Arity == 2) {
        return &binary<T, T, op>;
    } else {
        return &ternary<T, T, T, op>;
    }
}

template <class Op, int Arity>
auto choose_execution(type t, bool ftz, bool sat) -> void (*)(context&, const instruction&)
{
    if (t == type::f64) { return execution<double, Op, Arity, false, false>(); }
    if (ftz) { return sat ? execution<float, Op, Arity, true, true>() : execution<float, Op, Arity, true, false>(); }
    return sat ? execution<float, Op, Arity, false, true>() : execution<float, Op, Arity, false, false>();
}

}  // namespace

enum class float_operation : std::uint8_t { add, sub, mul, div, fma, sqrt, rcp };

/// The same operations rounded other than to nearest.
void (*directed_execution(float_operation op, type t, float_modifiers m))(context&, const instruction&);

}  // namespace emulator
