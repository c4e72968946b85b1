// What the language has no word for: host-and-device functions, independent loops, uncontracted products, choices.
#pragma once

#include <concepts>
#include <cstdint>

/// PLAIT_HD: before a function that runs on the host and on the device.
/// PLAIT_INLINE: the same, always inlined, so that a loop over it vectorises.
#if defined(__CUDACC__)
#define PLAIT_HD __host__ __device__
#define PLAIT_INLINE __host__ __device__ __forceinline__
#else
#define PLAIT_HD
#define PLAIT_INLINE [[gnu::always_inline]] inline
#endif

/// PLAIT_INDEPENDENT_LOOP: the iterations of the loop right after it do not depend on each other.
/// PLAIT_NO_CONTRACT: first in a function body, its products and sums are rounded one by one. Only clang knows such a
/// mark (and ignores it under -ffp-contract=fast, which no caller of this library should pass); elsewhere `rounded`
/// does the work.
#if defined(__CUDA_ARCH__)
#define PLAIT_INDEPENDENT_LOOP
#define PLAIT_NO_CONTRACT
#elif defined(__clang__)
#define PLAIT_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#define PLAIT_NO_CONTRACT _Pragma("clang fp contract(off)")
#elif defined(__GNUC__)
#define PLAIT_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#define PLAIT_NO_CONTRACT
#else
#define PLAIT_INDEPENDENT_LOOP
#define PLAIT_NO_CONTRACT
#endif

namespace plait {

namespace detail {
/// GCC contracts a * b + c to one fma across statements and inlined functions, and it does so or not by the loop it is
/// in, which changes the last bit. __builtin_assoc_barrier holds it back in scalar code only: the vectoriser drops it.
/// A one that GCC cannot see through holds everywhere: a * b * one + c becomes fma(a * b, one, c), the rounded product
/// plus c, as fast as a product and a sum. It is a variable that nothing writes, but `used` tells even link-time
/// optimisation that something might; its own types tell loops that their stores do not, so it is loaded once.
/// In `for (i) out[i] = rounded(a[i] * b[i]) + c[i]`, g++ 12 -O3 -march=native (AVX-512) makes
/// vmulps a, b; vfmadd213ps one, c: vectorised, and its only fma multiplies by one.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDA_ARCH__) && defined(__FP_FAST_FMAF)
#define PLAIT_HIDDEN_ONE 1
enum class hidden_float : std::uint32_t { one = 0x3f80'0000U };
enum class hidden_double : std::uint64_t { one = 0x3ff0'0000'0000'0000U };
[[gnu::used]] inline hidden_float hidden_one_f = hidden_float::one;
[[gnu::used]] inline hidden_double hidden_one_d = hidden_double::one;
#endif
}  // namespace detail

/// The same value, which the compiler may not contract with the sum that follows: write rounded(a * b) + c.
/// Costs nothing where the processor has no fma, or has one and a sum follows; an extra product otherwise.
/// On the device it has no effect: see kernels::product_of.
template <std::floating_point T>
PLAIT_INLINE constexpr T rounded(T x)
{
#if defined(PLAIT_HIDDEN_ONE)
    if (__builtin_is_constant_evaluated()) { return x; }
    if constexpr (sizeof(T) == sizeof(float)) {
        return x * __builtin_bit_cast(float, detail::hidden_one_f);
    } else {
        return x * static_cast<T>(__builtin_bit_cast(double, detail::hidden_one_d));
    }
#else
    return x;
#endif
}

/// Integers are never contracted.
template <std::integral T>
PLAIT_INLINE constexpr T rounded(T x)
{
    return x;
}

namespace detail {
/// `a` where `condition`, else `b`; as bit arithmetic, which every vector unit has and which no compiler turns back
/// into a branch around the work for one side (GCC moves floating-point work there, then cannot vectorise it).
PLAIT_INLINE constexpr std::uint32_t choose(bool condition, std::uint32_t a, std::uint32_t b)
{
    const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
    return (a & mask) | (b & ~mask);
}

PLAIT_INLINE constexpr float choose(bool condition, float a, float b)
{
    return __builtin_bit_cast(
        float, choose(condition, __builtin_bit_cast(std::uint32_t, a), __builtin_bit_cast(std::uint32_t, b)));
}
}  // namespace detail

}  // namespace plait
