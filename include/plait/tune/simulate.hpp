// A discrete-event simulation of a planned program on any number of ranks of a described machine.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/cost.hpp>
#include <plait/plan/size_of_run.hpp>
#include <plait/run/chunks.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

/// A dimension's number by its name.
struct named_extent {
    std::string_view name;
    std::int64_t number = 0;
};

namespace detail {

/// Simulates one host of each pipeline group, rank by rank: all hosts of a group do the same at the same time. Each rank has
/// a worker, which computes, and an end of the first level's link; the ranks of a host share its ends of the other levels'
/// links, in the order in which they ask. Work and transfers take as long as time_of says for a chunk; a collective between n
/// ranks takes log2 n messages one after the other (recursive halving and doubling: Thakur, Rabenseifner and Gropp, 2005),
/// first within hosts and then between them, so that each rank moves the slices of one of its host's ranks over the far link.
/// A rank does first what is furthest in a pipeline, as the runtime
/// does.
class simulation {
  public:
    simulation(const arguments& args, const machine& m)
        : args_(args),
          image_(args.image()),
          m_(m),
          ranks_(args.ranks()),
          here_(std::min(ranks_, m.levels[0].ranks)),
          sizes_(image_, args),
          workers_(static_cast<std::size_t>(here_ * image_.groups)),
          ends_(workers_.size()),
          shared_(static_cast<std::size_t>(image_.groups))
    {
    }

    /// Seconds from the start to the end of the last rank's run.
    double run()
    {
        const view<const pass_view> passes = image_.plan.passes;
        for (std::size_t p = 0; p < passes.size();) {
            const auto until = std::max(p + 1, static_cast<std::size_t>(passes[p].chunked_until));
            if (passes[p].barrier_before) { meet(); }
            stages(p, until);
            p = until;
        }
        if (image_.plan.barrier_after) { meet(); }
        double end = 0;
        for (const double t : workers_) { end = std::max(end, t); }
        for (const double t : ends_) { end = std::max(end, t); }
        for (const double t : shared_) { end = std::max(end, t); }
        return end;
    }

  private:
    /// What one chunk of a stage takes.
    struct stage {
        std::size_t pass = 0;
        int group = any_group;
        bool of_all = false;  // waits for the chunk before of all ranks, not of its own
        double work = 0;
        double in = 0;        // bytes
        double out = 0;
        double messages = 0;  // one after the other
        bool to_group = false;
    };

    /// A meeting takes as long as measured on one host, and log2 of the hosts messages more.
    void meet()
    {
        double latest = 0;
        for (const double t : workers_) { latest = std::max(latest, t); }
        for (const double t : ends_) { latest = std::max(latest, t); }  // what was sent has arrived
        for (const double t : shared_) { latest = std::max(latest, t); }
        const int hosts = (ranks_ * image_.groups + here_ - 1) / here_;
        latest += m_.meeting + rounds(hosts) * m_.between(ranks_ * image_.groups).latency;
        std::ranges::fill(workers_, latest);
    }
    static double rounds(int n) { return n <= 1 ? 0 : std::bit_width(static_cast<unsigned>(n - 1)); }

    [[nodiscard]] stage stage_of(std::size_t p, int chunks) const
    {
        const pass_view& pass = image_.plan.passes[p];
        const stage_cost c = cost_of_pass(image_, p, sizes_.view());
        stage s;
        s.pass = p;
        s.group = pass.group;
        s.work = time_of(c, m_, ranks_).work / chunks + m_.launch;
        for (const pass_operand& o : pass.operands) { s.of_all = s.of_all || (o.slot >= 0 && o.from != source::own); }
        for (const pass_result& r : pass.results) { s.to_group = s.to_group || r.to == destination::peer; }
        s.out = c.wire_out / chunks;
        s.in = (c.wire - c.wire_out) / chunks;
        s.messages = rounds(ranks_);
        return s;
    }

