// The checks that every optimizer passes: each schedule against the oracle, and bit for bit against each other.
#pragma once

#include "run/harness.hpp"
#include "slow.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace workload {

using plait::dtype;

struct optimizer {
    harness::program unscheduled;
    harness::program sliced;
    harness::program fused;
};
template <class Optimizer>
optimizer make(const std::string& name)
{
    return {harness::erased(Optimizer::unscheduled, name + " unscheduled"),
            harness::erased(Optimizer::sliced, name + " sliced"), harness::erased(Optimizer::fused, name + " fused")};
}

/// Every scalar that an optimizer may have, as f32 numbers, at step 0, 1, ...
inline std::map<std::string, double> scalars(int step)
{
    std::map<std::string, double> s{
        {"lr", 0.01F},          {"beta1", 0.9F},    {"beta2", 0.99F},         {"eps", 1e-6F},
        {"weight_decay", 0.1F}, {"momentum", 0.9F}, {"inv_scale", 1.0F / 64}, {"max_norm", 0.5F}};
    s["c1"] = static_cast<float>(1 - std::pow(s["beta1"], step + 1));
    s["c2"] = static_cast<float>(1 - std::pow(s["beta2"], step + 1));
    return s;
}

struct problem {
    int ranks = 2;
    std::int64_t n = 0;
    harness::layout how{};
    reference::shape counts{};  // of the tensors that make up the vector; empty: one
    double gradient_scale = 1;
};

inline reference::inputs inputs_of(const harness::program& p, const problem& of)
{
    reference::inputs given;
    given.extents["N"] = of.n;
    if (!of.counts.empty()) { given.counts["N"] = of.counts; }
    std::uint64_t seed = 100;
    for (const harness::tensor_info& t : p.tensors) {
        const bool state = t.name == "m" || t.name == "v";
        for (int r = 0; r < (t.name == "g" ? of.ranks : 1); ++r) {
            const double size = t.name == "g" ? of.gradient_scale : 1;
            given.tensors[t.name].push_back(state ? reference::numbers(static_cast<std::size_t>(of.n), 0.0)
                                                  : harness::random_numbers(t.type, of.n, ++seed, -size, size));
        }
    }
    return given;
}

/// A rounding error of the dtype's last place, or two: results of f16 and bf16 may be rounded to the neighbour.
inline double tolerance(dtype type, bool mixed)
{
    switch (type) {
    case dtype::f16: return 2e-3;
    case dtype::bf16: return 1.6e-2;
    default: return mixed ? 2e-4 : 2e-5;
    }
}

inline void check(const optimizer& o, const problem& of)
{
    constexpr int steps = 3;
    const reference::inputs given = inputs_of(o.unscheduled, of);
    const auto expected = harness::expected(o.unscheduled, of.ranks, given, steps, scalars);
    const harness::outcome first = harness::run(o.unscheduled, of.ranks, given, steps, scalars, of.how);
    INFO(o.unscheduled.name, ", ", of.ranks, " ranks, N = ", of.n, ", ", of.counts.size(), " tensors, scattered ",
         of.how.scattered, ", shift ", of.how.shift);
    REQUIRE(first.written.size() == expected.size());
    const bool mixed = first.types.contains("model");
    for (const auto& [name, values] : expected) {
        CAPTURE(name);
        const harness::outcome one{{{name, first.written.at(name)}}, {{name, first.types.at(name)}}};
        CHECK(harness::largest_error(one, expected) <= tolerance(first.types.at(name), mixed));
    }
    for (const harness::program* p : {&o.sliced, &o.fused}) {
        CAPTURE(p->name);
        CHECK(harness::run(*p, of.ranks, given, steps, scalars, of.how) == first);
    }
}

/// All sizes that may go wrong, for 1 to 9 ranks.
inline void check_sizes(const optimizer& o, double gradient_scale = 1)
{
    for (int ranks = 1; ranks <= 9; ++ranks) {
        if (runs_slowly && ranks > 5) { break; }
        for (std::int64_t n : {0, 1, ranks - 1, ranks, ranks + 1, 7, 127, 1023, 1024, 1025, 4099}) {
            check(o, {.ranks = ranks, .n = n, .gradient_scale = gradient_scale});
        }
    }
    for (int ranks : {2, 3}) {
        if (!runs_slowly) { check(o, {.ranks = ranks, .n = 65537, .gradient_scale = gradient_scale}); }
        if (runs_slowly && ranks > 2) { break; }
        check(o, {.ranks = ranks, .n = 2 * 1024 * 64 - 1, .gradient_scale = gradient_scale});
    }
    for (std::size_t shift : {1, 3}) {
        for (std::int64_t n : {1, 63, 2053}) {
            check(o, {.ranks = 3, .n = n, .how = {.shift = shift}, .gradient_scale = gradient_scale});
        }
    }
}

/// Many tensors of odd sizes, empty ones among them: scattered, and as one vector with a partition.
inline void check_tensors(const optimizer& o, double gradient_scale = 1)
{
    reference::shape many;
    for (int i = 0; i < 120; ++i) { many.push_back(i % 10 == 3 ? 0 : i % 7 == 0 ? 1 : (i * 37) % 211); }
    for (const reference::shape& counts :
         {reference::shape{5}, reference::shape{0}, reference::shape{3, 0, 1030}, many}) {
        std::int64_t n = 0;
        for (std::int64_t c : counts) { n += c; }
        for (int ranks : {1, 2, 4}) {
            problem p{.ranks = ranks,
                      .n = n,
                      .how = {.partitioned = {"N"}},
                      .counts = counts,
                      .gradient_scale = gradient_scale};
            check(o, p);
            const harness::outcome together =
                harness::run(o.unscheduled, ranks, inputs_of(o.unscheduled, p), 3, scalars, p.how);
            p.how = {.shift = 1, .scattered = true};
            // State that is stored in slices is contiguous; everything else is scattered.
            for (const harness::program* schedule : {&o.unscheduled, &o.sliced, &o.fused}) {
                CAPTURE(schedule->name);
                CAPTURE(ranks);
                CAPTURE(counts.size());
                CHECK(harness::run(*schedule, ranks, inputs_of(*schedule, p), 3, scalars, p.how) == together);
            }
        }
    }
}

}  // namespace workload
