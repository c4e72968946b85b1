// Floating-point formats of 16 bits and fewer, on bits: exact to double, and from double with a rounding.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace emulator {

enum class rounding : std::uint8_t { nearest_even, zero, down, up, nearest_away };

/// sign, Exponent bits, Mantissa bits; IEEE infinities and NaN.
template <int Exponent, int Mantissa>
struct small_float {
    static constexpr int bias = (1 << (Exponent - 1)) - 1;
    static constexpr std::uint32_t infinity = ((1u << Exponent) - 1) << Mantissa;
    static constexpr std::uint32_t sign_bit = 1u << (Exponent + Mantissa);
    static constexpr std::uint32_t nan = sign_bit - 1;  ///< PTX's canonical one: all ones

    static double decode(std::uint32_t bits)
    {
        const int exponent = static_cast<int>(bits >> Mantissa) & ((1 << Exponent) - 1);
        const std::uint32_t fraction = bits & ((1u << Mantissa) - 1);
        const double sign = (bits & sign_bit) != 0 ? -1.0 : 1.0;
        if (exponent == (1 << Exponent) - 1) { return fraction != 0 ? std::nan("") : sign * INFINITY; }
        if (exponent == 0) { return sign * std::ldexp(static_cast<double>(fraction), 1 - bias - Mantissa); }
        return sign * std::ldexp(static_cast<double>(fraction | (1u << Mantissa)), exponent - bias - Mantissa);
    }

    static std::uint32_t encode(double x, rounding mode)
    {
        if (std::isnan(x)) { return nan; }
        const std::uint32_t sign = std::signbit(x) ? sign_bit : 0;
        const double magnitude = std::fabs(x);
        if (std::isinf(magnitude)) { return sign | infinity; }
        if (magnitude == 0) { return sign; }
        int exponent = 0;
        std::frexp(magnitude, &exponent);  // magnitude is in [2^(exponent-1), 2^exponent)
        const int lowest = 1 - bias;
        const int unit = (exponent - 1 < lowest ? lowest : exponent - 1) - Mantissa;
        const double scaled = std::ldexp(magnitude, -unit);  // exact
        double whole = std::floor(scaled);
        const double rest = scaled - whole;
        const bool odd = std::fmod(whole, 2.0) != 0;
        const bool up = mode == rounding::nearest_even   ? rest > 0.5 || (rest == 0.5 && odd)
                        : mode == rounding::nearest_away ? rest >= 0.5
                        : mode == rounding::zero         ? false
                        : mode == rounding::up           ? sign == 0 && rest > 0
                                                         : sign != 0 && rest > 0;
        whole += up ? 1 : 0;
        // A carry into the next exponent comes out right, as the fields are adjacent.
        const auto fraction = static_cast<std::uint64_t>(whole);
        const std::uint64_t biased = unit + Mantissa == lowest && fraction < (1u << Mantissa)
                                         ? 0
                                         : static_cast<std::uint64_t>(unit + Mantissa + bias);
        const std::uint64_t bits = biased == 0 ? fraction : (biased << Mantissa) + fraction - (1u << Mantissa);
        if (bits < infinity) { return sign | static_cast<std::uint32_t>(bits); }
        const bool overflows_to_infinity = mode == rounding::nearest_even || mode == rounding::nearest_away ||
                                           (mode == rounding::up && sign == 0) || (mode == rounding::down && sign != 0);
        return sign | (overflows_to_infinity ? infinity : infinity - 1);
    }
};

using f16_format = small_float<5, 10>;
using bf16_format = small_float<8, 7>;

inline float half_to_float(std::uint16_t bits)
{
#ifdef __F16C__
    return _cvtsh_ss(bits);
#else
    return static_cast<float>(f16_format::decode(bits));
#endif
}

inline std::uint16_t float_to_half(float x)
{
#ifdef __F16C__
    return x != x ? std::uint16_t{0x7fff} : static_cast<std::uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
#else
    return static_cast<std::uint16_t>(f16_format::encode(x, rounding::nearest_even));
#endif
}

inline float bfloat_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline std::uint16_t float_to_bfloat(float x)
{
    if (x != x) { return 0x7fff; }
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// a * b + c, whose last bit is set when the sum is not exact: rounding it again to a shorter format is then right.
/// The product must be exact in double.
inline double fma_to_odd(double a, double b, double c)
{
    const double product = a * b;
    const double sum = product + c;
    if (!std::isfinite(sum)) { return sum; }
    const double back = sum - product;
    const double error = (product - (sum - back)) + (c - back);
    auto bits = std::bit_cast<std::uint64_t>(sum);
    if (error != 0 && (bits & 1) == 0) {
        // Towards the error's side the odd neighbour lies, on the other side the one below.
        bits += (error > 0) == (sum > 0) ? 1 : -1;
    }
    return std::bit_cast<double>(bits);
}

}  // namespace emulator
