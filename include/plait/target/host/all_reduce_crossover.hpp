// From which size on an unfused all_reduce goes in slices, on the host.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>

#include <cstdint>

namespace plait::host {

/// Up to how many bytes two ranks each combine the whole of an all_reduce by themselves.
inline constexpr std::int64_t one_shot_bytes = std::int64_t{1} << 14;

/// Whether an unfused all_reduce hands slices around; all ranks decide alike.
inline bool is_two_shot(const arguments& args, const node& n)
{
    switch (args.parameters().all_reduce) {
    case all_reduce_algorithm::one_shot: return false;
    case all_reduce_algorithm::two_shot: return true;
    default: return args.ranks() > 2 || args.elements_of(n) * static_cast<std::int64_t>(size_of(n.type)) > one_shot_bytes;
    }
}

}  // namespace plait::host
