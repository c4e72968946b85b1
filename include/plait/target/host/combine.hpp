// Combining what several ranks hold, in rank order: the inner loops of every reduction over ranks on the host.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/macros.hpp>
#include <plait/graph/op.hpp>
#include <plait/kernels/tile.hpp>

#include <cstddef>
#include <limits>

namespace plait::host {

/// Calls f with a value of the C++ type of dtype t (element_t).
template <class F>
void with_element(dtype t, F&& f)
{
    switch (t) {
    case dtype::boolean: f(bool{}); break;
    case dtype::u8: f(std::uint8_t{}); break;
    case dtype::i32: f(std::int32_t{}); break;
    case dtype::i64: f(std::int64_t{}); break;
    case dtype::f16: f(f16{}); break;
    case dtype::bf16: f(bf16{}); break;
    case dtype::f32: f(float{}); break;
    default: f(double{}); break;
    }
}

/// Calls f with the operator as a constant.
template <class F>
void with_reduction(reduction r, F&& f)
{
    switch (r) {
    case reduction::product: f(std::integral_constant<reduction, reduction::product>{}); break;
    case reduction::min: f(std::integral_constant<reduction, reduction::min>{}); break;
    case reduction::max: f(std::integral_constant<reduction, reduction::max>{}); break;
    default: f(std::integral_constant<reduction, reduction::sum>{}); break;
    }
}

/// What an operator leaves unchanged: combining with it changes no bit (so it is -0 for sums).
template <reduction R, class T>
constexpr T identity_of()
{
    using limits = std::numeric_limits<T>;
    if constexpr (R == reduction::product) {
        return T{1};
    } else if constexpr (R == reduction::min) {
        return limits::has_infinity ? limits::infinity() : limits::max();
    } else if constexpr (R == reduction::max) {
        return limits::has_infinity ? -limits::infinity() : limits::lowest();
    } else {
        return std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{};
    }
}

/// out[i] = in[i], as `Out`.
template <class Out, class In>
void load(const In* in, std::size_t n, Out* out)
{
    PLAIT_INDEPENDENT_LOOP
    for (std::size_t i = 0; i < n; ++i) { out[i] = static_cast<Out>(in[i]); }
}
/// acc[i] = acc[i] (op) in[i]
template <reduction R, class Acc, class In>
void accumulate(const In* in, std::size_t n, Acc* acc)
{
    PLAIT_INDEPENDENT_LOOP
    for (std::size_t i = 0; i < n; ++i) { acc[i] = kernels::combine<R, Acc>(acc[i], static_cast<Acc>(in[i])); }
}
/// x[i] rounded to T and back
template <class T>
void round_tile(float* x, std::size_t n)
{
    PLAIT_INDEPENDENT_LOOP
    for (std::size_t i = 0; i < n; ++i) { x[i] = static_cast<float>(T(x[i])); }
}

}  // namespace plait::host
