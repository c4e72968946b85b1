// What a trace records: every pass of every rank, chunks in order, nothing that overlaps in a lane.
#include "run/check.hpp"

#include <plait/plait.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace pl = plait;
using namespace std::chrono_literals;

using adam = pl::optim::adam<>;
using block = pl::blocks::row_parallel<>;

/// One rank of Adam.
struct adam_rank {
    std::vector<float> g, p, m, v;
    explicit adam_rank(std::int64_t n, int rank, int ranks, bool sliced)
        : g(static_cast<std::size_t>(n), 0.5F),
          p(g.size(), 1.0F),
          m(sliced ? static_cast<std::size_t>(pl::slice_of(n, rank, ranks).count) : g.size()),
          v(m.size())
    {
    }
    template <class Run>
    void step(Run& run)
    {
        run(adam::g = g, adam::p = p, adam::m = m, adam::v = v, adam::lr = 0.1F, adam::beta1 = 0.9F, adam::beta2 = 0.99F,
            adam::eps = 1e-8F, adam::c1 = 0.1F, adam::c2 = 0.01F);
    }
};
/// One rank of a block.
struct block_rank {
    static constexpr std::int64_t b = 2, s = 48, k = 24, h = 16;
    std::vector<float> x, w, bias = std::vector<float>(h), residual = std::vector<float>(b * s * h), y = residual;
    block_rank(int rank, int ranks)
        : x(static_cast<std::size_t>(b * s * pl::slice_of(k, rank, ranks).count), 1.0F),
          w(static_cast<std::size_t>(h * pl::slice_of(k, rank, ranks).count), 1.0F)
    {
    }
    template <class Run>
    void step(Run& run)
    {
        run(block::x = x, block::w = w, block::y = y, block::tail::bias = bias, block::tail::residual = residual,
            block::tail::p = 0.0F, block::tail::seed = 42, pl::blocks::B = b, pl::blocks::S = s, pl::blocks::K = k);
    }
};

/// Events end after they begin, lie within their run, and do not overlap others of their lane.
void check_order(std::span<const pl::trace_event> events)
{
    std::map<std::pair<int, pl::trace_lane>, std::vector<pl::trace_event>> lanes;
    std::map<std::array<int, 3>, pl::trace_event> runs;
    for (const pl::trace_event& e : events) {
        CHECK(e.begin <= e.end);
        if (e.what == pl::activity::run) {
            runs[{e.rank, e.program, e.run}] = e;
        } else {
            lanes[{e.rank, e.lane}].push_back(e);
        }
    }
    for (auto& [which, lane] : lanes) {
        std::ranges::sort(lane, {}, &pl::trace_event::begin);
        for (std::size_t i = 0; i < lane.size(); ++i) {
            if (i > 0) { CHECK(lane[i - 1].end <= lane[i].begin); }
            if (which.second == pl::trace_lane::link) { continue; }
            const pl::trace_event& run = runs.at({lane[i].rank, lane[i].program, lane[i].run});
            CHECK(run.begin <= lane[i].begin);
            CHECK(lane[i].end <= run.end);
        }
    }
}

TEST_CASE("trace: every pass of every rank, in every run")
{
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (const std::int64_t n : {0, 1, 5000}) {
            CAPTURE(ranks);
            CAPTURE(n);
            pl::threads::run(ranks, [&](pl::thread_communicator& comm) {
                adam_rank mine(n, comm.rank(), ranks, false);
                pl::trace t;
                pl::executable run{adam::unscheduled, comm};
                mine.step(run);
                run.set_trace(&t);
                for (int i = 0; i < 3; ++i) { mine.step(run); }
                run.set_trace(nullptr);
                mine.step(run);
                check_order(t.events());
                CHECK(t.dropped() == 0);
                REQUIRE(t.programs().size() == 1);
                CHECK(t.programs()[0].name == "adam");
                CHECK(t.programs()[0].stages[1] == pl::traced_program::stage{"update m, v, p", pl::stage_kind::compute});
                std::vector<int> seen;
                for (const pl::trace_event& e : t.events()) {
                    CHECK(e.rank == comm.rank());
                    if (e.pass >= 0) {
                        seen.push_back(e.run * 2 + e.pass);
                        CHECK(e.what == (e.pass == 0 ? pl::activity::communication : pl::activity::compute));
                        CHECK((e.lane == pl::trace_lane::communication) == (e.pass == 0));
                    }
                }
                CHECK(seen == std::vector<int>{0, 1, 2, 3, 4, 5});
                REQUIRE(t.seconds_of(run.image(), 1));
                CHECK(*t.seconds_of(run.image(), 1) >= 0);
                CHECK(!t.seconds_of(run.image(), 2));
            });
        }
    }
}

