#include <plait/core/bf16.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace {

using plait::bf16;

static_assert(sizeof(bf16) == 2 && alignof(bf16) == 2);
static_assert(std::is_trivially_copyable_v<bf16> && std::is_trivially_default_constructible_v<bf16>);
static_assert(!std::is_convertible_v<float, bf16> && !std::is_convertible_v<bf16, float>);
static_assert(bf16(1.0F).bits == 0x3f80 && bf16(-2.0F).bits == 0xc000 && bf16(0x1.fep127F).bits == 0x7f7f);
static_assert(static_cast<float>(bf16::from_bits(0x0001)) == 0x1p-133F);

bool is_nan_bits(unsigned bits) { return (bits & 0x7fffU) > 0x7f80U; }

/// The value of a bf16's bits, from the definition of the format.
double value_of(unsigned bits)
{
    const int exponent = static_cast<int>((bits >> 7U) & 255U);
    const int mantissa = static_cast<int>(bits & 127U);
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    if (exponent == 255) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : nan;
    }
    return sign * (exponent == 0 ? std::ldexp(mantissa, -133) : std::ldexp(128 + mantissa, exponent - 134));
}

/// The bits of the number nearest to x, ties to even: scale to whole units in the last place and round in double.
unsigned nearest(double x)
{
    const unsigned sign = std::signbit(x) ? 0x8000U : 0U;
    const double magnitude = std::fabs(x);
    if (magnitude >= std::ldexp(511.0, 119)) { return sign | 0x7f80U; }
    int exponent = -126;
    if (magnitude >= std::ldexp(1.0, -126)) { exponent = std::ilogb(magnitude); }
    const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, 7 - exponent)));
    // A normal number carries 128 of its units in the exponent field; a carry to 256 moves on by itself.
    return sign | (static_cast<unsigned>(exponent + 126) * 128U + units);
}

unsigned bits_of(float x) { return bf16(x).bits; }

}  // namespace

TEST_CASE("bf16: every bit pattern converts to the float that the format defines")
{
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const auto x = static_cast<float>(bf16::from_bits(static_cast<std::uint16_t>(bits)));
        const double expected = value_of(bits);
        if (is_nan_bits(bits)) {
            wrong += std::bit_cast<std::uint32_t>(x) != bits << 16U;
        } else {
            wrong += !(static_cast<double>(x) == expected && std::signbit(x) == std::signbit(expected));
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("bf16: every number that is not NaN survives the way to float and back")
{
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const auto number = bf16::from_bits(static_cast<std::uint16_t>(bits));
        const unsigned expected = is_nan_bits(bits) ? bits | 0x40U : bits;
        wrong += bits_of(static_cast<float>(number)) != expected;
    }
    CHECK(wrong == 0);
}

TEST_CASE("bf16: values, midpoints and their neighbours round to nearest even")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        if ((bits & 0x7f80U) == 0x7f80U) { continue; }
        const unsigned sign = bits & 0x8000U;
        const double here = value_of(bits);
        // The next magnitude; past the largest finite number, what the format would hold next.
        const double beyond = std::copysign(std::ldexp(1.0, 128), here);
        const double next = (bits & 0x7fffU) == 0x7f7fU ? beyond : value_of(bits + 1);
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

TEST_CASE("bf16: random floats of every magnitude round to nearest even")
{
    std::mt19937 generator(1);
    int wrong = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
        if (std::isnan(x)) { continue; }
        wrong += bits_of(x) != nearest(static_cast<double>(x));
    }
    CHECK(wrong == 0);
}

TEST_CASE("bf16: special floats")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(bits_of(infinity) == 0x7f80);
    CHECK(bits_of(-infinity) == 0xff80);
    CHECK(bits_of(std::numeric_limits<float>::max()) == 0x7f80);
    CHECK(bits_of(0x1.fefffep127F) == 0x7f7f);
    CHECK(bits_of(0x1.ffp127F) == 0x7f80);
    CHECK(bits_of(0.0F) == 0x0000);
    CHECK(bits_of(-0.0F) == 0x8000);
    CHECK(bits_of(std::numeric_limits<float>::denorm_min()) == 0);
    CHECK(bits_of(0x1.8p-134F) == 0x0001);
    CHECK(bits_of(std::bit_cast<float>(0x7fc0'0000U)) == 0x7fc0);
    CHECK(bits_of(std::bit_cast<float>(0xff80'0001U)) == 0xffc0);  // signalling, payload below the bf16's bits
    CHECK(bits_of(std::bit_cast<float>(0x7fbf'ffffU)) == 0x7fff);
}

TEST_CASE("bf16: equality compares numbers")
{
    CHECK(bf16(0.0F) == bf16(-0.0F));
    CHECK(bf16(1.5F) == bf16(1.5F));
    CHECK(bf16(1.5F) != bf16(2.5F));
    CHECK(bf16::from_bits(0x7fc0) != bf16::from_bits(0x7fc0));
}

TEST_CASE("bf16: loops over runs of any length give what single conversions give")
{
    for (const std::size_t n : {0U, 1U, 3U, 7U, 16U, 17U, 31U, 64U, 101U, 1009U}) {
        std::vector<float> in(n + 1);
        std::vector<bf16> number(n + 1);
        std::vector<float> back(n + 1);
        for (std::size_t i = 0; i < n; ++i) {
            in[i + 1] = std::ldexp(static_cast<float>(i * i) - 40.5F, static_cast<int>(i % 37) - 30);
        }
        // From element 1: not aligned to any vector.
        for (std::size_t i = 1; i <= n; ++i) { number[i] = bf16(in[i]); }
        for (std::size_t i = 1; i <= n; ++i) { back[i] = static_cast<float>(number[i]); }
        int wrong = 0;
        for (std::size_t i = 1; i <= n; ++i) {
            const unsigned expected = nearest(static_cast<double>(in[i]));
            wrong += number[i].bits != expected || static_cast<double>(back[i]) != value_of(expected);
        }
        CHECK(wrong == 0);
    }
}
