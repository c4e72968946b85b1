// Tracing on devices: CUDA events around what a pass puts on a stream, on the clock of the host.
#pragma once

#include <plait/plan/lowered.hpp>
#include <plait/run/trace.hpp>
#include <plait/target/cuda/pipeline.cuh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait::cuda {

/// An event that tells when it was reached.
class timed_event {
  public:
    timed_event() { check(cudaEventCreateWithFlags(&event_, cudaEventDefault), "CUDA: an event"); }
    timed_event(const timed_event&) = delete;
    timed_event& operator=(const timed_event&) = delete;
    ~timed_event() { static_cast<void>(cudaEventDestroy(event_)); }
    void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "CUDA: recording an event"); }
    void await() const { check(cudaEventSynchronize(event_), "CUDA: waiting for an event"); }
    /// Nanoseconds from another one until this one. @pre both are reached
    [[nodiscard]] std::int64_t since(const timed_event& other) const
    {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, other.event_, event_), "CUDA: the time between events");
        return std::llround(1e6 * static_cast<double>(milliseconds));
    }

  private:
    cudaEvent_t event_ = nullptr;
};

/// Records runs of one executable. Their events reach the trace some runs later, when the device has surely got there, or when
/// tracing is turned off. So many runs may be under way; the next one waits for the oldest of them.
class device_tracer {
  public:
    /// Writes to `t` from now on, or delivers what is under way and writes no more if it is null. Waits for the stream.
    void set(trace* t, const program_image& image, std::string_view name, int rank, cudaStream_t stream)
    {
        if (to_ != nullptr) {
            for (std::size_t i = 0; i < flights; ++i) { land((next_ + i) % flights); }
        }
        to_ = t;
        if (t == nullptr) { return; }
        event_ = {};
        event_.program = t->add_program(image, name);
        event_.rank = rank;
        kinds_ = plait::detail::activities_of(image);
        // The one point that is known on both clocks: the stream is idle, so that the event is reached at once.
        check(cudaStreamSynchronize(stream), "CUDA: tracing begins");
        if (anchor_ == nullptr) { anchor_ = std::make_unique<timed_event>(); }
        const std::int64_t before = trace::now();
        anchor_->record(stream);
        anchor_->await();
        anchored_at_ = before + (trace::now() - before) / 2;
    }
    [[nodiscard]] bool on() const { return to_ != nullptr; }

    /// Puts a tape on its streams, as `main` and `beside` have them, with events around what belongs together.
    void run(const launch_tape& tape, cudaStream_t main, cudaStream_t beside)
    {
        flight& f = all_[next_];
        land(next_);
        next_ = (next_ + 1) % flights;
        f.groups.clear();
        f.run = to_->begin_run(event_.program);
        mark(f, 0, main);
        std::size_t used = 1;
        for (std::size_t i = 0; i < tape.size();) {
            const tape_entry& first = tape[i];
            const cudaStream_t stream = first.beside ? beside : main;
            std::size_t end = i + 1;
            while (end < tape.size() && tape[end].belongs_with(first)) { ++end; }
            const bool timed = first.pass >= 0;
            if (timed) { mark(f, used++, stream); }
            for (; i < end; ++i) { tape[i].what->enqueue(stream); }
            if (timed) {
                mark(f, used++, stream);
                f.groups.push_back({first.pass, first.chunk, first.beside, first.moves});
            }
        }
        mark(f, used, main);
        f.flying = true;
    }

  private:
    static constexpr std::size_t flights = 16;
    struct group {
        int pass;
        int chunk;
        bool beside;
        bool moves;
    };
    /// A run under way: one event at its beginning, two for each group, one at the end.
    struct flight {
        std::vector<std::unique_ptr<timed_event>> marks;
        std::vector<group> groups;
        std::int32_t run = 0;
        bool flying = false;
    };

    static void mark(flight& f, std::size_t i, cudaStream_t stream)
    {
        if (i == f.marks.size()) { f.marks.push_back(std::make_unique<timed_event>()); }
        f.marks[i]->record(stream);
    }
    /// Waits for a run and writes down its events.
    void land(std::size_t which)
    {
        flight& f = all_[which];
        if (!f.flying) { return; }
        f.flying = false;
        const std::size_t last = 2 * f.groups.size() + 1;
        f.marks[last]->await();
        // Differences are 32-bit floats: short ones are exact enough, so each run is placed by the one before.
        anchored_at_ += f.marks[0]->since(*anchor_);
        const auto at = [&](std::size_t mark) { return anchored_at_ + f.marks[mark]->since(*f.marks[0]); };
        for (std::size_t g = 0; g < f.groups.size(); ++g) {
            const group& of = f.groups[g];
            const activity what = of.moves ? activity::communication : kinds_[static_cast<std::size_t>(of.pass)];
            const bool moves = of.beside || what == activity::communication;
            add(f, at(2 * g + 1), at(2 * g + 2), of.pass, of.chunk, what, moves ? trace_lane::communication : trace_lane::compute);
        }
        add(f, anchored_at_, at(last), -1, -1, activity::run, trace_lane::compute);
        std::swap(anchor_, f.marks[0]);
    }
    void add(const flight& f, std::int64_t begin, std::int64_t end, std::int32_t pass, std::int32_t chunk, activity what, trace_lane lane)
    {
        trace_event e = event_;
        e.begin = begin;
        e.end = end;
        e.run = f.run;
        e.pass = pass;
        e.chunk = chunk;
        e.what = what;
        e.lane = lane;
        to_->add(e);
    }

    trace* to_ = nullptr;
    trace_event event_{};
    std::vector<activity> kinds_;
    std::unique_ptr<timed_event> anchor_;
    std::int64_t anchored_at_ = 0;
    flight all_[flights];
    std::size_t next_ = 0;  // where the next run goes: the oldest one is there
};

}  // namespace plait::cuda
