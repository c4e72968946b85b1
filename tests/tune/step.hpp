// A program to tune, and what it must give: on devices and on processes alike.
#pragma once

#include <plait/lang/program.hpp>
#include <plait/schedule/schedule.hpp>

#include <cstddef>

namespace tune_test {

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, N);
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
constexpr auto step = pl::program<"step">(pl::update(x, x - sum * 0.5_c));
constexpr auto fused = step | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;

/// Element i of a rank's g.
inline float gradient(std::size_t i, int rank) { return static_cast<float>(i % 8) + static_cast<float>(rank); }
/// Element i of x after k steps from zero: exact in float.
inline float expected(std::size_t i, int ranks, int k)
{
    const auto n = static_cast<float>(ranks);
    return -0.5F * (n * static_cast<float>(i % 8) + n * (n - 1) / 2) * static_cast<float>(k);
}

}  // namespace tune_test
