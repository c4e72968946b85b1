// Parts of timelines: one run of a program, and how much of its communication is hidden.
#pragma once

#include <plait/run/gather.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace plait {

/// The events of one run of a program, on all ranks.
inline timeline select_run(const timeline& t, int program, int run)
{
    timeline one = t;
    std::erase_if(one.events, [&](const trace_event& e) { return e.program != program || e.run != run; });
    return one;
}

/// Of the runs of a program the one that took the median time, from the first rank's beginning to the last one's end: the one to
/// look at. Without runs there are no events.
inline timeline typical_run(const timeline& t, int program = 0)
{
    std::map<int, std::pair<std::int64_t, std::int64_t>> spans;
    for (const trace_event& e : t.events) {
        if (e.program != program || e.what != activity::run) { continue; }
        const auto [at, is_new] = spans.try_emplace(e.run, e.begin, e.end);
        if (!is_new) { at->second = {std::min(at->second.first, e.begin), std::max(at->second.second, e.end)}; }
    }
    std::vector<std::pair<std::int64_t, int>> by_length;
    for (const auto& [run, span] : spans) { by_length.emplace_back(span.second - span.first, run); }
    if (by_length.empty()) { return select_run(t, program, -1); }
    const auto middle = by_length.begin() + static_cast<std::ptrdiff_t>(by_length.size() / 2);
    std::ranges::nth_element(by_length, middle);
    return select_run(t, program, middle->second);
}

/// Nanoseconds of all ranks together in which data moved, and of these in which the rank computed meanwhile. Only a
/// simulated link's transfers are known to go on beside computations.
struct hidden_time {
    std::int64_t moving = 0;
    std::int64_t hidden = 0;
};
inline hidden_time hidden_communication(const timeline& t)
{
    hidden_time sum;
    for (int rank = 0; rank < t.ranks; ++rank) {
        std::vector<std::pair<std::int64_t, std::int64_t>> busy;  // in order, apart from each other
        for (const trace_event& e : t.events) {
            const bool computes = e.what == activity::compute || e.what == activity::fused;
            if (e.rank == rank && computes && e.lane == trace_lane::compute) { busy.emplace_back(e.begin, e.end); }
        }
        auto from = busy.begin();
        for (const trace_event& e : t.events) {
            if (e.rank != rank || e.lane != trace_lane::link) { continue; }
            sum.moving += e.end - e.begin;
            while (from != busy.end() && from->second <= e.begin) { ++from; }
            for (auto b = from; b != busy.end() && e.end > b->first; ++b) {
                sum.hidden += std::min(b->second, e.end) - std::max(b->first, e.begin);
            }
        }
    }
    return sum;
}

}  // namespace plait
