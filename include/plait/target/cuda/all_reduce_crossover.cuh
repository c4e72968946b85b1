// From which size on an unfused all_reduce goes in slices.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/plan/arguments.hpp>

#include <cstdint>

namespace plait::cuda {

/// Up to how many bytes every rank combines the whole of an unfused all_reduce by itself (one-shot) instead of handing
/// slices around (two-shot). All ranks decide alike.
struct all_reduce_crossover {
    int ranks;  // up to this many
    std::int64_t one_shot_bytes;
};
inline constexpr all_reduce_crossover all_reduce_crossovers[] = {{2, 1 << 19}, {4, 1 << 18}, {8, 1 << 17}, {1 << 30, 1 << 15}};
/// By multicast always two-shot, unless one-shot is asked for: so all ranks have the same bits, whatever the order of adding.
inline bool is_two_shot(const arguments& args, const node& n, bool by_multicast = false)
{
    const all_reduce_algorithm chosen = args.parameters().all_reduce;
    if (chosen != all_reduce_algorithm::automatic) { return chosen == all_reduce_algorithm::two_shot; }
    if (by_multicast) { return true; }
    const std::int64_t bytes = args.elements_of(n) * static_cast<std::int64_t>(size_of(n.type));
    const auto* row = plait::detail::find_if(all_reduce_crossovers, [&](const auto& c) { return args.ranks() <= c.ranks; });
    return bytes > row->one_shot_bytes;
}

}  // namespace plait::cuda