    /// The passes from `first` to `until`, as a pipeline if they are several.
    void stages(std::size_t first, std::size_t until)
    {
        const view<const pass_view> passes = image_.plan.passes.subspan(first, until - first);
        const int chunks = passes[0].chunked_until == 0 ? 1 : choose_chunks(args_, passes, true, args_.parameters().chunks).count;
        std::vector<stage> all;
        for (std::size_t p = first; p < until; ++p) { all.push_back(stage_of(p, chunks)); }
        const std::size_t n = all.size();
        constexpr double never = std::numeric_limits<double>::infinity();
        // By rank and stage: the next chunk; when its input is there (never: not asked for); by chunk, when it had arrived.
        std::vector<int> next(workers_.size() * n);
        std::vector<std::vector<double>> ready(next.size(), std::vector<double>(static_cast<std::size_t>(chunks), never));
        std::vector<std::vector<double>> done = ready;
        const auto at = [&](std::size_t rank, std::size_t s) { return rank * n + s; };
        const auto runs = [&](std::size_t rank, std::size_t s) {
            return all[s].group == any_group || all[s].group == static_cast<int>(rank) / here_;
        };
        const auto request = [&](std::size_t s, int k) {  // of the chunks for which all is there
            const auto c = static_cast<std::size_t>(k);
            for (std::size_t r = 0; r < workers_.size(); ++r) {
                if (!runs(r, s) || ready[at(r, s)][c] != never) { continue; }
                double from = s == 0 ? workers_[r] : 0;  // what the first stage reads was there before
                for (std::size_t q = 0; s > 0 && q < workers_.size(); ++q) {
                    const bool needed = runs(q, s - 1) && (all[s].of_all || all[s - 1].to_group || q == r);
                    if (needed) { from = std::max(from, done[at(q, s - 1)][c]); }
                }
                if (from == never) { continue; }
                ready[at(r, s)][c] = all[s].in > 0 ? transfer(r, all[s].in, all[s].messages, from) : from;
            }
        };
        for (int k = 0; k < chunks; ++k) { request(0, k); }
        for (;;) {
            std::size_t rank = workers_.size();
            std::size_t stage_now = 0;
            double start = never;
            for (std::size_t r = 0; r < workers_.size(); ++r) {
                for (std::size_t s = 0; s < n; ++s) {
                    const int k = next[at(r, s)];
                    if (!runs(r, s) || k == chunks) { continue; }
                    const double t = std::max(workers_[r], ready[at(r, s)][static_cast<std::size_t>(k)]);
                    // Of what a rank can do at once, the stage that is furthest.
                    if (t < start || (t == start && r == rank)) {
                        start = t;
                        rank = r;
                        stage_now = s;
                    }
                }
            }
            if (start == never) { return; }
            const stage& s = all[stage_now];
            const int k = next[at(rank, stage_now)]++;
            workers_[rank] = start + s.work;
            done[at(rank, stage_now)][static_cast<std::size_t>(k)] =
                s.out > 0 ? transfer(rank, s.out, s.to_group ? 1 : s.messages, workers_[rank], s.to_group) : workers_[rank];
            if (stage_now + 1 < n) { request(stage_now + 1, k); }
        }
    }

    /// When so many bytes that start at `from` have arrived.
    double transfer(std::size_t rank, double bytes, double messages, double from, bool to_group = false)
    {
        const bool beyond = ranks_ > here_ || (to_group && ranks_ * image_.groups > m_.levels[0].ranks);
        // Of S (n-1)/n bytes S (d-1)/d stay on a host of d ranks, and (S/d) (n-d)/n do not.
        const double n = ranks_;
        const double d = here_;
        const double far_share = !beyond ? 0 : to_group ? 1 : (n - d) / (d * (n - 1));
        const double near_share = !beyond ? 1 : to_group ? 0 : n * (d - 1) / (d * (n - 1));
        const machine::level& near = m_.levels[0];
        double arrives = from;
        if (near_share > 0) {
            double& end = ends_[rank];
            end = std::max(end, from) + near_share * bytes / near.bandwidth;
            arrives = end + near.latency * (beyond ? rounds(here_) : messages);
        }
        if (far_share > 0) {
            const machine::level& far = m_.between(ranks_ * image_.groups);
            double& end = shared_[rank / static_cast<std::size_t>(here_)];
            end = std::max(end, from) + far_share * bytes / far.bandwidth;
            arrives = std::max(arrives, end + far.latency * (to_group ? 1 : rounds(ranks_ / here_)));
        }
        return arrives;
    }

    const arguments& args_;
    const program_image& image_;
    const machine& m_;
    int ranks_;
    int here_;  // ranks of one group on a host
    run_sizes sizes_;
    std::vector<double> workers_;  // by group and rank: when it is free
    std::vector<double> ends_;     // of the near link, likewise
    std::vector<double> shared_;   // by group, of the host's ends of the far links
};

}  // namespace detail

/// Seconds of a run of a program on `ranks` ranks of each of its groups, as the simulation above finds it. The far levels'
/// bandwidths of `m` are those of a host. `chunks`: of pipelines; 0: as the runtime chooses.
inline double simulated_time(const program_image& image, view<const named_extent> extents, int ranks, const machine& m, int chunks = 0)
{
    arguments args(image, 0, ranks * image.groups);
    for (std::size_t i = 0; i < image.symbols.size(); ++i) {
        for (const named_extent& e : extents) {
            if (image.symbols[i].view() == e.name) { args.extents()[i] = e.number; }
        }
    }
    args.set_parameters({chunks, {}, {}});
    return detail::simulation(args, m).run();
}

}  // namespace plait
