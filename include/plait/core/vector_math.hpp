// Elementary functions for loops: the float ones have no branch and no call, so that loops over them vectorise.
#pragma once

#include <plait/core/macros.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

/// Float exp, log, tanh and erf give the same bits on every host and at every vector width, as each product that a sum
/// follows is rounded on its own. Largest errors over all floats: exp 0.99 ulp, log 0.87, tanh 1.34, erf 1.31.
/// Coefficients are minimax fits (of the relative error of the result), rounded to float one after another.
/// NaN, infinities, zeros and denormals follow IEEE 754. Double functions are the standard library's. On the device all
/// are CUDA's. -ffast-math voids these promises. sqrt and rsqrt vectorise under GCC with -fno-math-errno only.
namespace plait::math {

namespace detail {

using plait::detail::choose;
/// Types without a bitwise choice: plain x86-64 has no 64-bit comparison to make the mask of.
template <class T>
PLAIT_INLINE constexpr T choose(bool condition, T a, T b)
{
    return condition ? a : b;
}

PLAIT_INLINE std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
PLAIT_INLINE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
PLAIT_INLINE float magnitude_of(float x) { return float_of(bits_of(x) & 0x7fff'ffffU); }
PLAIT_INLINE float with_sign_of(float magnitude, float x)
{
    return float_of(bits_of(magnitude) | (bits_of(x) & 0x8000'0000U));
}

/// c0 + c1 x + c2 x^2 + ..., by Horner's rule.
PLAIT_INLINE float polynomial(float, float c0) { return c0; }
template <std::same_as<float>... Rest>
PLAIT_INLINE float polynomial(float x, float c0, Rest... rest)
{
    PLAIT_NO_CONTRACT
    return rounded(x * polynomial(x, rest...)) + c0;
}

// Named here, because device code may use constants but not call the standard library's functions for them.
inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// ln 2 in two parts: the first has 16 bits, so that its products with exponents are exact.
inline constexpr float ln2_high = 0x1.62e4p-1F;
inline constexpr float ln2_low = 0x1.7f7d1cp-20F;

/// e^x = 2^n e^r with n = round(x / ln 2) and r = x - n ln 2, |r| <= ln(2) / 2 (Cody and Waite's reduction);
/// e^r = 1 + r + r^2 P(r). 2^n is applied in two factors, so that neither leaves the range when the result does not.
PLAIT_INLINE float exp_by_polynomial(float x)
{
    PLAIT_NO_CONTRACT
    const float low = choose(x < -104.5F, -104.5F, x);  // e^-104.5 rounds to 0
    const float clamped = choose(low > 89.0F, 89.0F, low);  // e^89 overflows; a NaN passes
    constexpr float shift = 0x1.8p23F;  // floats around it are 1 apart: adding it rounds to a whole number
    const float shifted = rounded(clamped * 0x1.715476p+0F) + shift;
    const float n = shifted - shift;
    const float r = (clamped - rounded(n * ln2_high)) - rounded(n * ln2_low);
    const float p = polynomial(r, 0x1.fffffcp-2F, 0x1.55549p-3F, 0x1.55589ep-5F, 0x1.123ac6p-7F, 0x1.6a623p-10F);
    const float y = (rounded(r * r * p) + r) + 1.0F;
    // The low bits of `shifted` are n; as bits, so that a NaN needs no conversion. The signed shift halves it.
    const std::uint32_t exponent = bits_of(shifted) - bits_of(shift);
    const auto half = static_cast<std::uint32_t>(static_cast<std::int32_t>(exponent) >> 1);
    return y * float_of((half + 127U) << 23U) * float_of((exponent - half + 127U) << 23U);
}

/// log(x) = e ln 2 + log(1 + f) with x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2));
/// log(1 + f) = f - f^2 / 2 + f^3 Q(f).
PLAIT_INLINE float log_by_polynomial(float x)
{
    PLAIT_NO_CONTRACT
    const auto bits = static_cast<std::int32_t>(bits_of(x));
    const bool denormal = bits < 0x0080'0000;  // zeros and negative numbers too: replaced below
    const std::uint32_t normal = choose(denormal, bits_of(x * 0x1p23F), bits_of(x));
    constexpr std::uint32_t sqrt_half = 0x3f35'04f3U;
    const std::uint32_t distance = normal - sqrt_half;
    const std::int32_t exponent = (static_cast<std::int32_t>(distance) >> 23) - (denormal ? 23 : 0);
    const auto e = static_cast<float>(exponent);
    const float f = float_of((distance & 0x007f'ffffU) + sqrt_half) - 1.0F;
    const float f2 = f * f;
    const float q = polynomial(f, 0x1.555554p-2F, -0x1.000228p-2F, 0x1.99a022p-3F, -0x1.547218p-3F, 0x1.22d88cp-3F,
                               -0x1.0d8598p-3F, 0x1.056336p-3F, -0x1.38c268p-4F);
    const float tail = (rounded(f2 * f * q) + rounded(e * ln2_low)) - rounded(0.5F * f2);
    const float y = rounded(e * ln2_high) + (f + tail);
    const float above = choose(bits >= 0x7f80'0000, x + x, y);  // infinity, NaN
    return choose((bits & 0x7fff'ffff) == 0, -infinity, choose(bits < 0, nan, above));
}

/// tanh(x) = x + x^3 P(x^2) below 0.625, 1 - 2 / (e^2x + 1) above, odd.
PLAIT_INLINE float tanh_by_polynomial(float x)
{
    PLAIT_NO_CONTRACT
    const float a = magnitude_of(x);
    const float s = a * a;
    const float p = polynomial(s, -0x1.555532p-2F, 0x1.1106fep-3F, -0x1.b83792p-5F, 0x1.520a3ap-6F, -0x1.756d14p-8F);
    const float small = rounded(a * s * p) + a;
    const float large = 1.0F - 2.0F / (exp_by_polynomial(2.0F * a) + 1.0F);
    return with_sign_of(choose(a < 0.625F, small, large), x);
}

/// erf(x) = x + x P(x^2) below 1, 1 - e^Q(x) above with Q = log(erfc), odd; 1 from 3.92 on.
PLAIT_INLINE float erf_by_polynomial(float x)
{
    PLAIT_NO_CONTRACT
    const float a = magnitude_of(x);
    const float p = polynomial(a * a, 0x1.06eba8p-3F, -0x1.81273ep-2F, 0x1.ce2cecp-4F, -0x1.b7f7fp-6F,
                               0x1.53fbd8p-8F, -0x1.a3ac5ep-11F, 0x1.489c72p-14F);
    const float small = rounded(a * p) + a;
    const float clamped = choose(a > 3.95F, 3.95F, a);
    const float q = polynomial(clamped, -0x1.72a716p-12F, -0x1.2085c2p+0F, -0x1.46c55p-1F, -0x1.a60becp-4F,
                               0x1.6544dcp-6F, -0x1.81527p-9F, 0x1.8536d8p-13F);
    const float large = 1.0F - exp_by_polynomial(q);
    return with_sign_of(choose(a < 1.0F, small, large), x);
}

}  // namespace detail

#if defined(__CUDA_ARCH__)
PLAIT_INLINE float exp(float x) { return ::expf(x); }
PLAIT_INLINE float log(float x) { return ::logf(x); }
PLAIT_INLINE float tanh(float x) { return ::tanhf(x); }
PLAIT_INLINE float erf(float x) { return ::erff(x); }
PLAIT_INLINE float sqrt(float x) { return ::sqrtf(x); }
PLAIT_INLINE float rsqrt(float x) { return ::rsqrtf(x); }
PLAIT_INLINE float pow(float x, float y) { return ::powf(x, y); }
PLAIT_INLINE double rsqrt(double x) { return ::rsqrt(x); }
#else
/// e to the power x.
PLAIT_INLINE float exp(float x) { return detail::exp_by_polynomial(x); }
/// The natural logarithm: -infinity at 0, NaN below.
PLAIT_INLINE float log(float x) { return detail::log_by_polynomial(x); }
/// The hyperbolic tangent.
PLAIT_INLINE float tanh(float x) { return detail::tanh_by_polynomial(x); }
/// The error function.
PLAIT_INLINE float erf(float x) { return detail::erf_by_polynomial(x); }
/// The square root, correctly rounded.
PLAIT_INLINE float sqrt(float x) { return std::sqrt(x); }
/// 1 / sqrt(x), both operations correctly rounded.
PLAIT_INLINE float rsqrt(float x) { return 1.0F / std::sqrt(x); }
/// x to the power y: the standard library's, a call for each element.
PLAIT_INLINE float pow(float x, float y) { return std::pow(x, y); }
PLAIT_INLINE double rsqrt(double x) { return 1.0 / std::sqrt(x); }
#endif

PLAIT_INLINE double exp(double x) { return std::exp(x); }
PLAIT_INLINE double log(double x) { return std::log(x); }
PLAIT_INLINE double tanh(double x) { return std::tanh(x); }
PLAIT_INLINE double erf(double x) { return std::erf(x); }
PLAIT_INLINE double sqrt(double x) { return std::sqrt(x); }
PLAIT_INLINE double pow(double x, double y) { return std::pow(x, y); }

/// The absolute value; the lowest integer stays itself.
PLAIT_INLINE float abs(float x) { return std::fabs(x); }
PLAIT_INLINE double abs(double x) { return std::fabs(x); }
template <std::signed_integral T>
PLAIT_INLINE constexpr T abs(T x)
{
    using word = std::make_unsigned_t<T>;
    return x < 0 ? static_cast<T>(static_cast<word>(word{0} - static_cast<word>(x))) : x;
}

/// The smaller and the larger of two numbers. A NaN in either place gives NaN; of two equal numbers (-0 and 0) the
/// second is taken.
template <class T>
    requires std::floating_point<T> || std::integral<T>
PLAIT_INLINE constexpr T min(T a, T b)
{
    return detail::choose((a < b) | (a != a), a, b);
}
template <class T>
    requires std::floating_point<T> || std::integral<T>
PLAIT_INLINE constexpr T max(T a, T b)
{
    return detail::choose((a > b) | (a != a), a, b);
}

}  // namespace plait::math
