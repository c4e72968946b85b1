// f16, bf16 and their pairs, exhaustively where one operand has 16 bits, against the host functions of cuda_fp16.h and
// cuda_bf16.h and against exact arithmetic.
#include "programs/instruction.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using u16 = unsigned short;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

DEFINE_1(f16_to_f32, "cvt.f32.f16 %0, %1;", float, "f", u16, "h")
DEFINE_1(bf16_to_f32, "{.reg .b32 t; cvt.u32.u16 t, %1; shl.b32 t, t, 16; mov.b32 %0, t;}", float, "f", u16, "h")
DEFINE_1(f32_to_f16_rn, "cvt.rn.f16.f32 %0, %1;", u16, "h", float, "f")
DEFINE_1(f32_to_f16_rz, "cvt.rz.f16.f32 %0, %1;", u16, "h", float, "f")
DEFINE_1(f32_to_f16_rm, "cvt.rm.f16.f32 %0, %1;", u16, "h", float, "f")
DEFINE_1(f32_to_f16_rp, "cvt.rp.f16.f32 %0, %1;", u16, "h", float, "f")
DEFINE_1(f32_to_bf16_rn, "cvt.rn.bf16.f32 %0, %1;", u16, "h", float, "f")
DEFINE_1(f32_to_bf16_rz, "cvt.rz.bf16.f32 %0, %1;", u16, "h", float, "f")
DEFINE_1(f64_to_f16, "cvt.rn.f16.f64 %0, %1;", u16, "h", double, "d")
DEFINE_1(f16_to_s32, "cvt.rni.s32.f16 %0, %1;", int, "r", u16, "h")
DEFINE_1(s32_to_f16, "cvt.rn.f16.s32 %0, %1;", u16, "h", int, "r")
DEFINE_1(neg_f16, "neg.f16 %0, %1;", u16, "h", u16, "h")
DEFINE_1(abs_bf16, "abs.bf16 %0, %1;", u16, "h", u16, "h")
DEFINE_1(ex2_f16, "ex2.approx.f16 %0, %1;", u16, "h", u16, "h")
DEFINE_2(add_f16, "add.f16 %0, %1, %2;", u16, "h", u16, "h")
DEFINE_2(sub_f16, "sub.f16 %0, %1, %2;", u16, "h", u16, "h")
DEFINE_2(mul_f16, "mul.f16 %0, %1, %2;", u16, "h", u16, "h")
DEFINE_2(min_f16, "min.f16 %0, %1, %2;", u16, "h", u16, "h")
DEFINE_2(max_bf16, "max.bf16 %0, %1, %2;", u16, "h", u16, "h")
DEFINE_2(max_nan_f16, "max.NaN.f16 %0, %1, %2;", u16, "h", u16, "h")
DEFINE_3(fma_f16, "fma.rn.f16 %0, %1, %2, %3;", u16, "h", u16, "h")
DEFINE_3(fma_bf16, "fma.rn.bf16 %0, %1, %2, %3;", u16, "h", u16, "h")
DEFINE_3(fma_relu_f16, "fma.rn.relu.f16 %0, %1, %2, %3;", u16, "h", u16, "h")
DEFINE_2(add_f16x2, "add.f16x2 %0, %1, %2;", u32, "r", u32, "r")
DEFINE_3(fma_bf16x2, "fma.rn.bf16x2 %0, %1, %2, %3;", u32, "r", u32, "r")
DEFINE_2(pack_f16, "cvt.rn.f16x2.f32 %0, %1, %2;", u32, "r", float, "f")
DEFINE_2(lt_f16, "{.reg .pred p; setp.lt.f16 p, %1, %2; selp.u32 %0, 1, 0, p;}", u32, "r", u16, "h")

std::vector<u16> all_halves()
{
    std::vector<u16> all;
    for (u32 k = 0; k < 65536; ++k) { all.push_back(static_cast<u16>(k)); }
    return all;
}

std::vector<u16> some_halves()
{
    std::vector<u16> some;
    for (u32 k = 0; k < 65536; k += 2017) { some.push_back(static_cast<u16>(k)); }
    for (u16 x : {0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3f80,
                  0x7f80, 0x7f7f}) {
        some.push_back(x);
    }
    return some;
}

