// Measures programs in several schedules and writes what was seen to a page.
#pragma once

#include "counted.hpp"
#include "failure.hpp"
#include "page.hpp"

#include <plait/core/write_file.hpp>
#include <plait/plait.hpp>
#include <plait/run/explain.hpp>
#include <plait/see.hpp>
#include <plait/tune/calibrate.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace demo {

/// One rank's schedules of a program, measured in turn.
class measuring {
  public:
    measuring(plait::thread_communicator& comm, shown_program& shown) : comm_(comm), shown_(shown) {}

    /// Adds a schedule that is run with these bindings. All ranks.
    template <class Program>
    void add(Program program, std::string name, std::string how, std::vector<plait::binding> bindings)
    {
        runs_.push_back(std::make_unique<entry>(program, comm_, std::move(bindings)));
        if (comm_.rank() == 0) { shown_.schedules.push_back({std::move(name), std::move(how), {}, {}, plait::graph_svg(program), 0, 0, {}}); }
    }

    /// Times them, then records some runs of each. All ranks.
    void measure(int rounds)
    {
        const plait::machine here = plait::calibrate(comm_);
        for (const auto& r : runs_) { r->step(); }
        const std::size_t n = runs_.size();
        for (std::size_t i = 0; i < static_cast<std::size_t>(rounds) * n; ++i) {  // each round begins with another one
            const std::size_t k = (i + i / n) % n;
            comm_.barrier("start");
            const auto start = std::chrono::steady_clock::now();
            runs_[k]->step();
            comm_.barrier("end");
            const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
            if (comm_.rank() == 0) { shown_.schedules[k].seconds.push_back(passed.count()); }
        }
        for (std::size_t k = 0; k < n; ++k) { record(k, here); }
    }

  private:
    struct entry {
        template <class Program>
        entry(Program program, plait::thread_communicator& comm, std::vector<plait::binding> b) : run(program, comm), bindings(std::move(b))
        {
        }
        void step() { run.run(bindings); }
        plait::executable<plait::thread_communicator> run;
        std::vector<plait::binding> bindings;
    };

    void record(std::size_t k, const plait::machine& here)
    {
        entry& r = *runs_[k];
        plait::trace t;
        r.run.set_trace(&t);
        for (int i = 0; i < 9; ++i) {
            comm_.barrier("start");
            r.step();
        }
        r.run.set_trace(nullptr);
        const plait::timeline all = plait::gather(comm_, t);
        if (comm_.rank() != 0) { return; }
        std::vector<double> seconds;
        for (std::size_t p = 0; p < r.run.image().plan.passes.size(); ++p) { seconds.push_back(t.seconds_of(r.run.image(), p).value_or(-1)); }
        const plait::explanation e = plait::explain(r.run, here, seconds);
        shown_schedule& s = shown_.schedules[k];
        s.stages = e.text();
        s.memory = e.cost().memory;
        s.wire = e.cost().wire;
        s.times = plait::typical_run(all);
    }

    plait::thread_communicator& comm_;
    shown_program& shown_;
    std::vector<std::unique_ptr<entry>> runs_;
};

/// Data-parallel Adam, over memory.
inline shown_program show_adam(int ranks, std::int64_t n, int rounds)
{
    using adam = plait::optim::adam<>;
    shown_program shown;
    shown.title = "Data-parallel Adam";
    shown.about = counted(static_cast<std::size_t>(ranks), "rank") + ", each a thread, average their gradients of " + std::to_string(n) +
                  " parameters and take a step. All memory is shared, so what one rank sends is what another one reads.";
    shown.text = plait::print(adam::unscheduled);
    plait::threads::run(ranks, [&](plait::thread_communicator& comm) {
        const auto part = static_cast<std::size_t>(plait::slice_of(n, comm.rank(), ranks).count);
        std::vector<float> g(static_cast<std::size_t>(n), 0.01F), p(g.size(), 1.0F), m(g.size()), v(g.size());
        const auto bound = [&](std::size_t stored) {
            return std::vector<plait::binding>{adam::g = g, adam::p = p, adam::m = std::span(m).first(stored), adam::v = std::span(v).first(stored),
                                               adam::lr = 1e-3F, adam::beta1 = 0.9F, adam::beta2 = 0.99F, adam::eps = 1e-8F,
                                               adam::c1 = 0.1F, adam::c2 = 0.01F};
        };
        measuring schedules(comm, shown);
        schedules.add(adam::unscheduled, "AR, C", "(unscheduled)", bound(g.size()));
        schedules.add(adam::sliced, "RS-C-AG", "split | reorder | as_slice<m, v>", bound(part));
        schedules.add(adam::fused, "fuse(RS-C-AG)", "split | reorder | as_slice<m, v> | fuse", bound(part));
        schedules.measure(rounds);
    });
    return shown;
}

