// Ranks of NCCL that cannot load from each other: how they meet on the host, and what they are told when one of them has a wrong
// argument, fails, or does not come.
#include "cuda/nccl_cases.cuh"

#include <plait/run/explain.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using namespace std::chrono_literals;
using cuda_test::get;
using cuda_test::set;
using cuda_test::thrown_by;
using nccl_test::domains_of;
using nccl_test::fused;
using nccl_test::has;
using nccl_test::x;
using nccl_test::y;

static_assert(pl::stream_messenger<pl::nccl_communicator, cudaStream_t>);

TEST_CASE("NCCL, apart: records of any size, to and from all ranks, and again")
{
    const domains_of one("1");
    nccl_test::run(3, [](pl::nccl_communicator& comm, ncclComm_t) {
        CHECK(comm.shares(comm.rank()));
        CHECK(!comm.shares((comm.rank() + 1) % 3));
    });
    nccl_test::check_records();
}

TEST_CASE("NCCL, apart: nothing is staged but what is scattered, and memory is given back")
{
    const domains_of one("1");
    nccl_test::run(2, [](pl::nccl_communicator& comm, ncclComm_t) {
        float* plain = nullptr;
        pl::cuda::check(cudaMalloc(&plain, 1500 * sizeof(float)), "plain");
        {
            const auto total = comm.symmetric<float>(1500);
            set(comm, std::span(plain, 1500), static_cast<float>(comm.rank() + 1));
            pl::executable run{fused, comm};
            run(x = std::span(plain, 1500), y = total);
            run(x = std::span(plain, 1500), y = total);
            CHECK(get(comm, total) == std::vector<float>(1500, 6));
            CHECK(pl::explain(run).copies.empty());
            const std::vector<std::span<float>> parts{std::span(plain, 1000), std::span(plain + 1000, 500)};
            const pl::scattered pieces(parts);
            run(x = pieces, y = total);
            CHECK(pl::explain(run).copies.size() == 1);
            CHECK(get(comm, total) == std::vector<float>(1500, 9));
        }
        comm.collect();
        pl::cuda::check(cudaFree(plain), "plain");
    });
}

TEST_CASE("NCCL, apart: runs that a graph replays")
{
    const domains_of one("1");
    nccl_test::run(3, [](pl::nccl_communicator& comm, ncclComm_t) {
        const auto mine = comm.symmetric<float>(1001);
        const auto total = comm.symmetric<float>(1001);
        set(comm, mine, static_cast<float>(comm.rank()));
        set(comm, total, 0);
        pl::executable run{fused, comm};
        run(x = mine, y = total);
        comm.synchronize();
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t replayed = nullptr;
        pl::cuda::check(cudaStreamBeginCapture(comm.stream(), cudaStreamCaptureModeThreadLocal), "capture");
        run(x = mine, y = total);
        pl::cuda::check(cudaStreamEndCapture(comm.stream(), &graph), "capture");
        pl::cuda::check(cudaGraphInstantiate(&replayed, graph, 0), "graph");
        for (int i = 0; i < 3; ++i) { pl::cuda::check(cudaGraphLaunch(replayed, comm.stream()), "graph"); }
        CHECK(get(comm, total) == std::vector<float>(1001, 12));
        pl::cuda::check(cudaGraphExecDestroy(replayed), "graph");
        pl::cuda::check(cudaGraphDestroy(graph), "graph");
    });
}

TEST_CASE("NCCL, apart: a wrong argument of one rank is an error on all, and the next run is fine")
{
    const domains_of one("1");
    nccl_test::check_wrong_argument();
}

TEST_CASE("NCCL, apart: a rank that does not come to a meeting")
{
    const domains_of one("1");
    const auto what = nccl_test::missing_at_meeting();
    CAPTURE(what[0]);
    CHECK(has(what[0], " failed: waited 300 ms at 'half-time'; not arrived: some rank"));
    CHECK(has(what[2], " failed: waited 300 ms at 'half-time'; not arrived: some rank"));
}

TEST_CASE("NCCL, apart: a rank that does not come to a run")
{
    const domains_of one("1");
    const auto what = nccl_test::missing_in_run(700ms);
    CHECK(has(what[0], "rank 0 failed: waited 700 ms in 'program \"accumulate\", pass 0 (map)' for what other ranks send or receive"));
}

TEST_CASE("NCCL, apart: a rank that fails is heard by those who wait for it, on the host and on streams")
{
    const domains_of one("1");
    nccl_test::check_failing_rank();
}

TEST_CASE("NCCL, apart: a rank that is late is waited for, by those who listen as well")
{
    const domains_of one("1");
    nccl_test::run(3, [](pl::nccl_communicator& comm, ncclComm_t) {
        const auto mine = comm.symmetric<float>(8);
        const auto total = comm.symmetric<float>(8);
        set(comm, mine, 1);
        set(comm, total, 0);
        pl::executable run{fused, comm};
        run(x = mine, y = total);
        comm.synchronize();
        if (comm.rank() == 1) { std::this_thread::sleep_for(500ms); }
        run(x = mine, y = total);
        CHECK(get(comm, total) == std::vector<float>(8, 6));
        comm.barrier("after all");
        const int rank = comm.rank();
        const auto all = comm.exchange(&rank, sizeof rank, "and again");
        for (int r = 0; r < 3; ++r) { CHECK(*static_cast<const int*>(all[static_cast<std::size_t>(r)]) == r); }
    });
}

TEST_CASE("NCCL, apart: ranks that make different meetings, or records of different sizes")
{
    const domains_of one("1");
    nccl_test::check_different_meetings();
}

TEST_CASE("NCCL, apart: ranks that share a device are refused")
{
    const domains_of one("1");
    const char* const devices = std::getenv("PLAIT_TEST_DEVICES");
    const std::string before = devices == nullptr ? "1" : devices;
    ::setenv("PLAIT_TEST_DEVICES", "1", 1);
    const std::string what = thrown_by([] { nccl_test::run(2, [](pl::nccl_communicator&, ncclComm_t) {}); });
    ::setenv("PLAIT_TEST_DEVICES", before.c_str(), 1);
    CHECK(has(what, "NCCL: the ranks cannot all load from each other, and 2 of them share a device; give each one of its own"));
}

}  // namespace
