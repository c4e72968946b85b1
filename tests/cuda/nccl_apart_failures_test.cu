// Ranks of NCCL that cannot load from each other: how they meet on the host, and what they are told when one of them has a wrong
// argument, fails, or does not come.
#include "cuda/nccl_errors.cuh"
#include "cuda/nccl_ranks.cuh"
#include "cuda/values.cuh"

#include <plait/run/explain.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
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
using nccl_test::done_count;
using nccl_test::has;
using nccl_test::thrown_on;

static_assert(pl::stream_messenger<pl::nccl_communicator, cudaStream_t>);

constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::local, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
constexpr auto accumulate = pl::program<"accumulate">(pl::update(y, y + sum));
constexpr auto fused = accumulate | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;

/// Every rank is in a domain of its own while it lives.
struct apart {
    apart() { ::setenv("EMULATOR_NCCL_LSA_SIZE", "1", 1); }
    ~apart() { ::unsetenv("EMULATOR_NCCL_LSA_SIZE"); }
};

TEST_CASE("NCCL, apart: records of any size, to and from all ranks, and again")
{
    const apart domains;
    nccl_test::run(3, [](pl::nccl_communicator& comm, ncclComm_t) {
        CHECK(comm.shares(comm.rank()));
        CHECK(!comm.shares((comm.rank() + 1) % 3));
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4080}, std::size_t{4081}, std::size_t{20000}}) {
            std::vector<unsigned char> mine(bytes);
            for (std::size_t i = 0; i < bytes; ++i) { mine[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(comm.rank())); }
            const auto all = comm.exchange(mine.data(), bytes, "bytes");
            comm.barrier("between");
            REQUIRE(all.size() == 3);
            for (std::size_t r = 0; r < 3; ++r) {
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < bytes; ++i) { wrong += static_cast<const unsigned char*>(all[r])[i] != static_cast<unsigned char>(i * 7 + r); }
                CHECK(wrong == 0);
            }
        }
    });
}

TEST_CASE("NCCL, apart: nothing is staged but what is scattered, and memory is given back")
{
    const apart domains;
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
    const apart domains;
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
    const apart domains;
    nccl_test::run(3, [](pl::nccl_communicator& comm, ncclComm_t) {
        const auto mine = comm.symmetric<float>(9);
        const auto total = comm.symmetric<float>(9);
        set(comm, mine, 1);
        set(comm, total, 0);
        pl::executable run{fused, comm};
        const std::string what = thrown_by([&] {
            const std::size_t n = comm.rank() == 1 ? 8 : 9;
            run(x = std::span(mine.data(), n), y = total, N = 9);
        });
        CHECK(has(what, "tensor \"x\" needs 9 elements, its buffer has 8"));
        CHECK(has(what, "rank 1: ") == (comm.rank() != 1));
        run(x = mine, y = total);
        CHECK(get(comm, total) == std::vector<float>(9, 3));
    });
}

TEST_CASE("NCCL, apart: a rank that does not come to a meeting")
{
    const apart domains;
    done_count done;
    const auto what = thrown_on(3, [&](pl::nccl_communicator& comm, ncclComm_t) {
        if (comm.rank() == 1) { return done.wait_for(2); }
        comm.set_deadline(300ms);
        const std::string thrown = thrown_by([&] { comm.barrier("half-time"); });
        done.add();
        throw pl::error(thrown.substr(7));
    });
    CAPTURE(what[0]);
    CHECK(has(what[0], " failed: waited 300 ms at 'half-time'; not arrived: some rank"));
    CHECK(has(what[2], " failed: waited 300 ms at 'half-time'; not arrived: some rank"));
}

TEST_CASE("NCCL, apart: a rank that does not come to a run")
{
    const apart domains;
    done_count done;
    const auto what = thrown_on(2, [&](pl::nccl_communicator& comm, ncclComm_t) {
        comm.set_deadline(700ms);
        const auto mine = comm.symmetric<float>(8);
        const auto total = comm.symmetric<float>(8);
        set(comm, mine, 1);
        set(comm, total, 0);
        pl::executable run{fused, comm};
        run(x = mine, y = total);
        comm.synchronize();
        if (comm.rank() == 1) { return done.wait_for(1); }
        const std::string thrown = thrown_by([&] {
            run(x = mine, y = total);
            comm.synchronize();
        });
        done.add();
        throw pl::error(thrown.substr(7));
    });
    CHECK(has(what[0], "rank 0 failed: waited 700 ms in 'program \"accumulate\", pass 0 (map)' for what other ranks send or receive"));
}

TEST_CASE("NCCL, apart: a rank that fails is heard by those who wait for it, on the host and on streams")
{
    const apart domains;
    std::atomic<int> waiting = 0;
    const auto what = thrown_on(3, [&](pl::nccl_communicator& comm, ncclComm_t) {
        const auto mine = comm.symmetric<float>(8);
        const auto total = comm.symmetric<float>(8);
        set(comm, mine, 1);
        set(comm, total, 0);
        pl::executable run{fused, comm};
        run(x = mine, y = total);
        comm.synchronize();
        if (comm.rank() == 1) {
            while (waiting != 2) { std::this_thread::yield(); }
            std::this_thread::sleep_for(50ms);
            throw pl::error("no more");
        }
        if (comm.rank() == 0) { run(x = mine, y = total); }  // its stream waits for what others send
        ++waiting;
        comm.rank() == 0 ? comm.synchronize() : comm.barrier("the end of the day");
    });
    CHECK(has(what[0], "rank 1 failed: "));
    CHECK(has(what[2], "rank 1 failed: "));
}

TEST_CASE("NCCL, apart: a rank that is late is waited for, by those who listen as well")
{
    const apart domains;
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
    const apart domains;
    const auto sizes = thrown_on(2, [](pl::nccl_communicator& comm, ncclComm_t) {
        comm.exchange("12345678", static_cast<std::size_t>(4 + comm.rank()), "sizes");
    });
    for (const std::string& w : sizes) { CHECK(has(w, "'sizes': rank 1 shows 5 bytes, rank 0 4; records must have one size")); }
    const auto kinds = thrown_on(2, [](pl::nccl_communicator& comm, ncclComm_t) {
        comm.rank() == 0 ? comm.barrier("kinds") : static_cast<void>(comm.exchange("1", 1, "kinds"));
    });
    for (const std::string& w : kinds) { CHECK(has(w, "'kinds': rank 1 came to another meeting; all ranks must make the same calls in the same order")); }
}

TEST_CASE("NCCL, apart: ranks that share a device are refused")
{
    const apart domains;
    const char* const devices = std::getenv("PLAIT_TEST_DEVICES");
    const std::string before = devices == nullptr ? "1" : devices;
    ::setenv("PLAIT_TEST_DEVICES", "1", 1);
    const std::string what = thrown_by([] { nccl_test::run(2, [](pl::nccl_communicator&, ncclComm_t) {}); });
    ::setenv("PLAIT_TEST_DEVICES", before.c_str(), 1);
    CHECK(has(what, "NCCL: the ranks cannot all load from each other, and 2 of them share a device; give each one of its own"));
}

}  // namespace
