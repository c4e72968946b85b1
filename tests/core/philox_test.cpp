#include <plait/core/philox.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using plait::keep_threshold;
using plait::philox4x32;
using plait::philox_block;
using plait::philox_fill;
using plait::philox_u32;

// The known answers that come with Random123 (kat_vectors), philox4x32 with 10 rounds: zeros, ones, digits of pi.
constexpr philox_block zeros = philox4x32({{0, 0, 0, 0}}, {{0, 0}});
static_assert(zeros == philox_block{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
constexpr philox_block ones =
    philox4x32({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, {{0xffffffff, 0xffffffff}});
static_assert(ones == philox_block{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
constexpr philox_block pi =
    philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}});
static_assert(pi == philox_block{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});

static_assert(philox_u32(0, 0) == 0x6627e8d5 && philox_u32(0, 3) == 0x9b00dbd8);

static_assert(keep_threshold(0.0) == 0);
static_assert(keep_threshold(1.0) == 0x1'0000'0000U);
static_assert(keep_threshold(0.5) == 0x8000'0000U);
static_assert(keep_threshold(0x1p-32) == 1);
static_assert(keep_threshold(0.1) == 429'496'730U);  // 429496729.6

}  // namespace

TEST_CASE("philox: known answers at run time")
{
    const volatile std::uint32_t none = 0;
    CHECK(philox4x32({{none, none, none, none}}, {{none, none}}) == zeros);
    const volatile std::uint32_t all = 0xffffffff;
    CHECK(philox4x32({{all, all, all, all}}, {{all, all}}) == ones);
}

TEST_CASE("philox_u32: counter, key and word come from index and seed")
{
    const std::uint64_t seed = 0x299f31d0'a4093822U;
    const std::uint64_t block = 0x05a308d3'243f6a88U;
    const philox_block expected = philox4x32({{0x243f6a88, 0x05a308d3, 0, 0}}, {{0xa4093822, 0x299f31d0}});
    for (std::uint64_t word = 0; word < 4; ++word) { CHECK(philox_u32(seed, 4 * block + word) == expected.word[word]); }
}

TEST_CASE("philox_fill: the same words as one by one, for any start and length")
{
    const std::uint64_t seed = 0x0123'4567'89ab'cdefU;
    // The last starts put the end of the low counter word, where it carries, into the run.
    const std::uint64_t starts[] = {0, 1, 2, 3, 4, 1'000'003, 4 * 0xffff'fffcULL, 4 * 0xffff'fff1ULL + 3};
    for (const std::uint64_t first : starts) {
        for (const std::size_t n : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 15U, 31U, 32U, 33U, 63U, 64U, 67U, 127U, 1009U}) {
            const std::uint32_t untouched = 0xdeadbeef;
            std::vector<std::uint32_t> out(n + 2, untouched);
            philox_fill(seed, first, n, out.data() + 1);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < n; ++i) { wrong += out[i + 1] != philox_u32(seed, first + i); }
            CHECK(wrong == 0);
            CHECK(out.front() == untouched);
            CHECK(out.back() == untouched);
        }
    }
}

TEST_CASE("philox_fill: known answers from the start of stream 0")
{
    std::vector<std::uint32_t> out(67);
    philox_fill(0, 0, out.size(), out.data());
    for (std::size_t i = 0; i < 4; ++i) { CHECK(out[i] == zeros.word[i]); }
}

TEST_CASE("keep_threshold: the share of kept elements is 1 - p, within five standard deviations")
{
    const std::size_t n = 1 << 16;
    std::vector<std::uint32_t> words(n);
    philox_fill(7, 1, n, words.data());
    for (const int percent : {0, 10, 50, 90, 100}) {
        const std::uint64_t threshold = keep_threshold(percent / 100.0);
        long long kept = 0;
        for (const std::uint32_t word : words) { kept += word >= threshold; }
        const long long expected = static_cast<long long>(n) * (100 - percent) / 100;
        const long long allowed = percent == 0 || percent == 100 ? 0 : 5 * 128;  // deviation: at most sqrt(n) / 2 = 128
        CHECK(kept >= expected - allowed);
        CHECK(kept <= expected + allowed);
    }
    CHECK(0xffff'ffffU < keep_threshold(1.0));
}
