// f32 and f64 arithmetic (PTX ISA, "Floating Point Instructions"). Approximate instructions are computed in double
// precision and rounded: closer than PTX demands.
#include "floating.hpp"

#include <numbers>

namespace emulator {
namespace {

template <class Op, int Arity>
void bind_rounded(binding& b, type t, float_operation op)
{
    const float_modifiers m = take_float_modifiers(b, t);
    b.out.kind = class_of(t);
    same_type_operands(b, t, Arity + 1);
    b.out.variant2 = static_cast<std::uint8_t>(m.mode);
    b.out.execute =
        m.mode == rounding::nearest_even ? choose_execution<Op, Arity>(t, m.ftz, m.sat) : directed_execution(op, t, m);
}

template <class Op, int Arity>
void bind_unrounded(binding& b, type t)
{
    const bool ftz = b.has("ftz");
    b.out.kind = class_of(t);
    same_type_operands(b, t, Arity + 1);
    b.out.execute = choose_execution<Op, Arity>(t, ftz, false);
}

// A number beats a NaN; -0 is less than +0.
struct minimum {
    template <class T>
    T operator()(T a, T b) const
    {
        if (a != a) { return b; }
        if (b != b) { return a; }
        return a == b ? (std::signbit(a) ? a : b) : (a < b ? a : b);
    }
};
struct maximum {
    template <class T>
    T operator()(T a, T b) const
    {
        if (a != a) { return b; }
        if (b != b) { return a; }
        return a == b ? (std::signbit(a) ? b : a) : (a < b ? b : a);
    }
};
template <class Op>
struct or_nan {
    template <class T>
    T operator()(T a, T b) const
    {
        return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : Op{}(a, b);
    }
};
template <class Op>
struct xor_sign {
    template <class T>
    T operator()(T a, T b) const
    {
        const T magnitude = Op{}(std::fabs(a), std::fabs(b));
        return std::signbit(a) != std::signbit(b) ? -magnitude : magnitude;
    }
};

template <class Op>
void bind_extremum(binding& b, type t)
{
    const bool nan = b.has("NaN");
    const bool xorsign = b.has("xorsign");
    if (xorsign && !b.has("abs")) { b.refuse(".xorsign without .abs"); }
    if (nan && xorsign) { return bind_unrounded<xor_sign<or_nan<Op>>, 2>(b, t); }
    if (nan) { return bind_unrounded<or_nan<Op>, 2>(b, t); }
    if (xorsign) { return bind_unrounded<xor_sign<Op>, 2>(b, t); }
    bind_unrounded<Op, 2>(b, t);
}

// neg and abs change the sign bit alone, of a NaN as well.
struct flip_sign {
    template <class T>
    T operator()(T a) const
    {
        return static_cast<T>(a ^ T{1} << (8 * sizeof(T) - 1));
    }
};
struct clear_sign {
    template <class T>
    T operator()(T a) const
    {
        return static_cast<T>(a & ~(T{1} << (8 * sizeof(T) - 1)));
    }
};
struct flushed_flip {
    std::uint32_t operator()(std::uint32_t a) const
    {
        return flip_sign{}(std::bit_cast<std::uint32_t>(flush(std::bit_cast<float>(a))));
    }
};
struct flushed_clear {
    std::uint32_t operator()(std::uint32_t a) const
    {
        return clear_sign{}(std::bit_cast<std::uint32_t>(flush(std::bit_cast<float>(a))));
    }
};

void bind_sign(binding& b, type t)
{
    const bool ftz = b.has("ftz");
    const bool negative = b.statement().opcode == "neg";
    same_type_operands(b, t, 2);
    using u32 = std::uint32_t;
    using u64 = std::uint64_t;
    if (t == type::f64) {
        b.out.execute = negative ? &unary<u64, u64, flip_sign> : &unary<u64, u64, clear_sign>;
    } else if (ftz) {
        b.out.execute = negative ? &unary<u32, u32, flushed_flip> : &unary<u32, u32, flushed_clear>;
    } else {
        b.out.execute = negative ? &unary<u32, u32, flip_sign> : &unary<u32, u32, clear_sign>;
    }
}

struct with_sign_of_first {
    template <class T>
    T operator()(T a, T b) const
    {
        return std::copysign(b, a);
    }
};

void bind_copysign(binding& b)
{
    const type t = b.take_type({type::f32, type::f64});
    bind_unrounded<with_sign_of_first, 2>(b, t);
}

struct power_of_two {
    float operator()(float a) const { return static_cast<float>(std::exp2(static_cast<double>(a))); }
    double operator()(double a) const { return std::exp2(a); }
};
struct logarithm {
    float operator()(float a) const { return static_cast<float>(std::log2(static_cast<double>(a))); }
    double operator()(double a) const { return std::log2(a); }
};
struct sine {
    float operator()(float a) const { return static_cast<float>(std::sin(static_cast<double>(a))); }
    double operator()(double a) const { return std::sin(a); }
};
struct cosine {
    float operator()(float a) const { return static_cast<float>(std::cos(static_cast<double>(a))); }
    double operator()(double a) const { return std::cos(a); }
};
struct hyperbolic_tangent {
    float operator()(float a) const { return static_cast<float>(std::tanh(static_cast<double>(a))); }
    double operator()(double a) const { return std::tanh(a); }
};
struct inverse_root {
    float operator()(float a) const { return static_cast<float>(1 / std::sqrt(static_cast<double>(a))); }
    double operator()(double a) const { return 1 / std::sqrt(a); }
};

// div.approx: beyond 2^126 the divisor's reciprocal is flushed, which PTX documents.
struct approximate_division {
    float operator()(float a, float b) const
    {
        const float magnitude = std::fabs(b);
        if (magnitude > 0x1p126f && !std::isinf(magnitude)) {
            return std::isinf(a) ? NAN : std::copysign(0.0f, a) * std::copysign(1.0f, b);
        }
        return a / b;
    }
    double operator()(double a, double b) const { return a / b; }
};

// rcp.approx.ftz.f64: of the upper half of the operand, whose denormals are zeros; the result's lower half is zero.
struct approximate_reciprocal {
    float operator()(float a) const { return 1 / a; }
    double operator()(double a) const
    {
        constexpr std::uint64_t upper = 0xffff'ffff'0000'0000;
        const auto flushed = [](double x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0, x) : x; };
        const double x = flushed(std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & upper));
        if (std::isnan(a)) { return a; }
        return flushed(std::bit_cast<double>(std::bit_cast<std::uint64_t>(1 / x) & upper));
    }
};

