#include "reduce.hpp"

#include "../numeric/small_float.hpp"

#include <cuda_fp8.h>

#include <cmath>
#include <cstring>
#include <type_traits>

namespace emulator::nccl {
namespace {

/// A type as it lies in memory, and the one in which it is computed.
template <class T>
struct plain {
    using bits = T;
    using value = T;
    static T load(T b) { return b; }
    static T store(T v) { return v; }
};

struct half {
    using bits = std::uint16_t;
    using value = float;
    static float load(bits b) { return half_to_float(b); }
    static bits store(float v) { return float_to_half(v); }
};

struct bfloat {
    using bits = std::uint16_t;
    using value = float;
    static float load(bits b) { return bfloat_to_float(b); }
    static bits store(float v) { return float_to_bfloat(v); }
};

template <__nv_fp8_interpretation_t Kind>
struct eight_bits {
    using bits = std::uint8_t;
    using value = float;
    static float load(bits b) { return half_to_float(static_cast<std::uint16_t>(__nv_cvt_fp8_to_halfraw(b, Kind).x)); }
    static bits store(float v) { return __nv_cvt_float_to_fp8(v, __NV_SATFINITE, Kind); }
};

template <class V>
V add(V a, V b)
{
    if constexpr (std::is_integral_v<V>) {
        return static_cast<V>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
        return a + b;
    }
}

template <class V>
V multiply(V a, V b)
{
    if constexpr (std::is_integral_v<V>) {
        return static_cast<V>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
        return a * b;
    }
}

template <class V>
V larger(V a, V b)
{
    if constexpr (std::is_integral_v<V>) {
        return a < b ? b : a;
    } else {
        return std::fmax(a, b);
    }
}

template <class V>
V smaller(V a, V b)
{
    if constexpr (std::is_integral_v<V>) {
        return b < a ? b : a;
    } else {
        return std::fmin(a, b);
    }
}

template <class T>
typename T::value combine(ncclRedOp_t op, typename T::value a, typename T::value b)
{
    switch (op) {
    case ncclProd: return multiply(a, b);
    case ncclMax: return larger(a, b);
    case ncclMin: return smaller(a, b);
    default: return add(a, b);
    }
}

/// What each value is multiplied by before a sum: of averages of floating point, and of premultiplied sums.
template <class T>
std::optional<typename T::value> factor_of(const term& t, std::size_t n)
{
    using value = typename T::value;
    if (t.how.op == ncclAvg && !std::is_integral_v<value>) {
        return T::load(T::store(static_cast<value>(1) / static_cast<value>(n)));
    }
    if (t.how.op < ncclNumOps) { return std::nullopt; }
    typename T::bits bits;
    std::memcpy(&bits, &t.how.factor, sizeof bits);
    return T::load(bits);
}

template <class T>
void reduce_as(const std::vector<term>& terms, std::size_t count, std::uint8_t* out)
{
    using bits = typename T::bits;
    using value = typename T::value;
    const ncclRedOp_t op = terms[0].how.op;
    std::vector<std::optional<value>> factors;
    for (const term& t : terms) { factors.push_back(factor_of<T>(t, terms.size())); }
    const auto load = [&](std::size_t k, std::size_t i) {
        bits b;
        std::memcpy(&b, terms[k].values + i * sizeof b, sizeof b);
        const value v = T::load(b);
        return factors[k] ? T::load(T::store(multiply(v, *factors[k]))) : v;
    };
    for (std::size_t i = 0; i < count; ++i) {
        value sum = load(0, i);
        for (std::size_t k = 1; k < terms.size(); ++k) { sum = T::load(T::store(combine<T>(op, sum, load(k, i)))); }
        if (op == ncclAvg && std::is_integral_v<value>) {
            sum = static_cast<value>(sum / static_cast<value>(terms.size()));
        }
        const bits b = T::store(sum);
        std::memcpy(out + i * sizeof b, &b, sizeof b);
    }
}

}  // namespace

void reduce(ncclDataType_t type, const std::vector<term>& terms, std::size_t count, std::uint8_t* out)
{
    switch (type) {
    case ncclInt8: return reduce_as<plain<std::int8_t>>(terms, count, out);
    case ncclUint8: return reduce_as<plain<std::uint8_t>>(terms, count, out);
    case ncclInt32: return reduce_as<plain<std::int32_t>>(terms, count, out);
    case ncclUint32: return reduce_as<plain<std::uint32_t>>(terms, count, out);
    case ncclInt64: return reduce_as<plain<std::int64_t>>(terms, count, out);
    case ncclUint64: return reduce_as<plain<std::uint64_t>>(terms, count, out);
    case ncclFloat16: return reduce_as<half>(terms, count, out);
    case ncclFloat32: return reduce_as<plain<float>>(terms, count, out);
    case ncclFloat64: return reduce_as<plain<double>>(terms, count, out);
    case ncclBfloat16: return reduce_as<bfloat>(terms, count, out);
    case ncclFloat8e4m3: return reduce_as<eight_bits<__NV_E4M3>>(terms, count, out);
    default: return reduce_as<eight_bits<__NV_E5M2>>(terms, count, out);
    }
}

}  // namespace emulator::nccl
