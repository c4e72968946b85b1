// IEEE 754 half precision as a storage type: 1 sign bit, 5 exponent bits, 10 mantissa bits.
#pragma once

#include <plait/core/macros.hpp>

#include <cstdint>

namespace plait {

namespace detail {

/// The float of a half's bits. A denormal half is its mantissa times 2^-24; any other gets its exponent moved.
PLAIT_INLINE constexpr float float_of_half(std::uint16_t half)
{
    const auto magnitude = static_cast<std::int32_t>(half & 0x7fffU);
    const std::uint32_t denormal = __builtin_bit_cast(std::uint32_t, static_cast<float>(magnitude) * 0x1p-24F);
    const std::uint32_t moved = (static_cast<std::uint32_t>(magnitude) << 13U) + (112U << 23U);
    const std::uint32_t top = choose(magnitude >= 0x7c00, 112U << 23U, 0U);       // infinity and NaN: exponent 255
    const std::uint32_t quiet = choose(magnitude > 0x7c00, 0x0040'0000U, 0U);     // a signalling NaN turns quiet
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    return __builtin_bit_cast(float, choose(magnitude < 0x0400, denormal, moved + top) | quiet | sign);
}

/// The half nearest to a float, ties to even, as bits. With 2^e at or below the value (e at least -14, where denormals
/// begin), halves are 2^(e-10) apart, which is the spacing of floats at 2^(e+13): adding that number rounds, and leaves
/// the value in units of 2^(e-10) in the low bits of the sum.
PLAIT_INLINE constexpr std::uint16_t half_of_float(float value)
{
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    const auto magnitude = static_cast<std::int32_t>(bits & 0x7fff'ffffU);
    const std::int32_t clamped = magnitude < 0x4780'0000 ? magnitude : 0x4780'0000;  // 2^16 becomes infinity
    const std::int32_t own_exponent = clamped & 0x7f80'0000;
    const std::int32_t exponent = own_exponent > 0x3880'0000 ? own_exponent : 0x3880'0000;  // 2^-14
    const std::int32_t step = exponent + (13 << 23);
    const float sum = __builtin_bit_cast(float, clamped) + __builtin_bit_cast(float, step);
    const std::int32_t units = __builtin_bit_cast(std::int32_t, sum) - step;  // 1024 to 2048; less if denormal
    const auto number = static_cast<std::uint32_t>((exponent >> 13) - (113 << 10) + units);
    const std::uint32_t nan = 0x7e00U | ((bits >> 13U) & 0x3ffU);
    return static_cast<std::uint16_t>(choose(magnitude > 0x7f80'0000, nan, number) | ((bits >> 16U) & 0x8000U));
}

}  // namespace detail

/// A half-precision number. It stores; arithmetic is done in float. Conversions are explicit, round to nearest with
/// ties to even, go to infinity from 65520 on, keep denormals, infinities and the sign of zero, and make a NaN quiet.
/// A double passes through float first. On the device the hardware converts (a NaN loses its payload there).
struct f16 {
    std::uint16_t bits;

    f16() = default;

    PLAIT_INLINE explicit constexpr f16(float value) : bits(convert(value)) {}

    /// The number whose IEEE representation is `bits`.
    PLAIT_INLINE static constexpr f16 from_bits(std::uint16_t bits)
    {
        f16 result(0.0F);
        result.bits = bits;
        return result;
    }

    PLAIT_INLINE explicit constexpr operator float() const
    {
#if defined(__CUDA_ARCH__)
        if (!__builtin_is_constant_evaluated()) {
            float value;
            asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
            return value;
        }
#endif
        return detail::float_of_half(bits);
    }

    /// Equality of the numbers: -0 equals 0, a NaN equals nothing.
    PLAIT_INLINE friend constexpr bool operator==(f16 a, f16 b)
    {
        return static_cast<float>(a) == static_cast<float>(b);
    }

private:
    PLAIT_INLINE static constexpr std::uint16_t convert(float value)
    {
#if defined(__CUDA_ARCH__)
        if (!__builtin_is_constant_evaluated()) {
            std::uint16_t half;
            asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
            return half;
        }
#endif
        return detail::half_of_float(value);
    }
};

}  // namespace plait
