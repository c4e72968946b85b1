// The values of scalars in a run, as numbers.
#pragma once

#include <plait/plan/arguments.hpp>

#include <bit>
#include <cstdint>
#include <cstring>

namespace plait {

namespace detail {
template <class T>
T scalar_value(const arguments& args, const node& scalar)
{
    T value;
    std::memcpy(&value, args.scalar(scalar.name), sizeof value);
    return value;
}
}  // namespace detail

/// The value of a floating-point scalar, or of a number.
inline double number_of(const arguments& args, const node& n)
{
    switch (n.type) {
    case dtype::f64: return detail::scalar_value<double>(args, n);
    case dtype::f32: return static_cast<double>(detail::scalar_value<float>(args, n));
    case dtype::f16: return static_cast<double>(static_cast<float>(detail::scalar_value<f16>(args, n)));
    case dtype::bf16: return static_cast<double>(static_cast<float>(detail::scalar_value<bf16>(args, n)));
    default: return std::bit_cast<double>(n.bits);
    }
}

/// The value of an integer scalar, or of a number, as the seed of a random stream.
inline std::uint64_t seed_of(const arguments& args, const node& n)
{
    switch (n.type) {
    case dtype::i64: return static_cast<std::uint64_t>(detail::scalar_value<std::int64_t>(args, n));
    case dtype::i32: return static_cast<std::uint64_t>(std::int64_t{detail::scalar_value<std::int32_t>(args, n)});
    case dtype::u8: return detail::scalar_value<std::uint8_t>(args, n);
    default: return static_cast<std::uint64_t>(std::bit_cast<double>(n.bits));
    }
}

}  // namespace plait
