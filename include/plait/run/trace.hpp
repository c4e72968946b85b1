// What one rank's programs did when: events of passes, chunks, waits and transfers.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/link.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/plan/stage_name.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

/// What an event is. run: one call of a program, from when the ranks have agreed; its passes lie within. compute, communication,
/// fused: a pass or a chunk of it, by the kind of its stage; communication also a transfer over a link or by messages.
/// waiting: for other ranks, or for a transfer.
enum class activity : std::uint8_t { run, compute, communication, fused, waiting };

constexpr std::string_view name_of(activity a)
{
    constexpr std::string_view names[] = {"run", "compute", "communication", "fused", "waiting"};
    return names[static_cast<int>(a)];
}

/// Whose time an event is. compute: the rank's thread, when it computes, runs fused kernels or waits. communication: the same
/// thread, when it moves data or waits until they are moved. link: the rank's end of a simulated link, beside the thread.
/// Events of a lane do not overlap, except that runs hold their passes.
enum class trace_lane : std::uint8_t { compute, communication, link };

constexpr std::string_view name_of(trace_lane l)
{
    constexpr std::string_view names[] = {"compute", "communication", "link"};
    return names[static_cast<int>(l)];
}

/// One thing that a rank did, from `begin` to `end`, in nanoseconds of std::chrono::steady_clock.
struct trace_event {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int32_t run = 0;      ///< which call of the program since tracing began, from 0
    std::int32_t pass = -1;    ///< of the plan; -1: none in particular
    std::int32_t chunk = -1;   ///< of a pipeline; -1: the whole pass
    std::int32_t rank = 0;     ///< of the world
    std::int32_t program = 0;  ///< in the list of programs
    activity what = activity::run;
    trace_lane lane = trace_lane::compute;
};

/// A program as events refer to it: its name, a hash that schedules of one program differ in, and its passes.
struct traced_program {
    struct stage {
        std::string name;
        stage_kind kind = stage_kind::compute;
        bool operator==(const stage&) const = default;
    };
    std::string name;
    std::uint64_t hash = 0;
    std::vector<stage> stages{};
    bool operator==(const traced_program&) const = default;
};

/// One rank's recorder. Several executables may write to it, all on the rank's thread:
/// ```
/// plait::trace t;
/// run.set_trace(&t);
/// ```
/// It has room for `capacity` events from the beginning; those that come later are counted and dropped. It must live as long
/// as an executable writes to it.
class trace {
  public:
    /// With room for so many events of 40 bytes.
    explicit trace(std::size_t capacity = std::size_t{1} << 16) : capacity_(capacity) { events_.reserve(capacity); }

    /// What was recorded, in the order of endings.
    [[nodiscard]] view<const trace_event> events() const { return {events_.data(), events_.size()}; }
    /// How many events there was no room for.
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
    /// The programs that write here.
    [[nodiscard]] view<const traced_program> programs() const { return {programs_.data(), programs_.size()}; }
    /// Forgets all events; the programs stay, their runs are counted on.
    void clear()
    {
        events_.clear();
        dropped_ = 0;
    }

    /// The median over all runs of the time that a pass took on this rank, with the transfers of its data, without waiting for
    /// ranks. Of a pipeline, whose transfers go on beside it: of the chunks together. Nothing if no run of it was recorded.
    [[nodiscard]] std::optional<double> seconds_of(const program_image& program, std::size_t pass) const
    {
        std::vector<std::size_t> first(programs_.size());  // of a program's runs, in one list for all with this hash
        std::size_t count = 0;
        for (std::size_t p = 0; p < programs_.size(); ++p) {
            first[p] = count;
            count += programs_[p].hash == program.hash ? runs_[p] : 0;
        }
        struct time {
            std::int64_t begin = 0;  // of a whole pass
            std::int64_t end = 0;
            std::int64_t chunks = 0;  // together
            bool seen = false;
        };
        std::vector<time> times(count);
        for (const trace_event& e : events_) {
            const auto p = static_cast<std::size_t>(e.program);
            const bool chunk_moves = e.chunk >= 0 && e.lane == trace_lane::link;  // beside others
            if (programs_[p].hash != program.hash || e.pass != static_cast<std::int32_t>(pass) || chunk_moves) { continue; }
            time& t = times[first[p] + static_cast<std::size_t>(e.run)];
            if (e.chunk >= 0) {
                t.chunks += e.end - e.begin;
            } else {
                t.begin = t.seen ? std::min(t.begin, e.begin) : e.begin;
                t.end = std::max(t.end, e.end);
            }
            t.seen = true;
        }
        std::vector<std::int64_t> all;
        for (const time& t : times) {
            if (t.seen) { all.push_back(t.end - t.begin + t.chunks); }
        }
        if (all.empty()) { return std::nullopt; }
        const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
        std::nth_element(all.begin(), middle, all.end());
        return 1e-9 * static_cast<double>(*middle);
    }

    /// The clock of events.
    [[nodiscard]] static std::int64_t now()
    {
        return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
    }