TEST_CASE("trace: several executables, under names of their own")
{
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        adam_rank whole(1000, comm.rank(), 2, false);
        adam_rank sliced(1000, comm.rank(), 2, true);
        pl::trace t;
        pl::executable unscheduled{adam::unscheduled, comm};
        pl::executable fused{adam::fused, comm};
        unscheduled.set_trace(&t);
        fused.set_trace(&t, "fuse(RS-C-AG)");
        whole.step(unscheduled);
        sliced.step(fused);
        sliced.step(fused);
        check_order(t.events());
        REQUIRE(t.programs().size() == 2);
        CHECK(t.programs()[1].name == "fuse(RS-C-AG)");
        CHECK(t.programs()[1].stages[0].kind == pl::stage_kind::fused);
        const auto fused_passes = std::ranges::count_if(
            t.events(), [](const pl::trace_event& e) { return e.program == 1 && e.what == pl::activity::fused && e.pass == 0; });
        CHECK(fused_passes == 2);
        CHECK(t.seconds_of(fused.image(), 0));
        t.clear();
        CHECK(t.events().empty());
        CHECK(!t.seconds_of(fused.image(), 0));
        sliced.step(fused);
        CHECK(t.events().back().run == 2);  // counted on
    });
}

TEST_CASE("trace: without room events are counted, and nothing else happens")
{
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        adam_rank mine(1000, comm.rank(), 2, false);
        pl::trace all;
        pl::trace few(3);
        pl::trace none(0);
        pl::executable run{adam::unscheduled, comm};
        for (pl::trace* t : {&all, &few, &none}) {
            run.set_trace(t);
            mine.step(run);
            mine.step(run);
        }
        CHECK(few.events().size() == 3);
        CHECK(few.events().size() + few.dropped() == all.events().size());
        CHECK(none.events().empty());
        CHECK(none.dropped() == all.events().size());
    });
}

TEST_CASE("trace: the chunks of a pipeline, in order, stage by stage")
{
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (const bool slow : {false, true}) {
            CAPTURE(ranks);
            CAPTURE(slow);
            const pl::link network = slow ? pl::link{.latency = 20us, .bytes_per_second = 200e6} : pl::link{};
            pl::threads::run(
                ranks,
                [&](pl::thread_communicator& comm) {
                    block_rank mine(comm.rank(), ranks);
                    pl::trace t;
                    pl::executable run{block::overlapped, comm};
                    run.set_chunks(4);
                    run.set_trace(&t);
                    mine.step(run);
                    check_order(t.events());
                    std::vector<int> chunks[2];
                    std::int64_t ends[2][4]{};
                    int transfers = 0;
                    for (const pl::trace_event& e : t.events()) {
                        transfers += e.lane == pl::trace_lane::link ? 1 : 0;
                        if (e.chunk < 0 || e.lane == pl::trace_lane::link) { continue; }
                        chunks[e.pass].push_back(e.chunk);
                        ends[e.pass][e.chunk] = e.end;
                        CHECK(e.what == (e.pass == 0 ? pl::activity::compute : pl::activity::fused));
                    }
                    for (const auto& c : chunks) { CHECK(c == std::vector<int>{0, 1, 2, 3}); }
                    for (int k = 0; k < 4; ++k) { CHECK(ends[0][k] < ends[1][k]); }  // made before it is taken
                    CHECK(transfers == (slow && ranks > 1 ? 8 : 0));                  // in and out
                },
                pl::default_deadline, network);
        }
    }
}

TEST_CASE("trace: a simulated link's transfers of whole passes")
{
    const pl::link network{.latency = 10us, .bytes_per_second = 100e6};
    pl::threads::run(
        2,
        [&](pl::thread_communicator& comm) {
            adam_rank mine(5000, comm.rank(), 2, true);
            pl::trace t;
            pl::executable run{adam::fused, comm};
            run.set_trace(&t);
            mine.step(run);
            check_order(t.events());
            std::int64_t in_transfer = 0;
            std::int64_t moving = 0;
            for (const pl::trace_event& e : t.events()) {
                if (e.lane == pl::trace_lane::link) { in_transfer += e.end - e.begin; }
                if (e.lane == pl::trace_lane::communication) { moving += e.end - e.begin; }
            }
            // Half of 20 kB in and half out, at 10 ns a byte; the way in keeps the rank from going on.
            CHECK(in_transfer >= 190'000);
            CHECK(moving >= 95'000);
            CHECK(*t.seconds_of(run.image(), 0) > 190e-6);  // there and back
        },
        pl::default_deadline, network);
}

}  // namespace