void bind_fma(binding& b)
{
    const type t = b.take_type();
    if (is_packed(t) || t == type::f16 || t == type::bf16) { return bind_half_arithmetic(b, t); }
    if (t != type::f32 && t != type::f64) { b.refuse("not implemented for this type"); }
    bind_rounded<fused, 3>(b, t, float_operation::fma);
}

void bind_root(binding& b)
{
    const type t = b.take_type({type::f32, type::f64});
    b.has("approx");
    bind_rounded<root, 1>(b, t, float_operation::sqrt);
}

void bind_reciprocal(binding& b)
{
    const type t = b.take_type({type::f32, type::f64});
    if (t == type::f64 && b.has("approx")) {
        if (!b.has("ftz")) { b.refuse(".ftz expected"); }
        return bind_unrounded<approximate_reciprocal, 1>(b, t);
    }
    b.has("approx");
    bind_rounded<reciprocal, 1>(b, t, float_operation::rcp);
}

template <class Op>
void bind_special(binding& b)
{
    if (!b.has("approx")) { b.refuse(".approx expected"); }
    const type t = b.take_type();
    if (t == type::f16 || t == type::bf16 || is_packed(t)) { return bind_half_arithmetic(b, t); }
    if (t != type::f32 && !(t == type::f64 && b.statement().opcode == "rsqrt")) {
        b.refuse("not implemented for this type");
    }
    if (t == type::f64) { b.has("ftz"); }
    bind_unrounded<Op, 1>(b, t);
    b.out.kind = instruction_class::special;
}

void bind_tanh(binding& b) { bind_special<hyperbolic_tangent>(b); }

template <class T>
void testp(context& c, const instruction& i)
{
    const auto* a = source<T>(c, i.args[1]);
    std::uint32_t bits = 0;
    for_lanes(c.mask, [&](unsigned l) {
        const int kind = std::fpclassify(from_slot<T>(a[l]));
        const bool tests[] = {
            kind != FP_NAN && kind != FP_INFINITE, kind == FP_INFINITE, kind != FP_NAN, kind == FP_NAN,
            kind == FP_NORMAL || kind == FP_ZERO,  kind == FP_SUBNORMAL};
        bits |= std::uint32_t{tests[i.variant]} << l;
    });
    write_predicate(c, i.args[0], bits);
}

void bind_testp(binding& b)
{
    const int test = b.one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
    if (test < 0) { b.refuse("a test expected"); }
    const type t = b.take_type({type::f32, type::f64});
    b.out.variant = static_cast<std::uint8_t>(test);
    b.out.kind = class_of(t);
    b.expect_operands(2);
    b.predicate_destination(b.syntax(0));
    b.source(1, t);
    b.out.execute = t == type::f32 ? &testp<float> : &testp<double>;
}

}  // namespace

void bind_float_arithmetic(binding& b, type t)
{
    const auto& opcode = b.statement().opcode;
    if (opcode == "add") { return bind_rounded<plus, 2>(b, t, float_operation::add); }
    if (opcode == "sub") { return bind_rounded<minus, 2>(b, t, float_operation::sub); }
    if (opcode == "mul") { return bind_rounded<times, 2>(b, t, float_operation::mul); }
    if (opcode == "div") {
        if (b.has("approx")) { return bind_unrounded<approximate_division, 2>(b, t); }
        b.has("full");
        return bind_rounded<over, 2>(b, t, float_operation::div);
    }
    if (opcode == "min") { return bind_extremum<minimum>(b, t); }
    if (opcode == "max") { return bind_extremum<maximum>(b, t); }
    if (opcode == "neg" || opcode == "abs") { return bind_sign(b, t); }
    b.refuse("not implemented for this type");
}

extern const opcode_entry float_opcodes[] = {
    {"fma", bind_fma},
    {"sqrt", bind_root},
    {"rcp", bind_reciprocal},
    {"copysign", bind_copysign},
    {"testp", bind_testp},
    {"ex2", bind_special<power_of_two>},
    {"lg2", bind_special<logarithm>},
    {"sin", bind_special<sine>},
    {"cos", bind_special<cosine>},
    {"rsqrt", bind_special<inverse_root>},
    {"tanh", bind_tanh},
    {{}, nullptr},
};

}  // namespace emulator