double f16(u16 x) { return static_cast<double>(__half2float(__half(__half_raw{x}))); }
double bf16(u16 x) { return static_cast<double>(__bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{x}))); }
u16 bits(__half h) { return static_cast<__half_raw>(h).x; }
u16 bits(__nv_bfloat16 h) { return static_cast<__nv_bfloat16_raw>(h).x; }

/// Rounds a long double, in which sums and products of 16-bit numbers are exact, by search among all numbers.
template <class Decode>
u16 nearest(long double x, Decode decode, u16 infinity)
{
    if (x != x) { return 0x7fff; }
    const u16 sign = std::signbit(x) ? 0x8000 : 0;
    const long double m = fabsl(x);
    u16 low = 0, high = infinity;  // decode(low) <= m; positive numbers are ordered as their bits are
    while (high - low > 1) {
        const u16 middle = static_cast<u16>((low + high) / 2);
        (static_cast<long double>(decode(middle)) <= m ? low : high) = middle;
    }
    const long double below = decode(low);
    // The step beyond the largest number is as large as the one before it.
    const long double above = high == infinity
                                  ? below + (below - static_cast<long double>(decode(static_cast<u16>(low - 1))))
                                  : static_cast<long double>(decode(high));
    if (std::isinf(static_cast<double>(m))) { return static_cast<u16>(sign | infinity); }
    const bool up = m - below > above - m || (m - below == above - m && (low & 1) != 0);
    return static_cast<u16>(sign | (up ? high : low));
}

u16 to_f16(long double x) { return nearest(x, f16, 0x7c00); }
u16 to_bf16(long double x) { return nearest(x, bf16, 0x7f80); }

bool nan_bits(u16 x, u16 exponent) { return (x & 0x7fff) > exponent; }

/// Equal, or both NaN.
u16 canonical(u16 x, u16 exponent) { return nan_bits(x, exponent) ? 0x7fff : x; }

void test_conversions()
{
    TEST_1(f16_to_f32, all_halves(), [](u16 x) { return static_cast<float>(f16(x)); });
    TEST_1(bf16_to_f32, all_halves(), [](u16 x) { return static_cast<float>(bf16(x)); });
    TEST_1(f16_to_s32, all_halves(), [](u16 x) {
        const double v = f16(x);
        return v != v ? 0 : std::isinf(v) ? (v > 0 ? INT32_MAX : INT32_MIN) : static_cast<int>(std::nearbyint(v));
    });
    std::vector<float> f = check::floats();
    for (u32 k = 0; k < 65536; k += 7) { f.push_back(check::of_bits<float>(u64{k} << 16 | (k * 2654435761u >> 16))); }
    for (u32 k = 0; k < 65536; k += 5) {  // halfway between two f16
        f.push_back(static_cast<float>((f16(static_cast<u16>(k)) + f16(static_cast<u16>(k + 1))) / 2));
    }
    TEST_1(f32_to_f16_rn, f, [](float x) { return canonical(bits(__float2half_rn(x)), 0x7c00); });
    TEST_1(f32_to_f16_rz, f, [](float x) { return canonical(bits(__float2half_rz(x)), 0x7c00); });
    TEST_1(f32_to_f16_rm, f, [](float x) { return canonical(bits(__float2half_rd(x)), 0x7c00); });
    TEST_1(f32_to_f16_rp, f, [](float x) { return canonical(bits(__float2half_ru(x)), 0x7c00); });
    TEST_1(f32_to_bf16_rn, f, [](float x) { return canonical(bits(__float2bfloat16_rn(x)), 0x7f80); });
    TEST_1(f32_to_bf16_rz, f, [](float x) { return canonical(bits(__float2bfloat16_rz(x)), 0x7f80); });
    TEST_1(f64_to_f16, check::doubles(), [](double x) { return canonical(bits(__double2half(x)), 0x7c00); });
    std::vector<int> n;
    for (u32 x : check::words()) { n.push_back(static_cast<int>(x)); }
    TEST_1(s32_to_f16, n, [](int x) { return to_f16(x); });
    TEST_2(pack_f16, check::floats(), [](float a, float b) {
        return u32{canonical(bits(__float2half_rn(a)), 0x7c00)} << 16 | canonical(bits(__float2half_rn(b)), 0x7c00);
    });
}

