// Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions").
#include "carry.hpp"
#include "lanewise.hpp"

#include <algorithm>
#include <limits>

namespace emulator {
namespace {

template <class T>
using unsigned_of = std::make_unsigned_t<T>;

// Results wrap around: computed unsigned, in at least 32 bits.
template <class T, class F>
T wrapped(T a, T b, F f)
{
    using wide = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    return static_cast<T>(f(static_cast<wide>(a), static_cast<wide>(b)));
}

struct add {
    template <class T>
    T operator()(T a, T b) const
    {
        return wrapped(a, b, [](auto x, auto y) { return x + y; });
    }
};
struct sub {
    template <class T>
    T operator()(T a, T b) const
    {
        return wrapped(a, b, [](auto x, auto y) { return x - y; });
    }
};
struct mul_lo {
    template <class T>
    T operator()(T a, T b) const
    {
        return wrapped(a, b, [](auto x, auto y) { return x * y; });
    }
};

struct mul_hi {
    template <class T>
    T operator()(T a, T b) const
    {
        using wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        return static_cast<T>((static_cast<wide>(a) * static_cast<wide>(b)) >> (8 * sizeof(T)));
    }
};

template <class W>
struct mul_wide {
    template <class T>
    W operator()(T a, T b) const
    {
        return static_cast<W>(static_cast<W>(a) * static_cast<W>(b));
    }
};

struct mad_lo {
    template <class T>
    T operator()(T a, T b, T c) const
    {
        return add{}(mul_lo{}(a, b), c);
    }
};
struct mad_hi {
    template <class T>
    T operator()(T a, T b, T c) const
    {
        return add{}(mul_hi{}(a, b), c);
    }
};
template <class W>
struct mad_wide {
    template <class T>
    W operator()(T a, T b, W c) const
    {
        return add{}(mul_wide<W>{}(a, b), c);
    }
};

struct add_saturated {
    std::int32_t operator()(std::int32_t a, std::int32_t b) const { return clamp(std::int64_t{a} + b); }
    static std::int32_t clamp(std::int64_t v)
    {
        return static_cast<std::int32_t>(std::clamp<std::int64_t>(v, INT32_MIN, INT32_MAX));
    }
};
struct sub_saturated {
    std::int32_t operator()(std::int32_t a, std::int32_t b) const { return add_saturated::clamp(std::int64_t{a} - b); }
};

// Division by zero has an unspecified result: all ones here, and the dividend as remainder.
struct divide {
    template <class T>
    T operator()(T a, T b) const
    {
        if (b == 0) { return static_cast<T>(-1); }
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) { return sub{}(T{0}, a); }
        return static_cast<T>(a / b);
    }
};
struct remainder {
    template <class T>
    T operator()(T a, T b) const
    {
        if (b == 0) { return a; }
        return std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
    }
};

struct minimum {
    template <class T>
    T operator()(T a, T b) const
    {
        return b < a ? b : a;
    }
};
struct maximum {
    template <class T>
    T operator()(T a, T b) const
    {
        return a < b ? b : a;
    }
};
struct absolute {
    template <class T>
    T operator()(T a) const
    {
        return a < 0 ? sub{}(T{0}, a) : a;
    }
};
struct negate {
    template <class T>
    T operator()(T a) const
    {
        return sub{}(T{0}, a);
    }
};
struct abs_difference_plus {
    template <class T>
    T operator()(T a, T b, T c) const
    {
        return add{}(c, a < b ? sub{}(b, a) : sub{}(a, b));
    }
};

void bind_mul(binding& b, type t)
{
    const int half = b.one_of({"lo", "hi", "wide"});
    if (half < 0) { b.refuse("one of lo, hi, wide expected"); }
    b.out.kind = instruction_class::integer;
    if (half < 2) {
        same_type_operands(b, t, 3);
        with_integer(t, [&]<class T>() { b.out.execute = half == 0 ? &binary<T, T, mul_lo> : &binary<T, T, mul_hi>; });
        return;
    }
    b.expect_operands(3);
    const auto wide = [&]<class T, class W>(type result) {
        b.destination(0, result);
        b.source(1, t);
        b.source(2, t);
        b.out.execute = &binary<W, T, mul_wide<W>>;
    };
    if (t == type::u16) { wide.operator()<std::uint16_t, std::uint32_t>(type::u32); }
    if (t == type::s16) { wide.operator()<std::int16_t, std::int32_t>(type::s32); }
    if (t == type::u32) { wide.operator()<std::uint32_t, std::uint64_t>(type::u64); }
    if (t == type::s32) { wide.operator()<std::int32_t, std::int64_t>(type::s64); }
}

void bind_mad(binding& b)
{
    const type t = b.take_type();
    if (bind_carry_out(b, t)) { return; }
    const int half = b.one_of({"lo", "hi", "wide"});
    if (half < 0) { b.refuse("one of lo, hi, wide expected"); }
    b.out.kind = instruction_class::integer;
    if (half < 2) {
        same_type_operands(b, t, 4);
        with_integer(
            t, [&]<class T>() { b.out.execute = half == 0 ? &ternary<T, T, T, mad_lo> : &ternary<T, T, T, mad_hi>; });
        return;
    }
    b.expect_operands(4);
    const auto wide = [&]<class T, class W>(type result) {
        b.destination(0, result);
        b.source(1, t);
        b.source(2, t);
        b.source(3, result);
        b.out.execute = &ternary<W, T, W, mad_wide<W>>;
    };
    if (t == type::u16) { wide.operator()<std::uint16_t, std::uint32_t>(type::u32); }
    if (t == type::s16) { wide.operator()<std::int16_t, std::int32_t>(type::s32); }
    if (t == type::u32) { wide.operator()<std::uint32_t, std::uint64_t>(type::u64); }
    if (t == type::s32) { wide.operator()<std::int32_t, std::int64_t>(type::s64); }
}

template <class Op>
void bind_binary(binding& b, type t)
{
    same_type_operands(b, t, 3);
    with_integer(t, [&]<class T>() { b.out.execute = &binary<T, T, Op>; });
}

void bind_sad(binding& b)
{
    const type t = b.take_type();
    same_type_operands(b, t, 4);
    b.out.kind = instruction_class::integer;
    with_integer(t, [&]<class T>() { b.out.execute = &ternary<T, T, T, abs_difference_plus>; });
}

template <class Op>
struct pair_of_16 {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const
    {
        const auto low = static_cast<std::uint16_t>(Op{}(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b)));
        const auto high =
            static_cast<std::uint16_t>(Op{}(static_cast<std::uint16_t>(a >> 16), static_cast<std::uint16_t>(b >> 16)));
        return low | std::uint32_t{high} << 16;
    }
};

