// One call per program: run it, compare it with the oracle.
#pragma once

#include "run/harness.hpp"

namespace harness {

/// Inputs for every tensor of a program: random numbers of its dtype, by rank where it is local; integers small.
inline reference::inputs random_inputs(const program& p, int ranks, const std::map<std::string, std::int64_t>& extents,
                                       std::uint64_t seed = 1, double low = -2, double high = 2)
{
    reference::inputs given;
    for (const auto& [name, extent] : extents) {
        const auto has = [&, name = name](const tensor_info& t) { return std::ranges::count(t.dim_names, name) > 0; };
        if (std::ranges::any_of(p.tensors, has)) { given.extents[name] = extent; }
    }
    for (const tensor_info& t : p.tensors) {
        std::int64_t n = 1;
        for (std::size_t d = 0; d < t.shape.size(); ++d) {
            n *= t.dim_names[d].empty() ? t.shape[d] : extents.at(t.dim_names[d]);
        }
        const bool whole = plait::is_integer(t.type) || t.type == plait::dtype::boolean;
        const double from = t.type == plait::dtype::u8 || t.type == plait::dtype::boolean ? 0 : whole ? low * 3 : low;
        const double to = t.type == plait::dtype::boolean ? 2 : whole ? high * 3 : high;
        for (int r = 0; r < (t.layout == plait::layout_kind::local ? ranks : 1); ++r) {
            given.tensors[t.name].push_back(random_numbers(t.type, n, ++seed * 7919, from, to));
        }
    }
    return given;
}

/// A unit in the last place of a dtype around 1, times two.
inline double two_ulp(plait::dtype type)
{
    switch (type) {
    case plait::dtype::f16: return 0x1p-9;
    case plait::dtype::bf16: return 0x1p-6;
    case plait::dtype::f32: return 0x1p-22;
    case plait::dtype::f64: return 0x1p-50;
    default: return 0;
    }
}

/// Runs p and checks each result against the oracle, within `ulps` times two_ulp of its dtype.
inline outcome check(const program& p, int ranks, const reference::inputs& given, double ulps = 1,
                     const layout& how = {})
{
    const outcome result = run(p, ranks, given, 1, {}, how);
    const auto expected = harness::expected(p, ranks, given);
    CHECK(result.written.size() == expected.size());
    for (const auto& [name, written] : result.written) {
        const plait::dtype type = result.types.at(name);
        const double error = largest_error(outcome{{{name, written}}, {{name, type}}}, expected);
        INFO(p.name, ": tensor ", name, " on ", ranks, " ranks");
        CHECK(error <= ulps * two_ulp(type));
    }
    return result;
}

}  // namespace harness
