// Running a pipeline of passes chunk by chunk: in which order, and when a chunk may start.
#pragma once

#include <plait/core/view.hpp>
#include <plait/fabric/link.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/plan.hpp>
#include <plait/run/chunks.hpp>
#include <plait/run/messages.hpp>
#include <plait/run/trace.hpp>
#include <plait/target/host/space.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace plait::detail {

/// What one rank tells the others about one pass: how many chunks it has finished since the executable was built, and
/// when the last ones will have arrived (see link). Lies in memory that peers can touch.
struct alignas(64) chunk_signal {
    std::uint64_t finished = 0;
    std::int64_t arrives[max_signalled_chunks]{};
};

/// One pass of a pipeline, on this rank.
struct pipeline_stage {
    std::size_t pass = 0;
    struct dependency {
        std::size_t pass;
        int first_rank;  // in the world
        int ranks;
    };
    std::vector<dependency> waits_for;
    std::vector<std::size_t> feeds;      // passes that read from other ranks what this one has written
    int next = 0;                        // the chunk that comes next
    bool begun = false;                  // some chunk has been run
    int requested = 0;                   // chunks whose inputs are on their way
    std::int64_t input_at[max_signalled_chunks]{};  // when they arrive
};

inline std::int64_t ticks(link_end::time t) { return t.time_since_epoch().count(); }
inline link_end::time time_at(std::int64_t t) { return link_end::time(link_end::time::duration(t)); }

/// Runs the pipelines of one executable. Where all ranks share memory, nothing is allocated after its construction.
template <class Communicator>
class pipeline_runner {
  public:
    pipeline_runner(Communicator& comm, const arguments& args, messages<Communicator>& mail, tracer& t)
        : comm_(comm), args_(args), mail_(mail), tracer_(t), finished_(passes().size()), pipelines_(passes().size())
    {
        for (std::size_t first = 0; first < passes().size(); ++first) {
            if (passes()[first].chunked_until != 0) { find_stages(first); }
        }
    }

    /// Whether ranks wait for each other's chunks anywhere.
    [[nodiscard]] bool uses_signals() const { return uses_signals_; }
    /// By rank of the world, the first of its signals: one per pass.
    void connect(std::vector<chunk_signal*> signals) { signals_ = std::move(signals); }

    /// Runs the pipeline that begins with pass `first`; run_chunk(pass, chunk) does the work.
    template <class Run>
    void run(std::size_t first, const char* where, Run&& run_chunk)
    {
        pipeline& p = pipelines_[first];
        const auto end = static_cast<std::size_t>(passes()[first].chunked_until);
        const view<const pass_view> all = passes().subspan(first, end - first);
        const chunking c = cut(first);
        start_messages(first, p, c);
        const link_end* wire = wire_of(comm_);
        started_ = wire != nullptr && wire->is_simulated() ? ticks(std::chrono::steady_clock::now()) : 0;
        std::size_t left = p.stages.size();
        for (pipeline_stage& stage : p.stages) {
            stage.next = stage.requested = 0;
            stage.begun = false;
        }
        const auto next_stage = [&] {  // the last one that can go on: what is begun is finished first
            std::size_t s = p.stages.size();
            while (s > 0 && !is_ready(p, s - 1, c)) { --s; }
            return s;
        };
        while (left > 0) {
            const std::size_t s = next_stage();
            if (s == 0) {
                const std::int64_t begin = tracer_.now();
                comm_.wait([&] { return next_stage() != 0; }, where);
                tracer_.end_waiting(begin);
                continue;
            }
            pipeline_stage& stage = p.stages[s - 1];
            const pass_view& pass = passes()[stage.pass];
            std::uint64_t out = 0;
            const std::int64_t begin = tracer_.now();
            for_each_range(args_, pass, c, stage.next, args_.rank(), [&](host::chunk within) {
                within.is_first = !std::exchange(stage.begun, true);
                run_chunk(stage.pass, within);
                out += bytes_moved(args_, pass, within).out;
            });
            tracer_.end_pass(begin, stage.pass, stage.next);
            const std::int64_t arrives = send_output(stage, out);
            if (p.signalled) { tell(stage, arrives); }
            send_messages(stage, c);
            if (++stage.next == c.count) { --left; }
        }
        if (mail_.any()) {
            const std::int64_t begin = tracer_.now();
            mail_.end(first, first + all.size(), where);
            tracer_.end_waiting(begin);
        }
        for (std::size_t i = first; i < first + all.size(); ++i) { finished_[i] += static_cast<std::uint64_t>(c.count); }
    }

    /// How the pipeline that begins with pass `first` is cut.
    [[nodiscard]] chunking cut(std::size_t first) const
    {
        const bool signalled = pipelines_[first].signalled;
        const auto end = static_cast<std::size_t>(passes()[first].chunked_until);
        return choose_chunks(args_, passes().subspan(first, end - first), signalled || mail_.any(),
                             signalled ? args_.parameters().chunks : 0);
    }

  private:
    struct pipeline {
        std::vector<pipeline_stage> stages;  // of this rank
        std::vector<std::size_t> fed_before;  // passes of the pipeline that read from this rank what was there before it
        bool signalled = false;
    };

    [[nodiscard]] view<const pass_view> passes() const { return args_.image().plan.passes; }

