// Numbers as types: the same double as the compiler and strtod make of the same digits.
#include <plait/lang/literals.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <type_traits>

namespace {

namespace pl = plait;
using namespace pl::literals;

template <class Constant>
constexpr double value_of(Constant)
{
    return Constant::value;
}
static_assert(value_of(0_c) == 0.0);
static_assert(value_of(1_c) == 1.0);
static_assert(value_of(0.9_c) == 0.9);
static_assert(value_of(.5_c) == 0.5);
static_assert(value_of(3._c) == 3.0);
static_assert(value_of(1e-8_c) == 1e-8);
static_assert(value_of(1E+3_c) == 1000.0);
static_assert(value_of(1'000'000_c) == 1e6);
static_assert(value_of(0.707106781186548_c) == 0.707106781186548);
static_assert(value_of(123456789012345_c) == 123456789012345.0);
static_assert(value_of(1e22_c) == 1e22);
static_assert(value_of(1e-22_c) == 1e-22);
static_assert(value_of(0.000000000000000000001_c) == 1e-21);
static_assert(value_of(1.50e1_c) == 15.0);
static_assert(value_of(0.1_c) != 0.1F);

TEST_CASE("literals: equal numbers are one type, whatever their digits")
{
    CHECK(std::is_same_v<decltype(1_c), decltype(1.000_c)>);
    CHECK(std::is_same_v<decltype(1e-3_c), decltype(0.001_c)>);
    CHECK_FALSE(std::is_same_v<decltype(1_c), decltype(1.00000000000001_c)>);
}

TEST_CASE("literals: correctly rounded, compared with strtod")
{
    std::mt19937_64 random{1};
    int accepted = 0;
    int wrong = 0;
    std::string last_wrong;
    for (int i = 0; i < 100000; ++i) {
        const int digits = static_cast<int>(random() % 15) + 1;
        std::string s;
        const auto point = random() % static_cast<unsigned>(digits + 1);
        for (int d = 0; d < digits; ++d) {
            if (static_cast<unsigned>(d) == point) { s += '.'; }
            s += static_cast<char>('0' + random() % 10);
        }
        if (random() % 2 == 0) { s += "e" + std::to_string(static_cast<int>(random() % 61) - 30); }
        const auto parsed = pl::detail::parse_number(s.c_str(), static_cast<int>(s.size()));
        if (!parsed.ok) { continue; }
        ++accepted;
        if (parsed.value != std::strtod(s.c_str(), nullptr)) {
            ++wrong;
            last_wrong = s;
        }
    }
    CAPTURE(last_wrong);
    CHECK(wrong == 0);
    CHECK(accepted > 70000);
}

TEST_CASE("literals: what cannot be exact, or is no decimal number, is not accepted")
{
    for (const char* s : {"", ".", "1234567890123456", "0x10", "0b1", "1e23", "1e-23", "1.2.3", "1e99999", "1f"}) {
        CAPTURE(s);
        CHECK_FALSE(pl::detail::parse_number(s, static_cast<int>(std::string{s}.size())).ok);
    }
    for (const char* s : {"0", "00.100", "123456789012345", "0.000123456789012345", "1000e19", "1'0'0"}) {
        CAPTURE(s);
        CHECK(pl::detail::parse_number(s, static_cast<int>(std::string{s}.size())).ok);
    }
}

}  // namespace
