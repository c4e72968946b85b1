// What ranks of NCCL are told when one of them has a wrong argument, fails, or does not come; and what users do beside running.
#include "cuda/nccl_errors.cuh"
#include "cuda/nccl_ranks.cuh"
#include "cuda/values.cuh"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
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

constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::local, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
constexpr auto accumulate = pl::program<"accumulate">(pl::update(y, y + sum));
constexpr auto fused = accumulate | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;


using buffer = decltype(std::declval<pl::nccl_communicator&>().symmetric<float>(1));

TEST_CASE("NCCL: records of any size, to and from all ranks, and again")
{
    nccl_test::run(3, [](pl::nccl_communicator& comm, ncclComm_t) {
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

TEST_CASE("NCCL: memory that all ranks have given back is freed, and windows keep their numbers")
{
    nccl_test::run(2, [](pl::nccl_communicator& comm, ncclComm_t) {
        auto kept = comm.symmetric<float>(static_cast<std::size_t>(100 + comm.rank()));
        void* const first = comm.allocate(64);
        CHECK(pl::nccl_communicator::reachable(comm.handle_of(first, 64)));
        CHECK(!pl::nccl_communicator::reachable(comm.handle_of(first, 65)));
        comm.deallocate(first, 64);
        if (comm.rank() == 0) { kept = buffer(std::move(kept)); }
        comm.collect();
        CHECK(!pl::nccl_communicator::reachable(comm.handle_of(first, 64)));
        CHECK(comm.resolve(comm.rank(), comm.handle_of(kept.data(), 4)) == kept.data());
        CHECK(comm.resolve(1 - comm.rank(), comm.handle_of(kept.data(), 4)) != nullptr);
        CHECK(comm.resolve(1 - comm.rank(), comm.handle_of(&comm, 4)) == nullptr);
    });
}

TEST_CASE("NCCL: a tensor that is plain memory on one rank is staged on all")
{
    nccl_test::run(3, [](pl::nccl_communicator& comm, ncclComm_t) {
        const auto mine = comm.symmetric<float>(1500);
        const auto total = comm.symmetric<float>(1500);
        set(comm, mine, static_cast<float>(comm.rank()));
        float* plain = nullptr;
        pl::cuda::check(cudaMalloc(&plain, 1500 * sizeof(float)), "plain");
        pl::cuda::check(cudaMemcpyAsync(plain, mine.data(), 1500 * sizeof(float), cudaMemcpyDeviceToDevice, comm.stream()), "plain");
        std::size_t without = 0;
        {
            pl::executable run{fused, comm};
            run(x = mine, y = total);
            without = run.workspace_bytes();
        }
        {
            pl::executable run{fused, comm};
            run(x = std::span(comm.rank() == 1 ? plain : mine.data(), 1500), y = total);
            CHECK(run.workspace_bytes() >= without + 1500 * sizeof(float));
            CHECK(get(comm, total) == std::vector<float>(1500, 6));
        }
        comm.barrier("all are done");
        pl::cuda::check(cudaFree(plain), "plain");
    });
}

TEST_CASE("NCCL: a wrong argument of one rank is an error on all, and the next run is fine")
{
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

TEST_CASE("NCCL: a rank that does not come to a meeting is named with the stage")
{
    done_count done;
    const auto what = thrown_on(3, [&](pl::nccl_communicator& comm, ncclComm_t) {
        if (comm.rank() == 1) { return done.wait_for(2); }
        comm.set_deadline(300ms);
        const std::string thrown = thrown_by([&] { comm.barrier("half-time"); });
        done.add();
        throw pl::error(thrown.substr(7));
    });
    CAPTURE(what[0]);
    CHECK(has(what[0], " failed: waited 300 ms at 'half-time'; not arrived: rank 1"));
    CHECK(has(what[2], " failed: waited 300 ms at 'half-time'; not arrived: rank 1"));  // both may run out of time at once
}

TEST_CASE("NCCL: a rank that does not come to a run is named by the kernel that waits")
{
    done_count done;
    const auto what = thrown_on(2, [&](pl::nccl_communicator& comm, ncclComm_t) {
        comm.set_deadline(3s);
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
    CHECK(has(what[0], "rank 0 failed: waited too long in 'program \"accumulate\", pass 0 (map)' for rank 1"));
}

TEST_CASE("NCCL: a rank that fails ends the waits of all, on the host and on devices")
{
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
        if (comm.rank() == 0) { run(x = mine, y = total); }  // its kernel waits for the others
        ++waiting;
        comm.rank() == 0 ? comm.synchronize() : comm.barrier("the end of the day");
    });
    CHECK(has(what[0], "rank 1 failed: "));
    CHECK(has(what[2], "rank 1 failed: "));
}

TEST_CASE("NCCL: ranks that make different meetings, or records of different sizes")
{
    const auto sizes = thrown_on(2, [](pl::nccl_communicator& comm, ncclComm_t) {
        comm.exchange("12345678", static_cast<std::size_t>(4 + comm.rank()), "sizes");
    });
    for (const std::string& w : sizes) { CHECK(has(w, "'sizes': rank 1 shows 5 bytes, rank 0 4; records must have one size")); }
    const auto kinds = thrown_on(2, [](pl::nccl_communicator& comm, ncclComm_t) {
        comm.rank() == 0 ? comm.barrier("kinds") : static_cast<void>(comm.exchange("1", 1, "kinds"));
    });
    for (const std::string& w : kinds) { CHECK(has(w, "'kinds': rank 1 came to another meeting; all ranks must make the same calls in the same order")); }
}

TEST_CASE("NCCL: new buffers while the stream is captured are refused")
{
    nccl_test::run(1, [](pl::nccl_communicator& comm, ncclComm_t) {
        const auto mine = comm.symmetric<float>(8);
        const auto total = comm.symmetric<float>(8);
        comm.synchronize();
        pl::executable run{fused, comm};
        cudaGraph_t graph = nullptr;
        pl::cuda::check(cudaStreamBeginCapture(comm.stream(), cudaStreamCaptureModeThreadLocal), "capture");
        const std::string what = thrown_by([&] { run(x = mine, y = total); });
        CHECK(has(what, "buffers or extents are new while the stream is captured; run once with them before"));
        pl::cuda::check(cudaStreamEndCapture(comm.stream(), &graph), "capture");
        if (graph != nullptr) { pl::cuda::check(cudaGraphDestroy(graph), "graph"); }
    });
}

TEST_CASE("docs: a rank of NCCL")
{
    nccl_test::run(2, [](pl::nccl_communicator& outer, ncclComm_t your_communicator) {
        outer.barrier("before");
        const cudaStream_t your_stream = outer.stream();
        float first = 0;
        // [nccl]
        // #include <plait/cuda.cuh> and <plait/fabric/nccl.cuh>, and link plait::nccl. One thread or process per rank, whose
        // device is the current one. ncclCommInitRank was called by you.
        pl::nccl_communicator comm(your_communicator, your_stream);
        auto grad = comm.symmetric<float>(1000);  // all ranks' kernels reach it; other memory of the device is staged
        auto total = comm.symmetric<float>(1000);
        const float one = 1.0F;
        cudaMemcpyAsync(grad.data(), &one, sizeof one, cudaMemcpyHostToDevice, your_stream);

        pl::executable run{fused, comm};
        run(x = grad, y = total);  // put on the stream, in order with what you put there
        cudaMemcpyAsync(&first, total.data(), sizeof first, cudaMemcpyDeviceToHost, your_stream);
        comm.synchronize();  // waits for the stream, and throws what went wrong
        // [/nccl]
        CHECK(first == 2.0F);
    });
}

}  // namespace
