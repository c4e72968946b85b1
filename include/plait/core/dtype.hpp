// The element types of tensors and how they combine.
#pragma once

#include <plait/core/bf16.hpp>
#include <plait/core/f16.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plait {

/// Element types. `none` marks a value whose type follows its partner's: a literal number, world_size.
enum class dtype : std::uint8_t { none, boolean, u8, i32, i64, f16, bf16, f32, f64 };

constexpr bool is_floating(dtype t) { return t >= dtype::f16; }
constexpr bool is_integer(dtype t) { return t >= dtype::u8 && t <= dtype::i64; }

/// The printed name of a dtype.
constexpr std::string_view name_of(dtype t)
{
    constexpr std::string_view names[] = {"number", "boolean", "u8", "i32", "i64", "f16", "bf16", "f32", "f64"};
    return names[static_cast<int>(t)];
}

/// Bytes of one element; 0 for `none`.
constexpr std::size_t size_of(dtype t)
{
    constexpr std::size_t sizes[] = {0, 1, 1, 4, 8, 2, 2, 4, 8};
    return sizes[static_cast<int>(t)];
}

/// The dtype of a C++ element type; `none` for a type that plait has no name for.
template <class T>
constexpr dtype dtype_of = dtype::none;
template <class T>
constexpr dtype dtype_of<const T> = dtype_of<T>;
template <>
inline constexpr dtype dtype_of<bool> = dtype::boolean;
template <>
inline constexpr dtype dtype_of<std::uint8_t> = dtype::u8;
template <>
inline constexpr dtype dtype_of<std::int32_t> = dtype::i32;
template <>
inline constexpr dtype dtype_of<std::int64_t> = dtype::i64;
template <>
inline constexpr dtype dtype_of<f16> = dtype::f16;
template <>
inline constexpr dtype dtype_of<bf16> = dtype::bf16;
template <>
inline constexpr dtype dtype_of<float> = dtype::f32;
template <>
inline constexpr dtype dtype_of<double> = dtype::f64;

namespace detail {
template <dtype>
struct element;
template <>
struct element<dtype::boolean> { using type = bool; };
template <>
struct element<dtype::u8> { using type = std::uint8_t; };
template <>
struct element<dtype::i32> { using type = std::int32_t; };
template <>
struct element<dtype::i64> { using type = std::int64_t; };
template <>
struct element<dtype::f16> { using type = f16; };
template <>
struct element<dtype::bf16> { using type = bf16; };
template <>
struct element<dtype::f32> { using type = float; };
template <>
struct element<dtype::f64> { using type = double; };
}  // namespace detail

/// The C++ type that stores one element.
template <dtype D>
using element_t = typename detail::element<D>::type;

/// The dtype of arithmetic between two dtypes: the wider one; f16 with bf16 gives f32; a literal number follows its
/// partner. `none` where the two do not mix (integer with floating point, boolean with a number): write cast<T>.
constexpr dtype promote(dtype a, dtype b)
{
    if (a == b || b == dtype::none) { return a; }
    if (a == dtype::none) { return b; }
    if (is_floating(a) != is_floating(b) || a == dtype::boolean || b == dtype::boolean) { return dtype::none; }
    if ((a == dtype::f16 && b == dtype::bf16) || (a == dtype::bf16 && b == dtype::f16)) { return dtype::f32; }
    return a > b ? a : b;
}

}  // namespace plait