    void find_stages(std::size_t first)
    {
        pipeline& p = pipelines_[first];
        for (std::size_t i = first; i < static_cast<std::size_t>(passes()[first].chunked_until); ++i) {
            pipeline_stage stage;
            stage.pass = i;
            for (std::size_t j = first; j < i; ++j) {
                const signal_scope scope = depends_on(passes()[i], passes()[j]);
                if (scope == signal_scope::none) { continue; }
                p.signalled = uses_signals_ = true;
                const int g = passes()[j].group;
                const int base = (g == any_group ? args_.group() : g) * args_.ranks();
                const bool whole = scope == signal_scope::group;
                stage.waits_for.push_back({j, base + (whole ? 0 : args_.rank()), whole ? args_.ranks() : 1});
            }
            if (args_.is_in(passes()[i].group)) { p.stages.push_back(std::move(stage)); }
        }
        for (std::size_t i = first; i < static_cast<std::size_t>(passes()[first].chunked_until); ++i) {
            pipeline_stage* feeder = nullptr;
            for (pipeline_stage& s : p.stages) {
                const bool reads = s.pass < i && depends_on(passes()[i], passes()[s.pass]) == signal_scope::group;
                if (reads) { feeder = &s; }
            }
            (feeder != nullptr ? feeder->feeds : p.fed_before).push_back(i);
        }
    }

    void start_messages(std::size_t first, const pipeline& p, const chunking& c)
    {
        mail_.begin(first, static_cast<std::size_t>(passes()[first].chunked_until), c);
        for (int k = 0; k < c.count; ++k) {
            for (std::size_t i : p.fed_before) { mail_.send_operands(i, c, k); }
        }
    }
    void send_messages(const pipeline_stage& stage, const chunking& c)
    {
        mail_.send_results(stage.pass, c, stage.next);
        for (std::size_t i : stage.feeds) { mail_.send_operands(i, c, stage.next); }
    }
    /// Whether what the next chunk of a stage needs from ranks that share no memory is there.
    bool messages_arrived(const pipeline_stage& stage)
    {
        bool all = mail_.arrived(stage.pass, stage.next, false);
        for (const auto& d : stage.waits_for) { all = mail_.arrived(d.pass, stage.next, true) && all; }
        return all;
    }

    /// Whether the next chunk of a stage can be run.
    bool is_ready(pipeline& p, std::size_t s, const chunking& c)
    {
        pipeline_stage& stage = p.stages[s];
        const int most = std::min(c.count, stage.next + max_signalled_chunks);
        while (stage.requested < most && request_input(stage, c)) { ++stage.requested; }
        if (stage.next == c.count || (s > 0 && p.stages[s - 1].next <= stage.next)) { return false; }
        if (!messages_arrived(stage)) { return false; }
        if (stage.requested <= stage.next) { return false; }
        const link_end* wire = wire_of(comm_);
        const auto at = stage.input_at[static_cast<std::size_t>(stage.next) % max_signalled_chunks];
        return wire == nullptr || !wire->is_simulated() || ticks(std::chrono::steady_clock::now()) >= at;
    }

    /// If all that the chunk after the last requested one needs has been made, starts its transfer.
    bool request_input(pipeline_stage& stage, const chunking& c)
    {
        const int k = stage.requested;
        std::int64_t from = started_;
        for (const auto& d : stage.waits_for) {
            const std::uint64_t needed = finished_[d.pass] + static_cast<std::uint64_t>(k) + 1;
            for (int r = d.first_rank; r < d.first_rank + d.ranks; ++r) {
                if (!comm_.shares(r)) { continue; }  // its messages tell
                chunk_signal& theirs = signals_[static_cast<std::size_t>(r)][d.pass];
                if (std::atomic_ref(theirs.finished).load(std::memory_order_acquire) < needed) { return false; }
                from = std::max(from, theirs.arrives[(needed - 1) % max_signalled_chunks]);
            }
        }
        if (link_end* wire = wire_of(comm_)) {
            std::uint64_t in = 0;
            for_each_range(args_, passes()[stage.pass], c, k, args_.rank(), [&](const host::chunk& within) {
                in += bytes_moved(args_, passes()[stage.pass], within).in;
            });
            from = ticks(tracer_.transfer(*wire, in, time_at(from), stage.pass, k));
        }
        stage.input_at[static_cast<std::size_t>(k) % max_signalled_chunks] = from;
        return true;
    }

    /// Starts the transfer of what a chunk has written for others. Returns when it arrives.
    std::int64_t send_output(const pipeline_stage& stage, std::uint64_t bytes)
    {
        link_end* wire = wire_of(comm_);
        if (wire == nullptr) { return 0; }
        const link_end::time from = wire->is_simulated() ? std::chrono::steady_clock::now() : link_end::time{};
        return ticks(tracer_.transfer(*wire, bytes, from, stage.pass, stage.next));
    }
    void tell(const pipeline_stage& stage, std::int64_t arrives)
    {
        chunk_signal& mine = signals_[static_cast<std::size_t>(args_.world_rank())][stage.pass];
        const std::uint64_t now = finished_[stage.pass] + static_cast<std::uint64_t>(stage.next);
        mine.arrives[now % max_signalled_chunks] = arrives;
        std::atomic_ref(mine.finished).store(now + 1, std::memory_order_release);
    }

    Communicator& comm_;
    const arguments& args_;
    messages<Communicator>& mail_;
    tracer& tracer_;
    std::vector<std::uint64_t> finished_;  // by pass: the chunks of all runs so far
    std::vector<pipeline> pipelines_;      // by first pass
    std::vector<chunk_signal*> signals_;
    bool uses_signals_ = false;
    std::int64_t started_ = 0;
};

}  // namespace plait::detail
