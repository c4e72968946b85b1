// What passes do to other ranks' memory, and so where ranks must meet.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/view.hpp>
#include <plait/plan/pipelines.hpp>

#include <cstddef>

namespace plait::cuda {

/// Whether a pass reads or writes the memory of other ranks.
inline bool touches_peers(const pass_view& pass)
{
    const auto reads = [](const pass_operand& o) { return o.slot >= 0 && o.from != source::own; };
    const auto writes = [](const pass_result& r) { return r.to != destination::own; };
    return plait::detail::any_of(pass.operands, reads) || plait::detail::any_of(pass.results, writes);
}

/// Whether a pass is a kernel that can meet: not if something must be cleared between the meeting and it.
inline bool meets_inside(const pass_view& p)
{
    const bool kernel = p.kind == pass_kind::map || p.kind == pass_kind::all_reduce || p.kind == pass_kind::reduce_axis;
    return kernel && !plait::detail::any_of(p.results, [](const pass_result& r) { return r.to == destination::root; });
}

/// Inside a pipeline the plan has no barriers: whether one of passes [p, p + count) reads what ranks wrote in one before them.
inline bool depends_in_pipeline(view<const pass_view> passes, std::size_t p, std::size_t count)
{
    const auto depends = [&](const pass_view& on) {
        return plait::detail::any_of(passes.subspan(p, count), [&](const pass_view& q) { return plait::detail::depends_on(q, on) != plait::detail::signal_scope::none; });
    };
    for (std::size_t first = 0; first < p; ++first) {
        const bool inside = static_cast<std::size_t>(passes[first].chunked_until) > p;
        if (inside && plait::detail::any_of(passes.subspan(first, p - first), depends)) { return true; }
    }
    return false;
}

}  // namespace plait::cuda
