// How results of f32 and f64 arithmetic look in PTX: denormals flushed with .ftz, clamped with .sat, one NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace emulator {

/// A denormal becomes a zero of its sign.
inline float flush(float x)
{
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return (bits & 0x7f80'0000) == 0 ? std::bit_cast<float>(bits & 0x8000'0000) : x;
}

template <class T, bool Flush>
T input(T x)
{
    if constexpr (Flush && std::is_same_v<T, float>) { return flush(x); }
    return x;
}

template <class T, bool Flush, bool Saturate>
T result(T x)
{
    if constexpr (Flush && std::is_same_v<T, float>) { x = flush(x); }
    if constexpr (Saturate) { x = x > T{0} ? (x < T{1} ? x : T{1}) : T{0}; }  // NaN becomes 0
    if constexpr (std::is_same_v<T, float>) {
        return x != x ? std::bit_cast<float>(0x7fff'ffffu) : x;
    } else {
        // x86 makes a negative NaN where PTX makes a positive one.
        return std::bit_cast<std::uint64_t>(x) == 0xfff8'0000'0000'0000u ? std::bit_cast<T>(0x7ff8'0000'0000'0000ull)
                                                                         : x;
    }
}

}  // namespace emulator
