#include <plait/core/vector_math.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

namespace math = plait::math;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float tiny = std::numeric_limits<float>::denorm_min();
constexpr float largest = std::numeric_limits<float>::max();

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// The distance of y from the exact value, in spacings of floats at the exact value.
double ulps(float y, double exact)
{
    const double magnitude = std::fabs(exact);
    const int exponent = magnitude < std::ldexp(1.0, -126) ? -126 : std::ilogb(magnitude);
    return std::fabs(static_cast<double>(y) - exact) / std::ldexp(1.0, exponent - 23);
}

/// Every `step`-th float from low to high, both of one sign.
std::vector<float> samples(float low, float high, std::uint32_t step)
{
    std::uint32_t first = bits_of(low);
    std::uint32_t last = bits_of(high);
    if (first > last) { std::swap(first, last); }
    std::vector<float> result;
    for (std::uint64_t bits = first; bits <= last; bits += step) {
        result.push_back(float_of(static_cast<std::uint32_t>(bits)));
    }
    return result;
}

/// The largest error over samples, evaluated in a loop (which optimised builds vectorise).
template <class Function, class Exact>
double worst(const std::vector<float>& in, Function function, Exact exact)
{
    std::vector<float> out(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) { out[i] = function(in[i]); }
    double error = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        // A NaN fails the comparison and counts as the largest error.
        const double e = ulps(out[i], exact(static_cast<double>(in[i])));
        error = e <= error ? error : (std::isnan(e) ? static_cast<double>(infinity) : e);
    }
    return error;
}

float exp_f(float x) { return math::exp(x); }
float log_f(float x) { return math::log(x); }
float tanh_f(float x) { return math::tanh(x); }
float erf_f(float x) { return math::erf(x); }
double exp_d(double x) { return std::exp(x); }
double log_d(double x) { return std::log(x); }
double tanh_d(double x) { return std::tanh(x); }
double erf_d(double x) { return std::erf(x); }

}  // namespace

TEST_CASE("exp: at most 2 ulp wherever the result is a float, denormal results included")
{
    CHECK(worst(samples(0x1p-40F, 88.72283F, 1009), exp_f, exp_d) <= 2.0);
    CHECK(worst(samples(-0x1p-40F, -104.0F, 1009), exp_f, exp_d) <= 2.0);
    CHECK(worst(samples(-87.0F, -104.0F, 13), exp_f, exp_d) <= 2.0);
}

TEST_CASE("exp: special values")
{
    CHECK(math::exp(0.0F) == 1.0F);
    CHECK(math::exp(-0.0F) == 1.0F);
    CHECK(math::exp(tiny) == 1.0F);
    CHECK(math::exp(-0x1p-60F) == 1.0F);
    CHECK(math::exp(infinity) == infinity);
    CHECK(bits_of(math::exp(-infinity)) == 0);
    CHECK(std::isnan(math::exp(not_a_number)));
    CHECK(std::isnan(math::exp(-not_a_number)));
    CHECK(math::exp(88.72283F) < infinity);  // log(max) = 88.7228391
    CHECK(math::exp(88.72284F) == infinity);
    CHECK(math::exp(largest) == infinity);
    CHECK(math::exp(-103.9F) == tiny);  // log(2^-149) = -103.28, log(2^-150) = -103.972
    CHECK(math::exp(-104.0F) == 0.0F);
    CHECK(math::exp(-largest) == 0.0F);
}

TEST_CASE("log: at most 2 ulp over all positive floats, denormal ones included")
{
    CHECK(worst(samples(tiny, largest, 1009), log_f, log_d) <= 2.0);
    CHECK(worst(samples(0.5F, 2.0F, 17), log_f, log_d) <= 2.0);
    CHECK(worst(samples(tiny, 0x1p-126F, 101), log_f, log_d) <= 2.0);
}

TEST_CASE("log: special values")
{
    CHECK(bits_of(math::log(1.0F)) == 0);
    CHECK(math::log(0.0F) == -infinity);
    CHECK(math::log(-0.0F) == -infinity);
    CHECK(math::log(infinity) == infinity);
    for (const float x : {not_a_number, -not_a_number, -tiny, -1.0F, -largest, -infinity}) {
        CHECK(std::isnan(math::log(x)));
    }
}

