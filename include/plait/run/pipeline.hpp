// Running a pipeline of passes chunk by chunk: which chunks, in which order, and when one may start.
#pragma once

#include <plait/fabric/link.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/pipelines.hpp>
#include <plait/target/host/space.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace plait::detail {

/// The most chunks of a pipeline in which ranks wait for each other.
inline constexpr int max_signalled_chunks = 64;

/// What one rank tells the others about one pass: how many chunks it has finished since the executable was built, and
/// when the last ones will have arrived (see link). Lies in memory that peers can touch.
struct alignas(64) chunk_signal {
    std::uint64_t finished = 0;
    std::int64_t arrives[max_signalled_chunks]{};
};

/// How a pipeline is cut, from extents alone: all ranks cut alike.
struct chunking {
    int dim = 0;
    std::int64_t extent = 0;
    bool by_slices = false;  // the slices of `dim` are cut one by one, so that all of them begin early
    int count = 1;
};

/// Elements of the whole value of a pass's space.
inline std::int64_t elements_of_pass(const arguments& args, const pass_view& p)
{
    return args.elements_of(args.image().node_of(p.space));
}

/// Chooses dimension and number of chunks of passes [first, last of the pipeline]. `wanted`: as many as that, if > 0.
inline chunking choose_chunks(const arguments& args, std::span<const pass_view> passes, bool signals, int wanted)
{
    // Enough rows that a matrix product does not lose its speed, few enough bytes that a chunk stays in the cache.
    constexpr std::int64_t rows_of_a_product = 64;
    constexpr std::int64_t bytes_of_a_chunk = std::int64_t{1} << 17;
    const node& space = args.image().node_of(passes[0].space);
    chunking c;
    c.extent = -1;
    for (int d = 0; d < space.dims; ++d) {
        const std::int64_t e = args.extent_of(space.shape[d]);
        if ((passes[0].chunk_dims & bit(d)) == 0 || e <= c.extent) { continue; }
        c.dim = d;
        c.extent = e;
    }
    bool has_product = false;
    std::int64_t bytes = 0;
    for (const pass_view& p : passes) {
        const node& n = args.image().node_of(p.space);
        c.by_slices = c.by_slices || p.slice_dim == c.dim;
        has_product = has_product || is_contraction(p.kind);
        const std::int64_t share = p.slice_dim >= 0 ? args.ranks() : 1;
        bytes = std::max(bytes, elements_of_pass(args, p) * static_cast<std::int64_t>(size_of(n.type)) / share);
    }
    const std::int64_t length = c.by_slices ? slice_of(c.extent, 0, args.ranks()).count : c.extent;
    std::int64_t outer = 1;  // rows that a step along the dimension has
    for (int d = 0; d + 1 < space.dims; ++d) { outer *= d == c.dim ? 1 : args.extent_of(space.shape[d]); }
    const std::int64_t rows = c.extent * outer;
    std::int64_t count = has_product ? std::min<std::int64_t>(8, rows / rows_of_a_product) : bytes / bytes_of_a_chunk;
    if (wanted > 0) { count = wanted; }
    if (signals) { count = std::min<std::int64_t>(count, max_signalled_chunks); }
    c.count = static_cast<int>(std::clamp<std::int64_t>(count, 1, std::max<std::int64_t>(1, length)));
    return c;
}

/// Calls run(chunk) for the ranges of indices that make up chunk k of a pass.
template <class Run>
void for_each_range(const arguments& args, const pass_view& pass, const chunking& c, int k, Run&& run)
{
    const auto cut = [&](std::int64_t begin, std::int64_t count) {
        const std::int64_t from = begin + count * k / c.count;
        const std::int64_t to = begin + count * (k + 1) / c.count;
        if (from < to) { run(host::chunk{c.dim, from, to}); }
    };
    if (!c.by_slices) { return cut(0, c.extent); }
    for (int r = 0; r < args.ranks(); ++r) {
        if (pass.slice_dim == c.dim && r != args.rank()) { continue; }
        const slice_range part = slice_of(c.extent, r, args.ranks());
        cut(part.begin, part.count);
    }
}

