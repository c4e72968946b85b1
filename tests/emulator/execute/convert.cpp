// cvt (PTX ISA, "Data Movement and Conversion Instructions"). Built with -frounding-math, as it sets the host's
// rounding.
#include "../numeric/canonical.hpp"
#include "../numeric/small_float.hpp"
#include "lanewise.hpp"

#include <cfenv>
#include <cmath>

namespace emulator {
namespace {

enum flag : std::uint8_t { flag_ftz = 1, flag_sat = 2, flag_relu = 4, flag_integral = 8 };

struct conversion {
    type to;
    type from;
    rounding mode;  ///< of the value, or to an integral value
    std::uint8_t flags;
    bool has(flag f) const { return (flags & f) != 0; }
};

conversion description(const instruction& i)
{
    return {i.type, static_cast<type>(i.variant), static_cast<rounding>(i.variant2), i.elements};
}

std::int64_t signed_value(type t, std::uint64_t bits)
{
    switch (t) {
    case type::s8: return static_cast<std::int8_t>(bits);
    case type::s16: return static_cast<std::int16_t>(bits);
    case type::s32: return static_cast<std::int32_t>(bits);
    case type::u8:
    case type::b8: return static_cast<std::uint8_t>(bits);
    case type::u16:
    case type::b16: return static_cast<std::uint16_t>(bits);
    case type::u32:
    case type::b32: return static_cast<std::uint32_t>(bits);
    default: return static_cast<std::int64_t>(bits);
    }
}

double float_value(const conversion& how, std::uint64_t bits)
{
    switch (how.from) {
    case type::f16: return half_to_float(static_cast<std::uint16_t>(bits));
    case type::bf16: return bfloat_to_float(static_cast<std::uint16_t>(bits));
    case type::f64: return std::bit_cast<double>(bits);
    default: {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        return how.has(flag_ftz) ? flush(x) : x;
    }
    }
}

double to_integral(double x, rounding mode)
{
    switch (mode) {
    case rounding::zero: return std::trunc(x);
    case rounding::down: return std::floor(x);
    case rounding::up: return std::ceil(x);
    default: return std::nearbyint(x);  // the host rounds to nearest even
    }
}

std::uint64_t integer_from_float(const conversion& how, double x)
{
    const unsigned bits = 8 * size_of(how.to);
    if (x != x) { return how.from == type::f64 || bits == 64 ? std::uint64_t{1} << (bits - 1) : 0; }
    x = to_integral(x, how.mode);
    const bool is_signed_type = is_signed(how.to);
    const double high = std::ldexp(1.0, static_cast<int>(is_signed_type ? bits - 1 : bits));
    const double low = is_signed_type ? -high : 0.0;
    if (x >= high) { return is_signed_type ? (std::uint64_t{1} << (bits - 1)) - 1 : ~0ull >> (64 - bits); }
    if (x <= low) { return is_signed_type ? ~0ull << (bits - 1) : 0; }
    return is_signed_type ? static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) : static_cast<std::uint64_t>(x);
}

template <class T, class F>
T rounded(rounding mode, F value)
{
    const int host = mode == rounding::zero ? FE_TOWARDZERO : mode == rounding::down ? FE_DOWNWARD : FE_UPWARD;
    if (mode == rounding::nearest_even) { return static_cast<T>(value); }
    std::fesetround(host);
    const volatile F kept = value;
    const volatile T result = static_cast<T>(kept);
    std::fesetround(FE_TONEAREST);
    return result;
}

std::uint64_t float_bits(const conversion& how, double x)
{
    if (how.has(flag_sat)) { x = x > 0 ? (x < 1 ? x : 1) : 0; }
    if (how.has(flag_relu) && x < 0) { x = 0; }
    switch (how.to) {
    case type::f16: return f16_format::encode(x, how.mode);
    case type::bf16: return bf16_format::encode(x, how.mode);
    case type::f64: return std::bit_cast<std::uint64_t>(x);
    case type::tf32: {
        // 10 bits of mantissa are kept in an f32's place.
        if (x != x) { return 0x7fff'ffff; }
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
        if (std::isinf(x)) { return bits; }
        if (how.mode == rounding::zero) { return bits & ~0x1fffu; }
        const std::uint32_t half = how.mode == rounding::nearest_away ? 0x1000 : 0xfff + (bits >> 13 & 1);
        return (bits + half) & ~0x1fffu;
    }
    default: {
        float f = rounded<float>(how.mode, x);
        if (how.has(flag_ftz)) { f = flush(f); }
        return f != f ? 0x7fff'ffff : std::bit_cast<std::uint32_t>(f);
    }
    }
}

std::uint64_t float_from_integer(const conversion& how, std::uint64_t bits)
{
    const std::int64_t value = signed_value(how.from, bits);
    const bool is_u64 = how.from == type::u64 || how.from == type::b64;
    if (how.to == type::f32) {
        const float f =
            is_u64 ? rounded<float>(how.mode, static_cast<std::uint64_t>(value)) : rounded<float>(how.mode, value);
        return std::bit_cast<std::uint32_t>(f);
    }
    if (how.to == type::f64) {
        const double d =
            is_u64 ? rounded<double>(how.mode, static_cast<std::uint64_t>(value)) : rounded<double>(how.mode, value);
        return std::bit_cast<std::uint64_t>(d);
    }
    // To odd first, so that the second rounding is right.
    const double low = is_u64 ? rounded<double>(rounding::zero, static_cast<std::uint64_t>(value))
                              : rounded<double>(rounding::zero, value);
    const bool exact = is_u64 ? static_cast<unsigned __int128>(low) == static_cast<std::uint64_t>(value)
                              : static_cast<__int128>(low) == value;
    return float_bits(how, exact ? low : std::bit_cast<double>(std::bit_cast<std::uint64_t>(low) | 1));
}

std::uint64_t integer_from_integer(const conversion& how, std::uint64_t bits)
{
    const std::int64_t value = signed_value(how.from, bits);
    if (how.has(flag_sat)) {
        const bool is_u64 = how.from == type::u64 || how.from == type::b64;
        const __int128 v =
            is_u64 ? static_cast<__int128>(static_cast<std::uint64_t>(value)) : static_cast<__int128>(value);
        const unsigned n = 8 * size_of(how.to);
        const __int128 high =
            is_signed(how.to) ? (static_cast<__int128>(1) << (n - 1)) - 1 : (static_cast<__int128>(1) << n) - 1;
        const __int128 low = is_signed(how.to) ? -high - 1 : 0;
        return static_cast<std::uint64_t>(v < low ? low : v > high ? high : v);
    }
    return static_cast<std::uint64_t>(signed_value(how.to, static_cast<std::uint64_t>(value)));
}

std::uint64_t convert(const conversion& how, std::uint64_t bits)
{
    if (!is_float(how.from)) {
        return is_float(how.to) ? float_from_integer(how, bits) : integer_from_integer(how, bits);
    }
    double x = float_value(how, bits);
    if (!is_float(how.to)) { return integer_from_float(how, x); }
    if (how.has(flag_integral)) {
        conversion rest = how;
        rest.mode = rounding::nearest_even;
        return float_bits(rest, to_integral(x, how.mode));
    }
    return float_bits(how, x);
}

void cvt(context& c, const instruction& i)
{
    const conversion how = description(i);
    for_lanes(c.mask, [&](unsigned l) { write_bits(c, i.args[0], l, convert(how, read_bits(c, i.args[1], l))); });
}

/// Two f32 to a pair: the first becomes the upper half.
void cvt_pair(context& c, const instruction& i)
{
    const conversion how = description(i);
    for_lanes(c.mask, [&](unsigned l) {
        const std::uint64_t high = convert(how, read_bits(c, i.args[1], l));
        const std::uint64_t low = convert(how, read_bits(c, i.args[2], l));
        write_bits(c, i.args[0], l, high << 16 | low);
    });
}

// The common conversions without flags, as loops that become vector code.
template <class R, class T>
struct cast {
    R operator()(T a) const { return static_cast<R>(a); }
};
struct half_to_single {
    float operator()(std::uint16_t a) const
    {
        const float x = half_to_float(a);
        return x != x ? std::bit_cast<float>(0x7fff'ffffu) : x;
    }
};
struct bfloat_to_single {
    float operator()(std::uint16_t a) const
    {
        const float x = bfloat_to_float(a);
        return x != x ? std::bit_cast<float>(0x7fff'ffffu) : x;
    }
};
struct single_to_half {
    std::uint16_t operator()(float a) const { return float_to_half(a); }
};
struct single_to_bfloat {
    std::uint16_t operator()(float a) const { return float_to_bfloat(a); }
};

void (*common_conversion(const conversion& how))(context&, const instruction&)
{
    using enum type;
    if (how.flags != 0) { return nullptr; }
    const bool nearest = how.mode == rounding::nearest_even;
    if (how.to == s64 && how.from == s32) {
        return &unary<std::int64_t, std::int32_t, cast<std::int64_t, std::int32_t>>;
    }
    if (size_of(how.to) == 8 && how.from == u32 && !is_float(how.to)) {
        return &unary<std::uint64_t, std::uint32_t, cast<std::uint64_t, std::uint32_t>>;
    }
    if (how.to == u32 && how.from == u64) {
        return &unary<std::uint32_t, std::uint64_t, cast<std::uint32_t, std::uint64_t>>;
    }
    if (how.to == u32 && how.from == u16) {
        return &unary<std::uint32_t, std::uint16_t, cast<std::uint32_t, std::uint16_t>>;
    }
    if (how.to == u16 && how.from == u32) {
        return &unary<std::uint16_t, std::uint32_t, cast<std::uint16_t, std::uint32_t>>;
    }
    if (how.to == f32 && how.from == s32 && nearest) { return &unary<float, std::int32_t, cast<float, std::int32_t>>; }
    if (how.to == f32 && how.from == u32 && nearest) {
        return &unary<float, std::uint32_t, cast<float, std::uint32_t>>;
    }
    if (how.to == f32 && how.from == f16) { return &unary<float, std::uint16_t, half_to_single>; }
    if (how.to == f32 && how.from == bf16) { return &unary<float, std::uint16_t, bfloat_to_single>; }
    if (how.to == f16 && how.from == f32 && nearest) { return &unary<std::uint16_t, float, single_to_half>; }
    if (how.to == bf16 && how.from == f32 && nearest) { return &unary<std::uint16_t, float, single_to_bfloat>; }
    return nullptr;
}

type storage_of(type t) { return t == type::f16 || t == type::bf16 ? type::b16 : t == type::tf32 ? type::b32 : t; }

void bind_cvt(binding& b)
{
    const int integral = b.one_of({"rni", "rzi", "rmi", "rpi"});
    const int value = b.one_of({"rn", "rz", "rm", "rp", "rna"});
    std::uint8_t flags = b.has("ftz") ? flag_ftz : 0;
    if (b.has("sat")) { flags |= flag_sat; }
    if (b.has("relu")) { flags |= flag_relu; }
    type to = b.take_type();
    const type from = b.take_type();
    const bool pair = is_packed(to);
    if (pair) { to = to == type::f16x2 ? type::f16 : type::bf16; }
    if (integral >= 0 && is_float(to)) { flags |= flag_integral; }
    if (is_packed(from) || from == type::pred || to == type::pred || to == type::b128 || from == type::tf32) {
        b.refuse("not implemented for these types");
    }
    if (pair && from != type::f32) { b.refuse("a pair is made of two f32"); }
    b.out.kind = instruction_class::conversion;
    b.out.type = to;
    b.out.variant = static_cast<std::uint8_t>(from);
    b.out.variant2 = static_cast<std::uint8_t>(integral >= 0 ? integral : value >= 0 ? value : 0);
    b.out.elements = flags;
    b.expect_operands(pair ? 3 : 2);
    if (pair) {
        b.destination(0, type::b32);
        b.source(1, type::f32);
        b.source(2, type::f32);
        b.out.execute = &cvt_pair;
        return;
    }
    b.wide_destination(b.syntax(0), storage_of(to));
    b.wide_source(b.syntax(1), storage_of(from));
    b.out.execute = &cvt;
    const bool exact_registers = b.args()[0].width == size_of(to) && b.args()[1].width == size_of(from);
    const auto common = common_conversion(description(b.out));
    if (common != nullptr && exact_registers) { b.out.execute = common; }
}

}  // namespace

extern const opcode_entry convert_opcodes[] = {{"cvt", bind_cvt}, {{}, nullptr}};

}  // namespace emulator