template <class Op>
struct pair_of_signed_16 {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const
    {
        const auto low = static_cast<std::uint16_t>(Op{}(static_cast<std::int16_t>(a), static_cast<std::int16_t>(b)));
        const auto high =
            static_cast<std::uint16_t>(Op{}(static_cast<std::int16_t>(a >> 16), static_cast<std::int16_t>(b >> 16)));
        return low | std::uint32_t{high} << 16;
    }
};

// add, min and max of two 16-bit integers in one register; the type is no fundamental one, so it is read as a modifier.
bool bind_packed_integers(binding& b)
{
    const bool is_unsigned = b.has("u16x2");
    if (!is_unsigned && !b.has("s16x2")) { return false; }
    b.out.kind = instruction_class::integer;
    same_type_operands(b, type::b32, 3);
    const auto& opcode = b.statement().opcode;
    using u = std::uint32_t;
    if (opcode == "add") { b.out.execute = &binary<u, u, pair_of_16<add>>; }
    if (opcode == "min") {
        b.out.execute = is_unsigned ? &binary<u, u, pair_of_16<minimum>> : &binary<u, u, pair_of_signed_16<minimum>>;
    }
    if (opcode == "max") {
        b.out.execute = is_unsigned ? &binary<u, u, pair_of_16<maximum>> : &binary<u, u, pair_of_signed_16<maximum>>;
    }
    return true;
}

// Opcodes that floating-point numbers share.
void bind_shared(binding& b)
{
    if (bind_packed_integers(b)) { return; }
    const type t = b.take_type();
    b.out.kind = class_of(t);
    if (t == type::f32 || t == type::f64) { return bind_float_arithmetic(b, t); }
    if (is_float(t) || is_packed(t)) { return bind_half_arithmetic(b, t); }
    bind_integer_arithmetic(b, t);
}

}  // namespace

void bind_integer_arithmetic(binding& b, type t)
{
    const auto& opcode = b.statement().opcode;
    if ((opcode == "add" || opcode == "sub") && bind_carry_out(b, t)) { return; }
    if (opcode == "mul") { return bind_mul(b, t); }
    if ((opcode == "add" || opcode == "sub") && b.has("sat")) {
        if (t != type::s32) { b.refuse(".sat is for s32"); }
        same_type_operands(b, t, 3);
        using s = std::int32_t;
        b.out.execute = opcode == "add" ? &binary<s, s, add_saturated> : &binary<s, s, sub_saturated>;
        return;
    }
    if (opcode == "add") { return bind_binary<add>(b, t); }
    if (opcode == "sub") { return bind_binary<sub>(b, t); }
    if (opcode == "div") { return bind_binary<divide>(b, t); }
    if (opcode == "rem") { return bind_binary<remainder>(b, t); }
    if (opcode == "min") { return bind_binary<minimum>(b, t); }
    if (opcode == "max") { return bind_binary<maximum>(b, t); }
    same_type_operands(b, t, 2);
    if (!is_signed(t)) { b.refuse("a signed type expected"); }
    with_integer(t,
                 [&]<class T>() { b.out.execute = opcode == "abs" ? &unary<T, T, absolute> : &unary<T, T, negate>; });
}

extern const opcode_entry integer_opcodes[] = {
    {"add", bind_shared}, {"sub", bind_shared}, {"mul", bind_shared}, {"div", bind_shared},
    {"rem", bind_shared}, {"min", bind_shared}, {"max", bind_shared}, {"abs", bind_shared},
    {"neg", bind_shared}, {"mad", bind_mad},    {"sad", bind_sad},    {{}, nullptr},
};

}  // namespace emulator