/// A model-parallel block of a transformer, over a simulated link.
inline shown_program show_block(int ranks, std::int64_t s, std::int64_t h, std::int64_t k, const plait::link& network, int rounds)
{
    using block = plait::blocks::row_parallel<float, 1>;
    shown_program shown;
    shown.title = "A model-parallel block: matrix product, all-reduce, bias, dropout, residual";
    shown.about = "[" + std::to_string(s) + ", " + std::to_string(k) + "] times [" + std::to_string(k) + ", " + std::to_string(h) +
                  "], split over " + counted(static_cast<std::size_t>(ranks), "rank") + ". What moves between them takes as long as on a link of " +
                  plait::bytes_text(network.bytes_per_second) + "/s and " +
                  plait::seconds_text(std::chrono::duration<double>(network.latency).count()) + " latency; waiting for it burns no processor.";
    shown.text = plait::print(block::unscheduled);
    const auto each = [&](plait::thread_communicator& comm) {
        const auto part = static_cast<std::size_t>(plait::slice_of(k, comm.rank(), ranks).count);
        const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
        std::vector<float> x(size(s) * part, 0.5F), w(part * size(h), 0.25F), bias(size(h), 1.0F), residual(size(s * h), 1.0F), y(size(s * h));
        const std::vector<plait::binding> bound{block::x = x, block::w = w, block::y = y, block::tail::bias = bias,
                                                block::tail::residual = residual, block::tail::p = 0.1F, block::tail::seed = 7,
                                                plait::blocks::B = 1, plait::blocks::S = s, plait::blocks::K = k};
        measuring schedules(comm, shown);
        schedules.add(block::unscheduled, "MM, AR, C", "(unscheduled)", bound);
        schedules.add(block::sliced, "MM, RS-C-AG", "split | reorder", bound);
        schedules.add(block::fused, "MM, fuse(RS-C-AG)", "split | reorder | fuse", bound);
        schedules.add(block::overlapped, "overlap(MM, fuse(RS-C-AG))", "split | reorder | fuse | overlap", bound);
        schedules.measure(rounds);
    };
    plait::threads::run(ranks, each, plait::default_deadline, network);
    return shown;
}

/// Measures, and writes the page to a file. Throws failure if its folder is missing, plait::error if it cannot be written.
inline void write_report(const std::string& path, int most_ranks)
{
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder)) {
        throw file_failure("--report: there is no folder \"" + folder.string() + "\"");
    }
    const int cores = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
    const int ranks = std::min(most_ranks, cores);
    std::printf("measuring schedules on %s ...\n", counted(static_cast<std::size_t>(ranks), "rank").c_str());
    std::fflush(stdout);
    const plait::link network{.latency = std::chrono::microseconds(20), .bytes_per_second = 5e8};
    std::vector<shown_program> programs;
    programs.push_back(show_block(ranks, 512, 1024, 512, network, 21));
    programs.push_back(show_adam(ranks, std::int64_t{1} << 22, 15));
    plait::write_file(path, page_of(programs, "Each program is written once; its schedules are checked transformations that the compiler evaluates, and give "
                                              "the same results. Boxes tell more when the mouse rests on them."));
    for (const shown_program& p : programs) {
        std::printf("%s: %s takes %s, %.2fx faster than unscheduled\n", p.title.c_str(), p.best().name.c_str(),
                    plait::seconds_text(p.best().median()).c_str(), p.ratio(p.best()));
    }
    std::printf("written to %s\n", path.c_str());
}

}  // namespace demo