/// Bytes that a pass moves to or from other ranks for the indices within a chunk.
struct moved_bytes {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
};
inline moved_bytes bytes_moved(const arguments& args, const pass_view& pass, const host::chunk& within = {})
{
    moved_bytes b;
    if (pass.kind == pass_kind::map || pass.kind == pass_kind::all_reduce || pass.kind == pass_kind::reduce_axis ||
        pass.kind == pass_kind::all_to_all) {
        const program_image& image = args.image();
        const host::space s =
            host::space_of(args, image.node_of(pass.space), pass.slice_dim, args.rank(), within);
        std::uint64_t elements = 1;
        for (int d = 0; d < s.dims; ++d) { elements *= static_cast<std::uint64_t>(s.count[d]); }
        const auto others = static_cast<std::uint64_t>(args.ranks() - 1);
        const bool shared_out = pass.kind == pass_kind::all_reduce || pass.kind == pass_kind::all_to_all;
        if (shared_out) { elements = elements * 1 / static_cast<std::uint64_t>(args.ranks()); }
        for (const pass_operand& o : pass.operands) {
            if (o.slot < 0 || o.from == source::own) { continue; }
            const auto size = static_cast<std::uint64_t>(size_of(image.slot_node(o.slot).type));
            const bool one = o.from == source::from_root;
            const bool idle = (one && args.rank() == o.root) || (o.from == source::root_combined && args.rank() != o.root);
            b.in += idle ? 0 : elements * size * (one ? 1 : others);
        }
        for (const pass_result& r : pass.results) {
            const auto size = static_cast<std::uint64_t>(size_of(image.slot_node(r.slot).type));
            const std::uint64_t copies = r.to == destination::all_ranks ? others
                                         : r.to == destination::peer    ? 1
                                         : r.to == destination::root    ? (args.rank() != r.root ? 1 : 0)
                                                                        : 0;
            b.out += elements * size * copies;
        }
    }
    return b;
}

/// One pass of a pipeline, on this rank.
struct pipeline_stage {
    std::size_t pass = 0;
    struct dependency {
        std::size_t pass;
        int first_rank;  // in the world
        int ranks;
    };
    std::vector<dependency> waits_for;
    int next = 0;                        // the chunk that comes next
    bool transferring = false;           // that chunk's input is on its way
    std::int64_t input_at = 0;           // and when it arrives
};

inline std::int64_t ticks(link_end::time t) { return t.time_since_epoch().count(); }
inline link_end::time time_at(std::int64_t t) { return link_end::time(link_end::time::duration(t)); }

/// Runs the pipelines of one executable. Nothing is allocated after its construction.
template <class Communicator>
class pipeline_runner {
  public:
    pipeline_runner(Communicator& comm, const arguments& args)
        : comm_(comm), args_(args), finished_(passes().size()), pipelines_(passes().size())
    {
        for (std::size_t first = 0; first < passes().size(); ++first) {
            if (passes()[first].chunked_until != 0) { find_stages(first); }
        }
    }

    /// Whether ranks wait for each other's chunks anywhere.
    [[nodiscard]] bool uses_signals() const { return uses_signals_; }
    /// By rank of the world, the first of its signals: one per pass.
    void connect(std::vector<chunk_signal*> signals) { signals_ = std::move(signals); }
    /// Cuts pipelines between ranks into as many chunks, as far as their extents allow; 0: as many as seems best.
    void set_chunks(int wanted) { wanted_ = wanted; }

