// bfloat16 as a storage type: the upper half of a float (1 sign bit, 8 exponent bits, 7 mantissa bits).
#pragma once

#include <plait/core/macros.hpp>

#include <cstdint>

namespace plait {

/// A bfloat16 number. It stores; arithmetic is done in float. Conversions are explicit, round to nearest with ties to
/// even, go to infinity past the largest finite number, keep denormals, infinities and the sign of zero, and make a
/// NaN quiet (to float is exact: it keeps every bit). A double passes through float first. On the device the hardware
/// converts (a NaN loses its payload there).
struct bf16 {
    std::uint16_t bits;

    bf16() = default;

    PLAIT_INLINE explicit constexpr bf16(float value) : bits(convert(value)) {}

    /// The number whose representation is `bits`.
    PLAIT_INLINE static constexpr bf16 from_bits(std::uint16_t bits)
    {
        bf16 result(0.0F);
        result.bits = bits;
        return result;
    }

    PLAIT_INLINE explicit constexpr operator float() const
    {
        return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16U);
    }

    /// Equality of the numbers: -0 equals 0, a NaN equals nothing.
    PLAIT_INLINE friend constexpr bool operator==(bf16 a, bf16 b)
    {
        return static_cast<float>(a) == static_cast<float>(b);
    }

private:
    /// Adds just under half a unit, and one more if the kept part is odd, then drops 16 bits; without a branch, so that
    /// loops over it vectorise.
    PLAIT_INLINE static constexpr std::uint16_t convert(float value)
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        if (!__builtin_is_constant_evaluated()) {
            std::uint16_t half;
            asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
            return half;
        }
#endif
        const auto word = __builtin_bit_cast(std::uint32_t, value);
        const std::uint32_t rounded_up = (word + 0x7fffU + ((word >> 16U) & 1U)) >> 16U;
        const std::uint32_t nan = (word >> 16U) | 0x0040U;
        // Compared as signed: vector units before AVX-512 compare no unsigned integers.
        const bool is_nan = static_cast<std::int32_t>(word & 0x7fff'ffffU) > 0x7f80'0000;
        return static_cast<std::uint16_t>(detail::choose(is_nan, nan, rounded_up));
    }
};

}  // namespace plait