TEST_CASE("tanh: at most 4 ulp")
{
    CHECK(worst(samples(tiny, 16.0F, 1009), tanh_f, tanh_d) <= 4.0);
    CHECK(worst(samples(0.125F, 10.0F, 31), tanh_f, tanh_d) <= 4.0);
    CHECK(worst(samples(-tiny, -16.0F, 1009), tanh_f, tanh_d) <= 4.0);
}

TEST_CASE("tanh: special values")
{
    CHECK(bits_of(math::tanh(0.0F)) == 0);
    CHECK(bits_of(math::tanh(-0.0F)) == 0x8000'0000U);
    CHECK(math::tanh(tiny) == tiny);
    CHECK(math::tanh(9.1F) == 1.0F);
    CHECK(math::tanh(-largest) == -1.0F);
    CHECK(math::tanh(infinity) == 1.0F);
    CHECK(math::tanh(-infinity) == -1.0F);
    CHECK(std::isnan(math::tanh(not_a_number)));
}

TEST_CASE("erf: at most 4 ulp")
{
    CHECK(worst(samples(0x1p-126F, 8.0F, 1009), erf_f, erf_d) <= 4.0);
    CHECK(worst(samples(0.125F, 4.5F, 31), erf_f, erf_d) <= 4.0);
    CHECK(worst(samples(-0x1p-126F, -8.0F, 1009), erf_f, erf_d) <= 4.0);
    CHECK(worst(samples(tiny, 0x1p-126F, 1009), erf_f, erf_d) <= 4.0);
}

TEST_CASE("erf: special values")
{
    CHECK(bits_of(math::erf(0.0F)) == 0);
    CHECK(bits_of(math::erf(-0.0F)) == 0x8000'0000U);
    CHECK(math::erf(3.93F) == 1.0F);
    CHECK(math::erf(-largest) == -1.0F);
    CHECK(math::erf(infinity) == 1.0F);
    CHECK(math::erf(-infinity) == -1.0F);
    CHECK(std::isnan(math::erf(not_a_number)));
}

TEST_CASE("the same bits in a vectorised loop and one by one")
{
    const std::vector<float> in = samples(0x1p-3F, 8.0F, 104'729);
    std::vector<float> out(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
        out[i] = math::exp(-in[i]) + math::log(in[i]) + math::tanh(in[i]) + math::erf(in[i]);
    }
    int different = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        volatile float x = in[i];  // keeps this loop scalar
        const float sum = math::exp(-x) + math::log(x) + math::tanh(x) + math::erf(x);
        different += bits_of(sum) != bits_of(out[i]);
    }
    CHECK(different == 0);
}

TEST_CASE("rounded: a product and a sum are rounded one by one, in vectorised and in scalar loops")
{
    const std::vector<float> a = samples(0x1p-3F, 8.0F, 104'729);
    const std::size_t n = a.size();
    std::vector<float> out(n);
    for (std::size_t i = 0; i < n; ++i) { out[i] = plait::rounded(a[i] * a[n - 1 - i]) + a[i]; }
    int different = 0;
    for (std::size_t i = 0; i < n; ++i) {
        // The product is exact in double; the conversion rounds it; volatile keeps it out of the sum.
        volatile float product = static_cast<float>(static_cast<double>(a[i]) * static_cast<double>(a[n - 1 - i]));
        different += out[i] != product + a[i];
        volatile float x = a[i];
        different += plait::rounded(x * a[n - 1 - i]) + x != product + a[i];
    }
    CHECK(different == 0);
    static_assert(plait::rounded(3.0F * 2.0F) + 1.0F == 7.0F && plait::rounded(3 * 2) + 1 == 7);
}

TEST_CASE("rounded: doubles too")
{
    // (1 + 2^-30)^2 = 1 + 2^-29 + 2^-60: rounding drops the last term, a contracted product would keep it.
    const std::vector<double> a(37, 1.0 + 0x1p-30);
    const std::vector<double> c(37, -1.0 - 0x1p-29);
    std::vector<double> out(37, 1.0);
    for (std::size_t i = 0; i < out.size(); ++i) { out[i] = plait::rounded(a[i] * a[i]) + c[i]; }
    for (const double x : out) { CHECK(x == 0.0); }
}

TEST_CASE("the same bits with any compiler, vector width and instruction set")
{
    // The expected sums come from a build without fma instructions: one contraction anywhere changes them.
    const auto checksum = [](float (*function)(float)) {
        std::uint32_t sum = 0;
        for (std::uint32_t i = 0; i < 65536; ++i) {
            sum = sum * 31U + bits_of(function(float_of(0x3d00'0000U + i * 907U)));
        }
        return sum;
    };
    CHECK(checksum(exp_f) == 3153455111U);
    CHECK(checksum(log_f) == 1048772618U);
    CHECK(checksum(tanh_f) == 121500164U);
    CHECK(checksum(erf_f) == 785874497U);
}

TEST_CASE("sqrt and rsqrt")
{
    for (const float x : {1.0F, 2.0F, 3.0F, 0x1p-149F, 0.1F, 1e30F}) {
        CHECK(math::sqrt(x) == static_cast<float>(std::sqrt(static_cast<double>(x))));
        CHECK(ulps(math::rsqrt(x), 1.0 / std::sqrt(static_cast<double>(x))) <= 1.5);
        const auto d = static_cast<double>(x);
        CHECK(math::rsqrt(d) == 1.0 / std::sqrt(d));
    }
    CHECK(math::rsqrt(0.0F) == infinity);
    CHECK(math::rsqrt(infinity) == 0.0F);
    CHECK(std::isnan(math::sqrt(-1.0F)));
    CHECK(std::isnan(math::rsqrt(not_a_number)));
}

TEST_CASE("pow, and the double functions")
{
    CHECK(math::pow(2.0F, 10.0F) == 1024.0F);
    CHECK(math::pow(0.0F, 0.0F) == 1.0F);
    CHECK(math::pow(9.0, 0.5) == 3.0);
    CHECK(math::exp(1.0) == doctest::Approx(2.718281828459045).epsilon(1e-15));
    CHECK(math::log(2.0) == doctest::Approx(0.6931471805599453).epsilon(1e-15));
    CHECK(math::tanh(0.5) == doctest::Approx(0.46211715726000975).epsilon(1e-15));
    CHECK(math::erf(0.5) == doctest::Approx(0.5204998778130465).epsilon(1e-15));
    CHECK(math::sqrt(2.0) == doctest::Approx(1.4142135623730951).epsilon(1e-15));
}

TEST_CASE("abs, min and max")
{
    CHECK(bits_of(math::abs(-0.0F)) == 0);
    CHECK(math::abs(-infinity) == infinity);
    CHECK(math::abs(-2.5) == 2.5);
    CHECK(math::abs(-7) == 7);
    CHECK(math::abs(std::numeric_limits<int>::min()) == std::numeric_limits<int>::min());
    CHECK(math::abs(std::int64_t{-7}) == 7);
    CHECK(math::min(1.0F, 2.0F) == 1.0F);
    CHECK(math::max(1.0, 2.0) == 2.0);
    CHECK(math::min(-3, 2) == -3);
    CHECK(math::max(-infinity, -largest) == -largest);
}

TEST_CASE("min and max: a NaN in either place gives NaN, in loops too")
{
    std::vector<float> a;
    std::vector<float> b;
    for (const float x : {not_a_number, -not_a_number, -infinity, -1.0F, 0.0F, 2.0F, infinity}) {
        for (const float y : {not_a_number, -infinity, -2.0F, 1.0F, infinity}) {
            a.push_back(x);
            b.push_back(y);
        }
    }
    std::vector<float> low(a.size());
    std::vector<float> high(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) { low[i] = math::min(a[i], b[i]); }
    for (std::size_t i = 0; i < a.size(); ++i) { high[i] = math::max(a[i], b[i]); }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::isnan(a[i]) || std::isnan(b[i])) {
            CHECK(std::isnan(low[i]));
            CHECK(std::isnan(high[i]));
        } else {
            CHECK(low[i] == std::min(a[i], b[i]));
            CHECK(high[i] == std::max(a[i], b[i]));
        }
    }
}
