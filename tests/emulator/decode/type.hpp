// PTX's fundamental types and the C++ types that stand for them.
#pragma once

#include <cstdint>
#include <string_view>

namespace emulator {

enum class type : std::uint8_t {
    none,
    pred,
    b8,
    u8,
    s8,
    b16,
    u16,
    s16,
    f16,
    bf16,
    b32,
    u32,
    s32,
    f32,
    f16x2,
    bf16x2,
    tf32,
    b64,
    u64,
    s64,
    f64,
    b128
};

constexpr type type_named(std::string_view name)
{
    constexpr std::string_view names[] = {"",     "pred", "b8",  "u8",  "s8",  "b16", "u16",   "s16",
                                          "f16",  "bf16", "b32", "u32", "s32", "f32", "f16x2", "bf16x2",
                                          "tf32", "b64",  "u64", "s64", "f64", "b128"};
    for (unsigned i = 1; i < sizeof names / sizeof names[0]; ++i) {
        if (names[i] == name) { return static_cast<type>(i); }
    }
    return type::none;
}

constexpr unsigned size_of(type t)
{
    switch (t) {
    case type::none: return 0;
    case type::pred:
    case type::b8:
    case type::u8:
    case type::s8: return 1;
    case type::b16:
    case type::u16:
    case type::s16:
    case type::f16:
    case type::bf16: return 2;
    case type::b64:
    case type::u64:
    case type::s64:
    case type::f64: return 8;
    case type::b128: return 16;
    default: return 4;
    }
}

constexpr bool is_signed(type t) { return t == type::s8 || t == type::s16 || t == type::s32 || t == type::s64; }
constexpr bool is_float(type t)
{
    return t == type::f16 || t == type::bf16 || t == type::f32 || t == type::f64 || t == type::tf32;
}
constexpr bool is_packed(type t) { return t == type::f16x2 || t == type::bf16x2; }

/// 16-bit floating-point values, as bits.
struct half_bits {
    std::uint16_t bits;
};
struct bfloat_bits {
    std::uint16_t bits;
};

/// Where a lane's value of a T is kept: 4 bytes for up to 32 bits, else 8.
template <class T>
struct slot_of {
    using type = std::uint32_t;
};
template <class T>
requires(sizeof(T) == 8) struct slot_of<T> {
    using type = std::uint64_t;
};
template <class T>
using slot = typename slot_of<T>::type;

}  // namespace emulator
