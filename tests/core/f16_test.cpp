#include <plait/core/f16.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace {

using plait::f16;

static_assert(sizeof(f16) == 2 && alignof(f16) == 2);
static_assert(std::is_trivially_copyable_v<f16> && std::is_trivially_default_constructible_v<f16>);
static_assert(!std::is_convertible_v<float, f16> && !std::is_convertible_v<f16, float>);
static_assert(f16(1.0F).bits == 0x3c00 && f16(-2.0F).bits == 0xc000 && f16(65504.0F).bits == 0x7bff);
static_assert(static_cast<float>(f16::from_bits(0x0001)) == 0x1p-24F);

bool is_nan_bits(unsigned bits) { return (bits & 0x7fffU) > 0x7c00U; }

/// The value of a half's bits, from the definition of the format.
double value_of(unsigned bits)
{
    const int exponent = static_cast<int>((bits >> 10U) & 31U);
    const int mantissa = static_cast<int>(bits & 1023U);
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    if (exponent == 31) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : nan;
    }
    return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

/// The bits of the half nearest to x, ties to even: scale to whole units in the last place and round in double.
unsigned nearest(double x)
{
    const unsigned sign = std::signbit(x) ? 0x8000U : 0U;
    const double magnitude = std::fabs(x);
    if (magnitude >= 65520.0) { return sign | 0x7c00U; }
    int exponent = -14;
    if (magnitude >= std::ldexp(1.0, -14)) { exponent = std::ilogb(magnitude); }
    const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
    // A normal number carries 1024 of its units in the exponent field; a carry to 2048 moves on by itself.
    return sign | (static_cast<unsigned>(exponent + 14) * 1024U + units);
}

unsigned bits_of(float x) { return f16(x).bits; }

}  // namespace

TEST_CASE("f16: every bit pattern converts to the float that the format defines")
{
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const auto x = static_cast<float>(f16::from_bits(static_cast<std::uint16_t>(bits)));
        const double expected = value_of(bits);
        if (is_nan_bits(bits)) {
            // The sign and the payload stay, the quiet bit is set.
            const std::uint32_t quiet = (bits & 0x8000U) << 16U | 0x7fc0'0000U | (bits & 0x3ffU) << 13U;
            wrong += std::bit_cast<std::uint32_t>(x) != quiet;
        } else {
            wrong += !(static_cast<double>(x) == expected && std::signbit(x) == std::signbit(expected));
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("f16: every number that is not NaN survives the way to float and back")
{
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const auto half = f16::from_bits(static_cast<std::uint16_t>(bits));
        const unsigned expected = is_nan_bits(bits) ? bits | 0x200U : bits;
        wrong += bits_of(static_cast<float>(half)) != expected;
    }
    CHECK(wrong == 0);
}

TEST_CASE("f16: values, midpoints and their neighbours round to nearest even")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        if ((bits & 0x7c00U) == 0x7c00U) { continue; }
        const unsigned sign = bits & 0x8000U;
        const double here = value_of(bits);
        // The next magnitude; past the largest finite number, what the format would hold next.
        const double next = (bits & 0x7fffU) == 0x7bffU ? std::copysign(65536.0, here) : value_of(bits + 1);
        for (const double exact : {here, (here + next) / 2}) {
            const auto x = static_cast<float>(exact);
            REQUIRE(static_cast<double>(x) == exact);
            for (const float y : {x, std::nextafterf(x, infinity), std::nextafterf(x, -infinity)}) {
                wrong += bits_of(y) != nearest(static_cast<double>(y));
            }
        }
        const auto middle = static_cast<float>((here + next) / 2);
        wrong += bits_of(middle) != sign + (bits & 0x7fffU) + (bits & 1U);
    }
    CHECK(wrong == 0);
}

TEST_CASE("f16: random floats of every magnitude round to nearest even")
{
    std::mt19937 generator(1);
    int wrong = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
        if (std::isnan(x)) { continue; }
        wrong += bits_of(x) != nearest(static_cast<double>(x));
        // The same mantissa and sign at a magnitude in or near the range of halves.
        const auto mantissa = std::bit_cast<std::uint32_t>(x) & 0x807f'ffffU;
        const int exponent = static_cast<int>(generator() % 48U) - 28;
        const float y = std::ldexp(std::bit_cast<float>(mantissa | 0x3f80'0000U), exponent);
        wrong += bits_of(y) != nearest(static_cast<double>(y));
    }
    CHECK(wrong == 0);
}

TEST_CASE("f16: special floats")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(bits_of(infinity) == 0x7c00);
    CHECK(bits_of(-infinity) == 0xfc00);
    CHECK(bits_of(std::numeric_limits<float>::max()) == 0x7c00);
    CHECK(bits_of(65519.996F) == 0x7bff);
    CHECK(bits_of(65520.0F) == 0x7c00);
    CHECK(bits_of(0.0F) == 0x0000);
    CHECK(bits_of(-0.0F) == 0x8000);
    CHECK(bits_of(std::numeric_limits<float>::denorm_min()) == 0);
    CHECK(bits_of(std::bit_cast<float>(0x7fc0'0000U)) == 0x7e00);
    CHECK(bits_of(std::bit_cast<float>(0xff80'0001U)) == 0xfe00);  // signalling, payload below the half's bits
    CHECK(bits_of(std::bit_cast<float>(0x7fbf'ffffU)) == 0x7fff);
}

TEST_CASE("f16: equality compares numbers")
{
    CHECK(f16(0.0F) == f16(-0.0F));
    CHECK(f16(1.5F) == f16(1.5F));
    CHECK(f16(1.5F) != f16(2.5F));
    CHECK(f16::from_bits(0x7e00) != f16::from_bits(0x7e00));
}

TEST_CASE("f16: loops over runs of any length give what single conversions give")
{
    for (const std::size_t n : {0U, 1U, 3U, 7U, 16U, 17U, 31U, 64U, 101U, 1009U}) {
        std::vector<float> in(n + 1);
        std::vector<f16> half(n + 1);
        std::vector<float> back(n + 1);
        for (std::size_t i = 0; i < n; ++i) {
            in[i + 1] = std::ldexp(static_cast<float>(i * i) - 40.5F, static_cast<int>(i % 37) - 30);
        }
        // From element 1: not aligned to any vector.
        for (std::size_t i = 1; i <= n; ++i) { half[i] = f16(in[i]); }
        for (std::size_t i = 1; i <= n; ++i) { back[i] = static_cast<float>(half[i]); }
        int wrong = 0;
        for (std::size_t i = 1; i <= n; ++i) {
            const unsigned expected = nearest(static_cast<double>(in[i]));
            wrong += half[i].bits != expected || static_cast<double>(back[i]) != value_of(expected);
        }
        CHECK(wrong == 0);
    }
}
