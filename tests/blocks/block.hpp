// The checks that every ready block passes: its schedules against the oracle, and bit for bit against each other.
#pragma once

#include "run/check.hpp"

#include <array>
#include <string>
#include <vector>

namespace block {

struct sizes {
    std::int64_t b, s, h, k;
};
/// Odd ones, empty ones, fewer than ranks, larger than a tile.
inline constexpr std::array all_sizes = {sizes{1, 1, 1, 1},  sizes{2, 3, 5, 7},   sizes{0, 2, 3, 4},    sizes{2, 0, 3, 4},
                                         sizes{1, 4, 2, 0},  sizes{3, 17, 6, 33}, sizes{1, 97, 64, 16}, sizes{2, 64, 33, 31},
                                         sizes{1, 2, 1100, 3}};

/// The largest error relative to the largest expected magnitude of a tensor: f32 1e-5, f16 and bf16 1e-2.
inline double tolerance(plait::dtype type)
{
    return type == plait::dtype::f16 || type == plait::dtype::bf16 ? 1e-2 : 1e-5;
}

inline reference::inputs inputs(const harness::program& p, int ranks, const sizes& z)
{
    reference::inputs given = harness::random_inputs(
        p, ranks, {{"B", z.b}, {"S", z.s}, {"H", z.h}, {"K", z.k}}, 5, -1, 1);
    given.scalars = {{"p", 0.25}, {"seed", 77}};
    return given;
}

/// Compares the first program with the oracle, all others with the first.
inline void check(const std::vector<harness::program>& schedules, int ranks, const sizes& z)
{
    CAPTURE(ranks);
    CAPTURE(z.s);
    CAPTURE(z.h);
    const reference::inputs given = inputs(schedules[0], ranks, z);
    const auto expected = harness::expected(schedules[0], ranks, given);
    const harness::outcome first = harness::run(schedules[0], ranks, given);
    for (const auto& [name, written] : first.written) {
        double scale = 1;
        for (const reference::numbers& x : expected.at(name)) {
            for (double e : x) { scale = std::max(scale, std::fabs(e)); }
        }
        const plait::dtype type = first.types.at(name);
        CAPTURE(name);
        CHECK(harness::largest_error(harness::outcome{{{name, written}}, {{name, type}}}, expected) <=
              tolerance(type) * scale);
    }
    for (std::size_t i = 1; i < schedules.size(); ++i) {
        CAPTURE(schedules[i].name);
        CHECK(harness::run(schedules[i], ranks, given, 2) == first);
    }
}

inline void check_all(const std::vector<harness::program>& schedules, int most_ranks = 4)
{
    for (int ranks = 1; ranks <= most_ranks; ++ranks) {
        for (const sizes& z : all_sizes) { check(schedules, ranks, z); }
    }
}

}  // namespace block
