// Kernels of one instruction each, and their comparison with what the host computes for all combinations of operands.
#pragma once

#include "programs/check.hpp"

#include <functional>

// DEFINE_n(name, "PTX", result, its constraint, operand type, its constraint): a kernel over n operands.
#define DEFINE_1(name, ptx, R, r, T, t)                                        \
    __global__ void name(R* out, const T* a, int n)                            \
    {                                                                          \
        const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); \
        if (i < n) {                                                           \
            R d;                                                               \
            asm volatile(ptx : "=" r(d) : t(a[i]));                            \
            out[i] = d;                                                        \
        }                                                                      \
    }
#define DEFINE_2(name, ptx, R, r, T, t)                                        \
    __global__ void name(R* out, const T* a, const T* b, int n)                \
    {                                                                          \
        const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); \
        if (i < n) {                                                           \
            R d;                                                               \
            asm volatile(ptx : "=" r(d) : t(a[i]), t(b[i]));                   \
            out[i] = d;                                                        \
        }                                                                      \
    }
#define DEFINE_3(name, ptx, R, r, T, t)                                        \
    __global__ void name(R* out, const T* a, const T* b, const T* c, int n)    \
    {                                                                          \
        const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); \
        if (i < n) {                                                           \
            R d;                                                               \
            asm volatile(ptx : "=" r(d) : t(a[i]), t(b[i]), t(c[i]));          \
            out[i] = d;                                                        \
        }                                                                      \
    }

namespace check {

template <class T>
std::uint64_t bits_of(T x)
{
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof x);
    return bits;
}

template <class T>
T of_bits(std::uint64_t bits)
{
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

/// Equal as bits; NaNs of a float are equal if `any_nan`.
template <class R>
bool same(R got, R expected, bool any_nan = true)
{
    if constexpr (std::is_floating_point_v<R>) {
        if (any_nan && got != got && expected != expected) { return true; }
    }
    return bits_of(got) == bits_of(expected);
}

template <class R, class... T>
void report_difference(const char* name, R got, R expected, T... operands)
{
    that(false, name, "instruction", 0);
    if (n_failed < 20) {
        std::printf("   got %016llx, expected %016llx, of", static_cast<unsigned long long>(bits_of(got)),
                    static_cast<unsigned long long>(bits_of(expected)));
        ((std::printf(" %016llx", static_cast<unsigned long long>(bits_of(operands)))), ...);
        std::printf("\n");
    }
}

template <class R, class T, class F>
void test_1(const char* name, void (*kernel)(R*, const T*, int), const std::vector<T>& values, F expected)
{
    const int n = static_cast<int>(values.size());
    device_array<T> a(values);
    device_array<R> out(values.size());
    kernel<<<(n + 127) / 128, 128>>>(out, a, n);
    const auto got = out.host();
    for (int i = 0; i < n; ++i) {
        const R want = expected(values[i]);
        same(got[i], want) ? (void)++n_checks : report_difference(name, got[i], want, values[i]);
    }
}

template <class R, class T, class F>
void test_2(const char* name, void (*kernel)(R*, const T*, const T*, int), const std::vector<T>& values, F expected)
{
    std::vector<T> a, b;
    for (T x : values) {
        for (T y : values) { a.push_back(x), b.push_back(y); }
    }
    const int n = static_cast<int>(a.size());
    device_array<T> da(a), db(b);
    device_array<R> out(a.size());
    kernel<<<(n + 127) / 128, 128>>>(out, da, db, n);
    const auto got = out.host();
    for (int i = 0; i < n; ++i) {
        const R want = expected(a[i], b[i]);
        same(got[i], want) ? (void)++n_checks : report_difference(name, got[i], want, a[i], b[i]);
    }
}

template <class R, class T, class F>
void test_3(const char* name, void (*kernel)(R*, const T*, const T*, const T*, int), const std::vector<T>& values,
            F expected)
{
    std::vector<T> a, b, c;
    for (T x : values) {
        for (T y : values) {
            for (T z : values) { a.push_back(x), b.push_back(y), c.push_back(z); }
        }
    }
    const int n = static_cast<int>(a.size());
    device_array<T> da(a), db(b), dc(c);
    device_array<R> out(a.size());
    kernel<<<(n + 127) / 128, 128>>>(out, da, db, dc, n);
    const auto got = out.host();
    for (int i = 0; i < n; ++i) {
        const R want = expected(a[i], b[i], c[i]);
        same(got[i], want) ? (void)++n_checks : report_difference(name, got[i], want, a[i], b[i], c[i]);
    }
}

inline std::vector<std::uint32_t> words()
{
    return {0,      1,      2,          3,          7,          31,         32,         33,         100,       0x7fff,
            0x8000, 0xffff, 0x12345678, 0x7fffffff, 0x80000000, 0x80000001, 0xdeadbeef, 0xfffffffe, 0xffffffff};
}

inline std::vector<std::uint64_t> long_words()
{
    std::vector<std::uint64_t> all;
    for (std::uint32_t x : words()) { all.push_back(x), all.push_back(std::uint64_t{x} << 32 | (x ^ 0x55aa)); }
    return all;
}

inline std::vector<float> floats()
{
    return {0.0f,     -0.0f,     1.0f,        -1.0f,       1.5f,       0.1f,     -0.3f,          3.1415927f,
            2.5f,     1e-3f,     16777217.0f, 1e10f,       -1e20f,     3e38f,    -3.4028235e38f, 1.17549435e-38f,
            1e-40f,   -1.4e-45f, 7e-42f,      0.99999994f, 1.0000001f, INFINITY, -INFINITY,      NAN,
            65504.0f, 65520.0f,  123456.7f};
}

inline std::vector<double> doubles()
{
    return {0.0,
            -0.0,
            1.0,
            -1.0,
            0.1,
            -0.3,
            3.141592653589793,
            1e100,
            -1e300,
            1.7e308,
            2.2250738585072014e-308,
            4.9e-324,
            1e-310,
            9007199254740993.0,
            4294967295.5,
            -2147483648.5,
            9.3e18,
            INFINITY,
            -INFINITY,
            NAN,
            2.5,
            0.5,
            1.0000000000000002};
}

}  // namespace check

#define TEST_1(name, values, ...) check::test_1(#name, name, values, __VA_ARGS__)
#define TEST_2(name, values, ...) check::test_2(#name, name, values, __VA_ARGS__)
#define TEST_3(name, values, ...) check::test_3(#name, name, values, __VA_ARGS__)
