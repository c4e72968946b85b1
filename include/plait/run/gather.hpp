// All ranks' events in one place, on one clock.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/run/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace plait {

/// What ranks did when: events by rank, and in a rank by their beginnings, a run before what lies within.
struct timeline {
    int ranks = 1;
    std::vector<traced_program> programs{};  ///< of all ranks; events refer to these
    std::vector<trace_event> events{};       ///< on the clock of rank 0
    std::uint64_t dropped = 0;               ///< events that were not recorded, on all ranks together
    std::int64_t clock_error = 0;            ///< nanoseconds that a rank's clock may be off, at most; 0 where all ranks share one
};

namespace detail {

/// Puts events in a timeline's order.
inline void sort_events(std::vector<trace_event>& events)
{
    std::ranges::stable_sort(events, [](const trace_event& a, const trace_event& b) {
        return std::tuple{a.rank, a.begin, -a.end} < std::tuple{b.rank, b.begin, -b.end};
    });
}

/// Adds a rank's programs and events to a timeline, on whose clock the rank's is `ahead`.
inline void merge(timeline& into, view<const traced_program> programs, view<const trace_event> events,
                  std::int64_t ahead)
{
    std::vector<std::int32_t> place;
    for (const traced_program& p : programs) {
        const auto at = std::ranges::find(into.programs, p);
        place.push_back(static_cast<std::int32_t>(at - into.programs.begin()));
        if (at == into.programs.end()) { into.programs.push_back(p); }
    }
    for (trace_event e : events) {
        e.program = place[static_cast<std::size_t>(e.program)];
        e.begin -= ahead;
        e.end -= ahead;
        into.events.push_back(e);
    }
}

/// A trace as bytes, and back.
inline std::string packed(const trace& t)
{
    std::string bytes;
    const auto number = [&](std::uint64_t n) { bytes.append(reinterpret_cast<const char*>(&n), sizeof n); };
    const auto text = [&](const std::string& s) {
        number(s.size());
        bytes += s;
    };
    number(t.dropped());
    number(t.programs().size());
    for (const traced_program& p : t.programs()) {
        text(p.name);
        number(p.hash);
        number(p.stages.size());
        for (const traced_program::stage& s : p.stages) {
            text(s.name);
            number(static_cast<std::uint64_t>(s.kind));
        }
    }
    number(t.events().size());
    bytes.append(reinterpret_cast<const char*>(t.events().data()), t.events().size_bytes());
    return bytes;
}
inline void unpack(timeline& into, std::string_view bytes, std::int64_t ahead)
{
    const auto take = [&](void* to, std::size_t count) {
        if (count > 0) { std::memcpy(to, bytes.data(), count); }
        bytes.remove_prefix(count);
    };
    const auto number = [&] {
        std::uint64_t n = 0;
        take(&n, sizeof n);
        return n;
    };
    const auto text = [&] {
        std::string s(number(), '\0');
        take(s.data(), s.size());
        return s;
    };
    into.dropped += number();
    std::vector<traced_program> programs(number());
    for (traced_program& p : programs) {
        p.name = text();
        p.hash = number();
        p.stages.resize(number());
        for (traced_program::stage& s : p.stages) {
            s.name = text();
            s.kind = static_cast<stage_kind>(number());
        }
    }
    std::vector<trace_event> events(number());
    take(events.data(), events.size() * sizeof(trace_event));
    merge(into, programs, events, ahead);
}

/// By rank, how far its clock is ahead of rank 0's: between `least` and `most`, as nobody leaves a meeting before all have come.
struct clock_bounds {
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
template <communicator C>
std::vector<clock_bounds> compare_clocks(C& comm)
{
    constexpr int meetings = 33;
    struct times {
        std::int64_t entered;
        std::int64_t left_last;
    };
    const auto n = static_cast<std::size_t>(comm.size());
    std::vector<clock_bounds> bounds(n);
    std::vector<times> last(n);
    times mine{};
    for (int i = 0; i < meetings; ++i) {
        mine.entered = trace::now();
        const auto all = comm.exchange(&mine, sizeof mine, "trace: clocks");
        mine.left_last = trace::now();
        times zero{};
        std::memcpy(&zero, all[0], sizeof zero);
        for (std::size_t r = 0; r < n; ++r) {
            times theirs{};
            std::memcpy(&theirs, all[r], sizeof theirs);
            if (i > 0) {
                bounds[r].least = std::max(bounds[r].least, last[r].entered - zero.left_last);
                bounds[r].most = std::min(bounds[r].most, theirs.left_last - last[0].entered);
            }
            if (r > 0) { last[r] = theirs; }
        }
        last[0] = zero;
    }
    return bounds;
}

}  // namespace detail

/// One rank's events as a timeline.
inline timeline timeline_of(const trace& t)
{
    timeline all;
    all.dropped = t.dropped();
    detail::merge(all, t.programs(), t.events(), 0);
    for (const trace_event& e : all.events) { all.ranks = std::max(all.ranks, e.rank + 1); }
    detail::sort_events(all.events);
    return all;
}

/// All ranks' events, on rank 0; the other ranks get none. A meeting of all ranks. Clocks of ranks that share memory with rank 0
/// are the same; the others' are compared in some meetings, now, and `clock_error` bounds what that leaves open: about as long as
/// a meeting takes. (What clocks drift apart between the events and now is not in it: a few microseconds a second at worst.)
template <communicator C>
timeline gather(C& comm, const trace& t)
{
    constexpr std::size_t piece = std::size_t{1} << 15;  // at a time, as every rank has room for everybody's
    timeline all;
    all.ranks = comm.size();
    const std::vector<detail::clock_bounds> clocks = detail::compare_clocks(comm);
    const std::string mine = detail::packed(t);
    const auto n = static_cast<std::size_t>(comm.size());
    std::vector<std::uint64_t> sizes(n);
    const std::uint64_t size = mine.size();
    std::uint64_t longest = 0;
    {
        const auto shown = comm.exchange(&size, sizeof size, "trace: sizes");
        for (std::size_t r = 0; r < n; ++r) {
            std::memcpy(&sizes[r], shown[r], sizeof size);
            longest = std::max(longest, sizes[r]);
        }
    }
    std::vector<std::string> theirs(n);
    std::vector<char> record(std::min<std::size_t>(piece, longest));
    for (std::size_t at = 0; at < longest; at += record.size()) {
        const std::size_t left = at < mine.size() ? std::min(record.size(), mine.size() - at) : 0;
        if (left > 0) { std::memcpy(record.data(), mine.data() + at, left); }
        const auto shown = comm.exchange(record.data(), record.size(), "trace: events");
        for (std::size_t r = 0; r < n && comm.rank() == 0; ++r) {
            const std::uint64_t rest = sizes[r] > at ? sizes[r] - at : 0;
            theirs[r].append(static_cast<const char*>(shown[r]), std::min<std::uint64_t>(rest, record.size()));
        }
    }
    if (comm.rank() != 0) { return all; }
    for (std::size_t r = 0; r < n; ++r) {
        const bool same = comm.shares(static_cast<int>(r));
        const std::int64_t width = same ? 0 : clocks[r].most - clocks[r].least;
        detail::unpack(all, theirs[r], same ? 0 : clocks[r].least + width / 2);
        all.clock_error = std::max(all.clock_error, (width + 1) / 2);
    }
    detail::sort_events(all.events);
    return all;
}

}  // namespace plait