void test_arithmetic()
{
    TEST_1(neg_f16, all_halves(), [](u16 x) { return static_cast<u16>(x ^ 0x8000); });
    TEST_1(abs_bf16, all_halves(), [](u16 x) { return static_cast<u16>(x & 0x7fff); });
    TEST_1(ex2_f16, all_halves(), [](u16 x) { return to_f16(exp2l(f16(x))); });
    const auto h = some_halves();
    TEST_2(add_f16, h, [](u16 a, u16 b) { return to_f16(static_cast<long double>(f16(a)) + f16(b)); });
    TEST_2(sub_f16, h, [](u16 a, u16 b) { return to_f16(static_cast<long double>(f16(a)) - f16(b)); });
    TEST_2(mul_f16, h, [](u16 a, u16 b) { return to_f16(static_cast<long double>(f16(a)) * f16(b)); });
    TEST_2(min_f16, h, [](u16 a, u16 b) {
        if (nan_bits(a, 0x7c00) || nan_bits(b, 0x7c00)) {
            return nan_bits(a, 0x7c00) && nan_bits(b, 0x7c00) ? u16{0x7fff} : nan_bits(a, 0x7c00) ? b : a;
        }
        return f16(a) == f16(b) ? ((a & 0x8000) != 0 ? a : b) : f16(a) < f16(b) ? a : b;
    });
    TEST_2(max_bf16, h, [](u16 a, u16 b) {
        if (nan_bits(a, 0x7f80) || nan_bits(b, 0x7f80)) {
            return nan_bits(a, 0x7f80) && nan_bits(b, 0x7f80) ? u16{0x7fff} : nan_bits(a, 0x7f80) ? b : a;
        }
        return bf16(a) == bf16(b) ? ((a & 0x8000) != 0 ? b : a) : bf16(a) > bf16(b) ? a : b;
    });
    TEST_2(max_nan_f16, h, [](u16 a, u16 b) {
        if (nan_bits(a, 0x7c00) || nan_bits(b, 0x7c00)) { return u16{0x7fff}; }
        return f16(a) == f16(b) ? ((a & 0x8000) != 0 ? b : a) : f16(a) > f16(b) ? a : b;
    });
    TEST_2(lt_f16, h, [](u16 a, u16 b) { return u32{f16(a) < f16(b)}; });
    // The product is exact in long double; what the sum loses nudges it to its side, which keeps ties apart.
    const auto fused = [](long double product, long double c) {
        const long double sum = product + c;
        const long double back = sum - product;
        const long double rest = (product - (sum - back)) + (c - back);
        return rest > 0 ? nextafterl(sum, INFINITY) : rest < 0 ? nextafterl(sum, -INFINITY) : sum;
    };
    const auto fma16 = [=](u16 a, u16 b, u16 c) {
        return to_f16(fused(static_cast<long double>(f16(a)) * f16(b), f16(c)));
    };
    const auto fmab = [=](u16 a, u16 b, u16 c) {
        return to_bf16(fused(static_cast<long double>(bf16(a)) * bf16(b), bf16(c)));
    };
    TEST_3(fma_f16, h, fma16);
    TEST_3(fma_bf16, h, fmab);
    TEST_3(fma_relu_f16, h, [&](u16 a, u16 b, u16 c) {
        const u16 r = fma16(a, b, c);
        return (r & 0x8000) != 0 ? u16{0} : r;
    });
    std::vector<u32> pairs;
    for (std::size_t k = 0; k + 7 < h.size(); k += 2) { pairs.push_back(u32{h[k]} << 16 | h[k + 7]); }
    TEST_2(add_f16x2, pairs, [](u32 a, u32 b) {
        const auto add = [](u32 x, u32 y) {
            return u32{to_f16(static_cast<long double>(f16(static_cast<u16>(x))) + f16(static_cast<u16>(y)))};
        };
        return add(a, b) | add(a >> 16, b >> 16) << 16;
    });
    TEST_3(fma_bf16x2, pairs, [&](u32 a, u32 b, u32 c) {
        const auto f = [&](int s) {
            return u32{fmab(static_cast<u16>(a >> s), static_cast<u16>(b >> s), static_cast<u16>(c >> s))};
        };
        return f(0) | f(16) << 16;
    });
}

int main()
{
    test_conversions();
    test_arithmetic();
    CHECK(emulator_report_count() == 0);
    return check::result();
}