    /// For runners. Takes a program into the list, once; returns its index.
    int add_program(const program_image& image, std::string_view name)
    {
        const std::string_view called = name.empty() ? image.name : name;
        if (const int found = find(called, image.hash); found >= 0) { return found; }
        traced_program p{std::string{called}, image.hash, {}};
        for (std::size_t i = 0; i < image.plan.passes.size(); ++i) {
            p.stages.push_back({stage_name(image, i), kind_of_stage(image.plan.passes[i])});
        }
        programs_.push_back(std::move(p));
        runs_.push_back(0);
        return static_cast<int>(programs_.size()) - 1;
    }
    /// For runners. The number of a program's next run.
    std::int32_t begin_run(int program) { return static_cast<std::int32_t>(runs_[static_cast<std::size_t>(program)]++); }
    /// For runners. Never allocates.
    void add(const trace_event& e)
    {
        if (events_.size() < capacity_) {
            events_.push_back(e);
        } else {
            ++dropped_;
        }
    }

  private:
    [[nodiscard]] int find(std::string_view name, std::uint64_t hash) const
    {
        const auto same = [&](const traced_program& p) { return p.hash == hash && p.name == name; };
        const auto at = detail::find_if(programs_, same);
        return at == programs_.end() ? -1 : static_cast<int>(at - programs_.begin());
    }

    std::size_t capacity_;
    std::vector<trace_event> events_;
    std::vector<traced_program> programs_;
    std::vector<std::size_t> runs_;  // by program: how many have begun
    std::uint64_t dropped_ = 0;
};

namespace detail {

/// By pass of a program, what its events are.
inline std::vector<activity> activities_of(const program_image& image)
{
    std::vector<activity> all;
    for (const pass_view& p : image.plan.passes) {
        const stage_kind k = kind_of_stage(p);
        all.push_back(k == stage_kind::compute         ? activity::compute
                      : k == stage_kind::communication ? activity::communication
                                                       : activity::fused);
    }
    return all;
}

/// What a runner writes events with. Off, each call is one branch that is never taken.
class tracer {
  public:
    /// Writes to `t` from now on, or no more if it is null.
    void set(trace* t, const program_image& image, std::string_view name, int rank)
    {
        to_ = t;
        if (t == nullptr) { return; }
        event_.program = t->add_program(image, name);
        event_.rank = rank;
        kinds_ = activities_of(image);
    }
    [[nodiscard]] bool on() const { return to_ != nullptr; }
    /// The time, or nothing in particular while off.
    [[nodiscard]] std::int64_t now() const { return on() ? trace::now() : 0; }

    /// Begins a run. Returns the time.
    std::int64_t begin_run()
    {
        if (!on()) { return 0; }
        event_.run = to_->begin_run(event_.program);
        running_ = true;
        return trace::now();
    }
    /// A run that began at `begin` ends.
    void end_run(std::int64_t begin)
    {
        if (!on()) [[likely]] { return; }
        running_ = false;
        add(begin, trace::now(), -1, -1, activity::run, trace_lane::compute);
    }
    /// A pass, or a chunk of it, that began at `begin` ends.
    void end_pass(std::int64_t begin, std::size_t pass, int chunk = -1)
    {
        if (!on()) [[likely]] { return; }
        const activity what = kinds_[pass];
        const auto lane = what == activity::communication ? trace_lane::communication : trace_lane::compute;
        add(begin, trace::now(), static_cast<std::int32_t>(pass), chunk, what, lane);
    }
    /// Since `begin` this rank did nothing but move a pass's data, or wait until it was moved.
    void end_moving(std::int64_t begin, std::size_t pass)
    {
        const bool moves = on() && kinds_[pass] != activity::compute;
        if (moves) { add(begin, trace::now(), static_cast<std::int32_t>(pass), -1, activity::communication, trace_lane::communication); }
    }
    /// This rank waited since `begin`. Meetings before a run are not part of it.
    void end_waiting(std::int64_t begin)
    {
        if (on() && running_) [[unlikely]] { add(begin, trace::now(), -1, -1, activity::waiting, trace_lane::compute); }
    }
    /// Starts a transfer on a link and returns when it has arrived, as link_end::transfer does.
    link_end::time transfer(link_end& wire, std::uint64_t bytes, link_end::time from, std::size_t pass, int chunk = -1)
    {
        const link_end::time idle_from = wire.busy_until();
        const link_end::time arrives = wire.transfer(bytes, from);
        if (on() && wire.is_simulated() && bytes > 0) {
            add(nanoseconds(std::max(idle_from, from)), nanoseconds(wire.busy_until()), static_cast<std::int32_t>(pass), chunk,
                activity::communication, trace_lane::link);
        }
        return arrives;
    }

  private:
    static std::int64_t nanoseconds(link_end::time t) { return std::chrono::nanoseconds(t.time_since_epoch()).count(); }
    void add(std::int64_t begin, std::int64_t end, std::int32_t pass, std::int32_t chunk, activity what, trace_lane lane)
    {
        trace_event e = event_;
        e.begin = begin;
        e.end = end;
        e.pass = pass;
        e.chunk = chunk;
        e.what = what;
        e.lane = lane;
        to_->add(e);
    }

    trace* to_ = nullptr;
    trace_event event_{};          // what all events of a run have in common
    std::vector<activity> kinds_;  // by pass
    bool running_ = false;
};

}  // namespace detail
}  // namespace plait
