// Tracing on devices: passes and chunks in order, on the host's clock.
#include "memory.cuh"

#include <plait/blocks/model_parallel.hpp>
#include <plait/cuda.cuh>
#include <plait/optim/adam.hpp>
#include <plait/see.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace pl = plait;

constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::local, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto step = pl::program<"step">(pl::update(y, pl::relu(pl::label<"sum">(pl::all_reduce(pl::sum, x))) + y));

/// Events of a lane do not overlap, and lie within their run.
void check_order(const pl::timeline& t)
{
    std::map<std::pair<int, pl::trace_lane>, std::vector<pl::trace_event>> lanes;
    std::map<std::array<int, 3>, pl::trace_event> runs;
    for (const pl::trace_event& e : t.events) {
        CHECK(e.begin <= e.end);
        if (e.what == pl::activity::run) {
            runs[{e.rank, e.program, e.run}] = e;
        } else {
            lanes[{e.rank, e.lane}].push_back(e);
        }
    }
    for (const auto& [which, lane] : lanes) {
        for (std::size_t i = 0; i < lane.size(); ++i) {
            if (i > 0) { CHECK(lane[i - 1].end <= lane[i].begin); }
            const pl::trace_event& run = runs.at({lane[i].rank, lane[i].program, lane[i].run});
            CHECK(run.begin <= lane[i].begin);
            CHECK(lane[i].end <= run.end);
        }
    }
}

TEST_CASE("CUDA: every pass of every run is recorded, more runs than are under way at once")
{
    for (const int ranks : {1, 2}) {
        pl::cuda_peers::run(
            ranks,
            [&](pl::cuda_communicator& comm) {
                const std::size_t n = 1500;
                const auto mine = comm.symmetric<float>(n);
                const auto total = comm.symmetric<float>(n);
                pl::executable run{step, comm};
                run(x = mine, y = total);
                pl::trace t;
                const std::int64_t before = pl::trace::now();
                run.set_trace(&t);
                for (int i = 0; i < 20; ++i) { run(x = mine, y = total); }
                run.set_trace(nullptr);
                const std::int64_t after = pl::trace::now();
                run(x = mine, y = total);
                comm.synchronize();
                CHECK(t.events().size() == 60);
                for (const pl::trace_event& e : t.events()) {
                    CHECK(before - 1000 <= e.begin);
                    CHECK(e.end <= after + 1000);
                    if (e.pass >= 0) { CHECK((e.what == pl::activity::communication) == (e.pass == 0)); }
                }
                CHECK(t.seconds_of(run.image(), 0).value_or(0) > 0);
                CHECK(t.seconds_of(run.image(), 1).value_or(0) > 0);
                const pl::timeline all = pl::gather(comm, t);
                if (comm.rank() != 0) { return; }
                CHECK(all.events.size() == static_cast<std::size_t>(60 * ranks));
                check_order(all);
            },
            cuda_test::devices());
    }
}

TEST_CASE("CUDA: the chunks of a pipeline, on two streams")
{
    using block = pl::blocks::row_parallel<float, 1>;
    pl::cuda_peers::run(
        2,
        [&](pl::cuda_communicator& comm) {
            constexpr std::int64_t s = 8, k = 8, h = 4;
            const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
            const auto a = comm.symmetric<float>(size(s * k / 2));
            const auto w = comm.symmetric<float>(size(k / 2 * h));
            const auto bias = comm.symmetric<float>(size(h));
            const auto residual = comm.symmetric<float>(size(s * h));
            const auto out = comm.symmetric<float>(size(s * h));
            pl::executable run{block::overlapped, comm};
            run.set_chunks(4);
            pl::trace t;
            run.set_trace(&t);
            for (int i = 0; i < 2; ++i) {
                run(block::x = a, block::w = w, block::y = out, block::tail::bias = bias, block::tail::residual = residual,
                    block::tail::p = 0.0F, block::tail::seed = 1, pl::blocks::B = 1, pl::blocks::S = s, pl::blocks::K = k);
            }
            run.set_trace(nullptr);
            std::vector<int> chunks[2];
            for (const pl::trace_event& e : t.events()) {
                if (e.pass < 0) { continue; }
                chunks[e.pass].push_back(e.chunk);
                CHECK(e.lane == (e.pass == 0 ? pl::trace_lane::compute : pl::trace_lane::communication));
            }
            CHECK(chunks[0] == std::vector<int>{-1, -1});  // one launch for all chunks
            CHECK(chunks[1] == std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3});
            check_order(pl::timeline_of(t));
        },
        cuda_test::devices());
}

TEST_CASE("CUDA: captured runs are not recorded, and tracing does not begin while a stream is captured")
{
    pl::cuda_peers::run(
        1,
        [&](pl::cuda_communicator& comm) {
            const auto mine = comm.symmetric<float>(8);
            const auto total = comm.symmetric<float>(8);
            pl::executable run{step, comm};
            run(x = mine, y = total);
            pl::trace t;
            run.set_trace(&t);
            cudaGraph_t graph = nullptr;
            pl::cuda::check(cudaStreamBeginCapture(comm.stream(), cudaStreamCaptureModeThreadLocal), "capture");
            run(x = mine, y = total);
            std::string thrown;
            try {
                run.set_trace(nullptr);
            } catch (const pl::error& e) {
                thrown = e.what();
            }
            pl::cuda::check(cudaStreamEndCapture(comm.stream(), &graph), "capture");
            pl::cuda::check(cudaGraphDestroy(graph), "graph");
            CHECK(thrown == "plait: program \"step\": set_trace while the stream is captured; set it before");
            run(x = mine, y = total);
            run.set_trace(nullptr);
            CHECK(t.events().size() == 3);
        },
        cuda_test::devices());
}

}  // namespace