    /// Runs the pipeline that begins with pass `first`; run_chunk(pass, chunk) does the work.
    template <class Run>
    void run(std::size_t first, const char* where, Run&& run_chunk)
    {
        pipeline& p = pipelines_[first];
        const std::span<const pass_view> all = passes().subspan(first, passes()[first].chunked_until - first);
        const chunking c = choose_chunks(args_, all, p.signalled, p.signalled ? wanted_ : 0);
        std::size_t left = p.stages.size();
        for (pipeline_stage& stage : p.stages) { stage.next = 0; }
        const auto next_stage = [&] {  // the last one that can go on: what is begun is finished first
            std::size_t s = p.stages.size();
            while (s > 0 && !is_ready(p, s - 1, c)) { --s; }
            return s;
        };
        while (left > 0) {
            const std::size_t s = next_stage();
            if (s == 0) {
                comm_.wait([&] { return next_stage() != 0; }, where);
                continue;
            }
            pipeline_stage& stage = p.stages[s - 1];
            const pass_view& pass = passes()[stage.pass];
            std::uint64_t out = 0;
            for_each_range(args_, pass, c, stage.next, [&](const host::chunk& within) {
                run_chunk(stage.pass, within);
                if (p.signalled) { out += bytes_moved(args_, pass, within).out; }
            });
            if (p.signalled) { tell(stage, out); }
            stage.transferring = false;
            if (++stage.next == c.count) { --left; }
        }
        for (std::size_t i = first; i < first + all.size(); ++i) { finished_[i] += static_cast<std::uint64_t>(c.count); }
    }

  private:
    struct pipeline {
        std::vector<pipeline_stage> stages;  // of this rank
        bool signalled = false;
    };

    [[nodiscard]] std::span<const pass_view> passes() const { return args_.image().plan.passes; }

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
    }

    /// Whether the next chunk of a stage can be run. The first time that its inputs are there, their transfer begins.
    bool is_ready(pipeline& p, std::size_t s, const chunking& c)
    {
        pipeline_stage& stage = p.stages[s];
        if (stage.next == c.count || (s > 0 && p.stages[s - 1].next <= stage.next)) { return false; }
        if (stage.waits_for.empty()) { return true; }
        if (!stage.transferring) {
            std::int64_t from = 0;
            for (const auto& d : stage.waits_for) {
                const std::uint64_t needed = finished_[d.pass] + static_cast<std::uint64_t>(stage.next) + 1;
                for (int r = d.first_rank; r < d.first_rank + d.ranks; ++r) {
                    chunk_signal& theirs = signals_[static_cast<std::size_t>(r)][d.pass];
                    if (std::atomic_ref(theirs.finished).load(std::memory_order_acquire) < needed) { return false; }
                    from = std::max(from, theirs.arrives[(needed - 1) % max_signalled_chunks]);
                }
            }
            stage.transferring = true;
            stage.input_at = from;
            if (link_end* wire = wire_of(comm_)) {
                std::uint64_t in = 0;
                const pass_view& pass = passes()[stage.pass];
                for_each_range(args_, pass, c, stage.next,
                               [&](const host::chunk& within) { in += bytes_moved(args_, pass, within).in; });
                stage.input_at = ticks(wire->transfer(in, time_at(from)));
            }
        }
        link_end* wire = wire_of(comm_);
        return wire == nullptr || !wire->is_simulated() || ticks(std::chrono::steady_clock::now()) >= stage.input_at;
    }

    void tell(const pipeline_stage& stage, std::uint64_t out)
    {
        chunk_signal& mine = signals_[static_cast<std::size_t>(args_.world_rank())][stage.pass];
        const std::uint64_t now = finished_[stage.pass] + static_cast<std::uint64_t>(stage.next);
        std::int64_t at = 0;
        if (link_end* wire = wire_of(comm_)) {
            const auto start = wire->is_simulated() ? std::chrono::steady_clock::now() : link_end::time{};
            at = ticks(wire->transfer(out, start));
        }
        mine.arrives[now % max_signalled_chunks] = at;
        std::atomic_ref(mine.finished).store(now + 1, std::memory_order_release);
    }

    Communicator& comm_;
    const arguments& args_;
    std::vector<std::uint64_t> finished_;  // by pass: the chunks of all runs so far
    std::vector<pipeline> pipelines_;      // by first pass
    std::vector<chunk_signal*> signals_;
    bool uses_signals_ = false;
    int wanted_ = 0;
};

}  // namespace plait::detail
