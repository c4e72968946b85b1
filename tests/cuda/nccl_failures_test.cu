// What ranks of NCCL are told when one of them has a wrong argument, fails, or does not come; and what users do beside running.
#include "cuda/nccl_cases.cuh"

#include <doctest/doctest.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using namespace std::chrono_literals;
using cuda_test::get;
using cuda_test::set;
using cuda_test::thrown_by;
using nccl_test::fused;
using nccl_test::has;
using nccl_test::x;
using nccl_test::y;

using buffer = decltype(std::declval<pl::nccl_communicator&>().symmetric<float>(1));

TEST_CASE("NCCL: records of any size, to and from all ranks, and again")
{
    nccl_test::check_records();
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
    nccl_test::check_wrong_argument();
}

TEST_CASE("NCCL: a rank that does not come to a meeting is named with the stage")
{
    const auto what = nccl_test::missing_at_meeting();
    CAPTURE(what[0]);
    CHECK(has(what[0], " failed: waited 300 ms at 'half-time'; not arrived: rank 1"));
    CHECK(has(what[2], " failed: waited 300 ms at 'half-time'; not arrived: rank 1"));  // both may run out of time at once
}

TEST_CASE("NCCL: a rank that does not come to a run is named by the kernel that waits")
{
    const auto what = nccl_test::missing_in_run(3s);
    CHECK(has(what[0], "rank 0 failed: waited too long in 'program \"accumulate\", pass 0 (map)' for rank 1"));
}

TEST_CASE("NCCL: a rank that fails ends the waits of all, on the host and on devices")
{
    nccl_test::check_failing_rank();
}

TEST_CASE("NCCL: ranks that make different meetings, or records of different sizes")
{
    nccl_test::check_different_meetings();
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
