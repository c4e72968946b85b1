// f16, bf16 and their pairs (PTX ISA, "Half Precision Floating Point Instructions"): computed exactly or to odd in
// double precision, and rounded once.
#include "../numeric/small_float.hpp"
#include "lanewise.hpp"

namespace emulator {
namespace {

struct f16_number {
    static double decode(std::uint16_t bits) { return half_to_float(bits); }
    static std::uint16_t encode(double x)
    {
        return static_cast<std::uint16_t>(f16_format::encode(x, rounding::nearest_even));
    }
    static bool exact_in_float(double x) { return static_cast<double>(static_cast<float>(x)) == x; }
    static std::uint16_t encode_fast(double x)
    {
        return exact_in_float(x) ? float_to_half(static_cast<float>(x)) : encode(x);
    }
    static constexpr std::uint16_t exponent_mask = 0x7c00;
};
struct bf16_number {
    static double decode(std::uint16_t bits) { return bfloat_to_float(bits); }
    static std::uint16_t encode_fast(double x)
    {
        if (static_cast<double>(static_cast<float>(x)) == x || x != x) {
            return float_to_bfloat(static_cast<float>(x));
        }
        return static_cast<std::uint16_t>(bf16_format::encode(x, rounding::nearest_even));
    }
    static constexpr std::uint16_t exponent_mask = 0x7f80;
};

template <class F>
std::uint16_t flush_half(std::uint16_t x)
{
    return (x & F::exponent_mask) == 0 ? static_cast<std::uint16_t>(x & 0x8000) : x;
}

enum operation : std::uint8_t { op_add, op_sub, op_mul, op_fma, op_min, op_max, op_neg, op_abs, op_ex2, op_tanh };
enum flag : std::uint8_t { flag_ftz = 1, flag_sat = 2, flag_relu = 4, flag_nan = 8 };

template <class F>
std::uint16_t extremum(std::uint16_t a, std::uint16_t b, bool want_max, bool nan)
{
    const double x = F::decode(a);
    const double y = F::decode(b);
    if (x != x || y != y) {
        if (nan || (x != x && y != y)) { return 0x7fff; }
        return x != x ? b : a;
    }
    if (x == y) { return ((a & 0x8000) != 0) != want_max ? a : b; }
    return (x < y) != want_max ? a : b;
}

template <class F>
std::uint16_t compute(operation op, std::uint8_t flags, std::uint16_t a, std::uint16_t b, std::uint16_t c)
{
    if ((flags & flag_ftz) != 0) { a = flush_half<F>(a), b = flush_half<F>(b), c = flush_half<F>(c); }
    std::uint16_t r = 0;
    switch (op) {
    case op_neg: return static_cast<std::uint16_t>(a ^ 0x8000);
    case op_abs: return static_cast<std::uint16_t>(a & 0x7fff);
    case op_min: r = extremum<F>(a, b, false, (flags & flag_nan) != 0); break;
    case op_max: r = extremum<F>(a, b, true, (flags & flag_nan) != 0); break;
    case op_add: r = F::encode_fast(fma_to_odd(F::decode(a), 1.0, F::decode(b))); break;
    case op_sub: r = F::encode_fast(fma_to_odd(F::decode(a), 1.0, -F::decode(b))); break;
    case op_mul: r = F::encode_fast(F::decode(a) * F::decode(b)); break;
    case op_fma: r = F::encode_fast(fma_to_odd(F::decode(a), F::decode(b), F::decode(c))); break;
    case op_ex2: r = F::encode_fast(std::exp2(F::decode(a))); break;
    case op_tanh: r = F::encode_fast(std::tanh(F::decode(a))); break;
    }
    if ((flags & flag_ftz) != 0) { r = flush_half<F>(r); }
    const double value = F::decode(r);
    if ((flags & flag_sat) != 0) { r = value > 0 ? (value < 1 ? r : F::encode_fast(1.0)) : std::uint16_t{0}; }
    if ((flags & flag_relu) != 0 && !(value > 0) && value == value) { r = 0; }
    return r;
}

template <class F, unsigned Arity, bool Packed>
void half(context& c, const instruction& i)
{
    using bits = std::conditional_t<Packed, std::uint32_t, std::uint16_t>;
    auto* d = destination<bits>(c, i.args[0]);
    const auto* a = source<bits>(c, i.args[1]);
    const auto* b = source<bits>(c, i.args[Arity > 1 ? 2 : 1]);
    const auto* e = source<bits>(c, i.args[Arity > 2 ? 3 : 1]);
    const auto op = static_cast<operation>(i.variant);
    for_lanes(c.mask, [&](unsigned l) {
        std::uint32_t r = compute<F>(op, i.variant2, static_cast<std::uint16_t>(a[l]), static_cast<std::uint16_t>(b[l]),
                                     static_cast<std::uint16_t>(e[l]));
        if constexpr (Packed) {
            r |= std::uint32_t{compute<F>(op, i.variant2, static_cast<std::uint16_t>(a[l] >> 16),
                                          static_cast<std::uint16_t>(b[l] >> 16),
                                          static_cast<std::uint16_t>(e[l] >> 16))}
                 << 16;
        }
        d[l] = r;
    });
}

template <unsigned Arity>
void bind_arity(binding& b, type t)
{
    // bf16 values live in b16 or b32 registers, as f16 ones do.
    const type storage = is_packed(t) ? type::b32 : type::b16;
    same_type_operands(b, storage, Arity + 1);
    b.out.type = t;
    b.out.execute = t == type::f16     ? &half<f16_number, Arity, false>
                    : t == type::f16x2 ? &half<f16_number, Arity, true>
                    : t == type::bf16  ? &half<bf16_number, Arity, false>
                                       : &half<bf16_number, Arity, true>;
}

}  // namespace

void bind_half_arithmetic(binding& b, type t)
{
    const auto& opcode = b.statement().opcode;
    constexpr std::string_view names[] = {"add", "sub", "mul", "fma", "min", "max", "neg", "abs", "ex2", "tanh"};
    int op = -1;
    for (int k = 0; k < 10; ++k) {
        if (names[k] == opcode) { op = k; }
    }
    if (op < 0 || t == type::tf32) { b.refuse("not implemented for this type"); }
    b.out.kind = instruction_class::f16;
    b.out.variant = static_cast<std::uint8_t>(op);
    b.has("rn");
    const bool takes_more = op <= op_fma;
    b.out.variant2 =
        static_cast<std::uint8_t>((b.has("ftz") ? flag_ftz : 0) | (takes_more && b.has("sat") ? flag_sat : 0) |
                                  (op == op_fma && b.has("relu") ? flag_relu : 0) |
                                  ((op == op_min || op == op_max) && b.has("NaN") ? flag_nan : 0));
    if (op == op_fma) { return bind_arity<3>(b, t); }
    if (op <= op_max) { return bind_arity<2>(b, t); }
    bind_arity<1>(b, t);
}

}  // namespace emulator
