// cvt between integers and floats: every rounding, saturation, and NaN.
#include "programs/instruction.hpp"

#include <cfenv>

using u32 = std::uint32_t;
using s32 = std::int32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;

DEFINE_1(s32_rzi, "cvt.rzi.s32.f32 %0, %1;", s32, "r", float, "f")
DEFINE_1(s32_rni, "cvt.rni.s32.f32 %0, %1;", s32, "r", float, "f")
DEFINE_1(s32_rmi, "cvt.rmi.s32.f32 %0, %1;", s32, "r", float, "f")
DEFINE_1(s32_rpi, "cvt.rpi.s32.f32 %0, %1;", s32, "r", float, "f")
DEFINE_1(u32_rzi, "cvt.rzi.u32.f32 %0, %1;", u32, "r", float, "f")
DEFINE_1(s64_rzi, "cvt.rzi.s64.f32 %0, %1;", s64, "l", float, "f")
DEFINE_1(u64_d, "cvt.rzi.u64.f64 %0, %1;", u64, "l", double, "d")
DEFINE_1(s32_d, "cvt.rni.s32.f64 %0, %1;", s32, "r", double, "d")
DEFINE_1(f_s32_rn, "cvt.rn.f32.s32 %0, %1;", float, "f", s32, "r")
DEFINE_1(f_s32_rz, "cvt.rz.f32.s32 %0, %1;", float, "f", s32, "r")
DEFINE_1(f_u64_rn, "cvt.rn.f32.u64 %0, %1;", float, "f", u64, "l")
DEFINE_1(f_u64_rp, "cvt.rp.f32.u64 %0, %1;", float, "f", u64, "l")
DEFINE_1(d_s64_rm, "cvt.rm.f64.s64 %0, %1;", double, "d", s64, "l")
DEFINE_1(f_d_rn, "cvt.rn.f32.f64 %0, %1;", float, "f", double, "d")
DEFINE_1(f_d_rz, "cvt.rz.f32.f64 %0, %1;", float, "f", double, "d")
DEFINE_1(f_d_rp, "cvt.rp.f32.f64 %0, %1;", float, "f", double, "d")
DEFINE_1(d_f, "cvt.f64.f32 %0, %1;", double, "d", float, "f")
DEFINE_1(f_rni, "cvt.rni.f32.f32 %0, %1;", float, "f", float, "f")
DEFINE_1(f_rmi, "cvt.rmi.f32.f32 %0, %1;", float, "f", float, "f")
DEFINE_1(f_sat, "cvt.sat.f32.f32 %0, %1;", float, "f", float, "f")
DEFINE_1(s8_s32, "cvt.s32.s8 %0, %1;", s32, "r", s32, "r")
DEFINE_1(u8_u32, "cvt.u32.u8 %0, %1;", s32, "r", s32, "r")
DEFINE_1(sat_s8, "cvt.sat.s8.s32 %0, %1;", s32, "r", s32, "r")
DEFINE_1(sat_u16, "cvt.sat.u16.s32 %0, %1;", s32, "r", s32, "r")
DEFINE_1(s64_s32, "cvt.s64.s32 %0, %1;", s64, "l", s32, "r")
DEFINE_1(tf32_rna, "cvt.rna.tf32.f32 %0, %1;", u32, "r", float, "f")

template <class I, class F>
I clamped(F x, I nan)
{
    if (x != x) { return nan; }
    if (x >= std::ldexp(F{1}, std::is_signed_v<I> ? 8 * sizeof(I) - 1 : 8 * sizeof(I))) {
        return std::numeric_limits<I>::max();
    }
    if (x <= static_cast<F>(std::numeric_limits<I>::min())) { return std::numeric_limits<I>::min(); }
    return static_cast<I>(x);
}

template <class R, class T>
R rounded(int mode, T x)
{
    std::fesetround(mode);
    const volatile T v = x;
    const volatile R r = static_cast<R>(v);
    std::fesetround(FE_TONEAREST);
    return r;
}

int main()
{
    auto f = check::floats();
    for (float x : {2147483648.0f, -2147483648.0f, 4294967296.0f, 9.3e18f, -9.3e18f, 0.5f, -0.5f, 2.5f, -2.5f, 3.5f}) {
        f.push_back(x);
    }
    TEST_1(s32_rzi, f, [](float x) { return clamped<s32>(std::trunc(x), 0); });
    TEST_1(s32_rni, f, [](float x) { return clamped<s32>(std::nearbyint(x), 0); });
    TEST_1(s32_rmi, f, [](float x) { return clamped<s32>(std::floor(x), 0); });
    TEST_1(s32_rpi, f, [](float x) { return clamped<s32>(std::ceil(x), 0); });
    TEST_1(u32_rzi, f, [](float x) { return clamped<u32>(std::trunc(x), 0); });
    TEST_1(s64_rzi, f, [](float x) { return clamped<s64>(std::trunc(x), INT64_MIN); });
    TEST_1(u64_d, check::doubles(), [](double x) { return clamped<u64>(std::trunc(x), u64{1} << 63); });
    TEST_1(s32_d, check::doubles(), [](double x) { return clamped<s32>(std::nearbyint(x), INT32_MIN); });
    std::vector<s32> n;
    std::vector<u64> l = check::long_words();
    std::vector<s64> sl;
    for (u32 x : check::words()) { n.push_back(static_cast<s32>(x)); }
    for (u64 x : l) { sl.push_back(static_cast<s64>(x)); }
    TEST_1(f_s32_rn, n, [](s32 x) { return static_cast<float>(x); });
    TEST_1(f_s32_rz, n, [](s32 x) { return rounded<float>(FE_TOWARDZERO, x); });
    TEST_1(f_u64_rn, l, [](u64 x) { return static_cast<float>(x); });
    TEST_1(f_u64_rp, l, [](u64 x) { return rounded<float>(FE_UPWARD, x); });
    TEST_1(d_s64_rm, sl, [](s64 x) { return rounded<double>(FE_DOWNWARD, x); });
    TEST_1(f_d_rn, check::doubles(), [](double x) { return static_cast<float>(x); });
    TEST_1(f_d_rz, check::doubles(), [](double x) { return rounded<float>(FE_TOWARDZERO, x); });
    TEST_1(f_d_rp, check::doubles(), [](double x) { return rounded<float>(FE_UPWARD, x); });
    TEST_1(d_f, f, [](float x) { return static_cast<double>(x); });
    TEST_1(f_rni, f, [](float x) { return std::nearbyint(x); });
    TEST_1(f_rmi, f, [](float x) { return std::floor(x); });
    TEST_1(f_sat, f, [](float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; });
    TEST_1(s8_s32, n, [](s32 x) { return s32{static_cast<signed char>(x)}; });
    TEST_1(u8_u32, n, [](s32 x) { return s32{static_cast<unsigned char>(x)}; });
    TEST_1(sat_s8, n, [](s32 x) { return x > 127 ? 127 : x < -128 ? -128 : x; });
    TEST_1(sat_u16, n, [](s32 x) { return x > 65535 ? 65535 : x < 0 ? 0 : x; });
    TEST_1(s64_s32, n, [](s32 x) { return s64{x}; });
    TEST_1(tf32_rna, (std::vector<float>{1.0f, 1.0005f, -3.14159f, 1.00048828125f, 0.1f}), [](float x) {
        const double unit = std::ldexp(1.0, std::ilogb(x) - 10);  // 10 bits of mantissa, ties away
        return static_cast<u32>(check::bits_of(static_cast<float>(std::round(static_cast<double>(x) / unit) * unit)));
    });
    CHECK(emulator_report_count() == 0);
    return check::result();
}
