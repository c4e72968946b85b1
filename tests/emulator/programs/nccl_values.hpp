// Values of all NCCL types, and what collectives make of them.
#pragma once

#include "programs/nccl_ranks.hpp"

#include <algorithm>
#include <type_traits>

template <class T>
struct type_of;
template <>
struct type_of<std::int8_t> : std::integral_constant<decltype(ncclInt8), ncclInt8> {};
template <>
struct type_of<std::uint8_t> : std::integral_constant<decltype(ncclUint8), ncclUint8> {};
template <>
struct type_of<std::int32_t> : std::integral_constant<decltype(ncclInt32), ncclInt32> {};
template <>
struct type_of<std::uint32_t> : std::integral_constant<decltype(ncclUint32), ncclUint32> {};
template <>
struct type_of<std::int64_t> : std::integral_constant<decltype(ncclInt64), ncclInt64> {};
template <>
struct type_of<std::uint64_t> : std::integral_constant<decltype(ncclUint64), ncclUint64> {};
template <>
struct type_of<__half> : std::integral_constant<decltype(ncclFloat16), ncclFloat16> {};
template <>
struct type_of<float> : std::integral_constant<decltype(ncclFloat32), ncclFloat32> {};
template <>
struct type_of<double> : std::integral_constant<decltype(ncclFloat64), ncclFloat64> {};
template <>
struct type_of<__nv_bfloat16> : std::integral_constant<decltype(ncclBfloat16), ncclBfloat16> {};
template <>
struct type_of<__nv_fp8_e4m3> : std::integral_constant<decltype(ncclFloat8e4m3), ncclFloat8e4m3> {};
template <>
struct type_of<__nv_fp8_e5m2> : std::integral_constant<decltype(ncclFloat8e5m2), ncclFloat8e5m2> {};

// Small whole numbers: exact in every type, and so are their sums, products and averages of 1, 2 and 4 ranks.
double value(int rank, std::size_t i) { return static_cast<double>((i * 7 + static_cast<std::size_t>(rank)) % 3 + 1); }

double expected(ncclRedOp_t op, int n, std::size_t i)
{
    double v = value(0, i);
    for (int r = 1; r < n; ++r) {
        const double w = value(r, i);
        v = op == ncclProd ? v * w : op == ncclMax ? std::max(v, w) : op == ncclMin ? std::min(v, w) : v + w;
    }
    return op == ncclAvg ? v / n : v;
}

template <class T>
std::vector<T> values(int rank, std::size_t n)
{
    std::vector<T> v;
    for (std::size_t i = 0; i < n; ++i) { v.push_back(T(static_cast<float>(value(rank, i)))); }
    return v;
}

template <class T>
void expect(const std::vector<T>& got, std::size_t first, std::size_t n, double (*f)(std::size_t, int, int), int a,
            int b)
{
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
        double wanted = f(i, a, b);
        if (std::is_integral_v<T>) { wanted = static_cast<double>(static_cast<long long>(wanted)); }
        right &= static_cast<double>(static_cast<float>(got[first + i])) ==
                 static_cast<double>(static_cast<float>(T(static_cast<float>(wanted))));
    }
    CHECK(right);
}

/// Calls the function object's operator() with a value of each type.
template <class F>
void for_all_types(int ranks, F&& f)
{
    f(std::int8_t{}), f(std::uint8_t{}), f(std::int32_t{}), f(std::uint32_t{}), f(std::int64_t{}), f(std::uint64_t{});
    f(__half{}), f(float{}), f(double{}), f(__nv_bfloat16{});
    if (ranks <= 2) {  // three products of 3 are not exact in eight bits
        f(__nv_fp8_e4m3{}), f(__nv_fp8_e5m2{});
    }
}
