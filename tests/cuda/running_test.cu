// What users of the CUDA target do beside running: graphs, wrong buffers, ranks that do not come.
#include "cuda/memory.cuh"
#include "cuda/values.cuh"

#include <plait/cuda.cuh>

#include <doctest/doctest.h>

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

constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::local, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto s = pl::scalar<"s", float>;
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
constexpr auto accumulate = pl::program<"accumulate">(pl::update(y, y + s * sum));
constexpr auto fused = accumulate | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;

TEST_CASE("CUDA: a run is captured into a graph and replayed, also on another stream")
{
    for (const int ranks : {1, 3}) {
        pl::cuda_peers::run(
            ranks,
            [&](pl::cuda_communicator& comm) {
                const std::size_t n = 1500;
                const auto mine = comm.symmetric<float>(n);
                const auto total = comm.symmetric<float>(n);
                set(comm, mine, static_cast<float>(comm.rank() + 1));
                pl::executable run{fused, comm};
                run(x = mine, y = total, s = 2.0F);  // buffers are made known
                cudaGraph_t graph = nullptr;
                cudaGraphExec_t replay = nullptr;
                pl::cuda::check(cudaStreamBeginCapture(comm.stream(), cudaStreamCaptureModeThreadLocal), "capture");
                run(x = mine, y = total, s = 2.0F);
                pl::cuda::check(cudaStreamEndCapture(comm.stream(), &graph), "capture");
                pl::cuda::check(cudaGraphInstantiate(&replay, graph, 0), "graph");
                comm.synchronize();
                cudaStream_t other = nullptr;
                pl::cuda::check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "stream");
                for (int i = 0; i < 3; ++i) { pl::cuda::check(cudaGraphLaunch(replay, other), "replay"); }
                pl::cuda::check(cudaStreamSynchronize(other), "replay");
                const float each = 2.0F * static_cast<float>(ranks * (ranks + 1) / 2);
                CHECK(get(comm, total) == std::vector<float>(n, 4 * each));
                run(x = mine, y = total, s = 1.0F);  // and on as before
                CHECK(get(comm, total) == std::vector<float>(n, 4.5F * each));
                pl::cuda::check(cudaGraphExecDestroy(replay), "graph");
                pl::cuda::check(cudaGraphDestroy(graph), "graph");
                pl::cuda::check(cudaStreamDestroy(other), "stream");
            },
            cuda_test::devices());
    }
}

TEST_CASE("CUDA: one executable for sizes that grow and shrink, with sums")
{
    constexpr auto total = pl::tensor<"total", float>(pl::replicated);
    constexpr auto add_up = pl::program<"add_up">(pl::update(total, pl::sum(pl::all_reduce(pl::sum, x))));
    pl::cuda_peers::run(
        2,
        [&](pl::cuda_communicator& comm) {
            const auto mine = comm.symmetric<float>(20000);
            const auto result = comm.symmetric<float>(1);
            set(comm, mine, 0.5F);
            pl::executable run{add_up, comm};
            for (const std::size_t n : {20000, 1000, 1, 0, 3000, 20000}) {
                run(x = std::span(mine.data(), n), total = result, N = n);
                CHECK(get(comm, result) == std::vector<float>(1, static_cast<float>(n)));
            }
        },
        cuda_test::devices());
}

TEST_CASE("CUDA: the example in the pages")
{
    float first = 0;
    const std::vector<int> devices = cuda_test::devices();
    const std::size_t n = 1000;
    // [cuda]
    // #include <plait/cuda.cuh>, in a source that nvcc compiles with -std=c++20.
    pl::cuda_peers::run(2, [&](pl::cuda_communicator& comm) {  // two ranks, each a thread with a device and a stream
        using adam = pl::optim::adam<>;
        const auto part = static_cast<std::size_t>(pl::slice_of(n, comm.rank(), comm.size()).count);
        auto grad = comm.symmetric<float>(n);  // zeroed memory of the rank's device; any of cudaMalloc will do
        auto param = comm.symmetric<float>(n);
        auto m = comm.symmetric<float>(part);
        auto v = comm.symmetric<float>(part);
        const float one = 1.0F;
        cudaMemcpyAsync(grad.data(), &one, sizeof one, cudaMemcpyHostToDevice, comm.stream());

        pl::executable run{adam::fused, comm};
        run(adam::g = grad, adam::p = param, adam::m = m, adam::v = v, adam::lr = 0.5F, adam::beta1 = 0.0F,
            adam::beta2 = 0.0F, adam::eps = 1e-8F, adam::c1 = 1.0F, adam::c2 = 1.0F);
        float result = 0;
        cudaMemcpyAsync(&result, param.data(), sizeof result, cudaMemcpyDeviceToHost, comm.stream());
        comm.synchronize();  // waits for the stream, and throws if something went wrong on the device
        if (comm.rank() == 0) { first = result; }
    }, devices);
    // [/cuda]
    CHECK(first == doctest::Approx(-0.5));
}

TEST_CASE("CUDA: memory of the host is refused on every rank")
{
    pl::cuda_peers::run(
        2,
        [&](pl::cuda_communicator& comm) {
            const auto mine = comm.symmetric<float>(8);
            const auto total = comm.symmetric<float>(8);
            std::vector<float> plain(8);
            pl::executable run{fused, comm};
            const std::string what = thrown_by([&] {
                if (comm.rank() == 1) { run(x = plain, y = total, s = 1.0F); }
                else { run(x = mine, y = total, s = 1.0F); }
            });
            CHECK(what.find("tensor \"x\" is bound to memory of the host; bind memory of the device") != std::string::npos);
            set(comm, mine, 1);
            run(x = mine, y = total, s = 1.0F);
            CHECK(get(comm, total) == std::vector<float>(8, 2));
        },
        cuda_test::devices());
}

TEST_CASE("CUDA: device memory that one rank cannot have ends the run on every rank, and a new group works")
{
    std::vector<std::string> what(2);
    const std::string thrown = thrown_by([&] {
        pl::cuda_peers::run(
            2,
            [&](pl::cuda_communicator& comm) {
                const auto r = static_cast<std::size_t>(comm.rank());
                what[r] = thrown_by([&] {
                    const auto mine = comm.symmetric<char>(r == 1 ? std::size_t{1} << 50 : 8);
                    comm.barrier("memory is there");
                });
                throw pl::error(what[r]);
            },
            cuda_test::devices());
    });
    CHECK(what[1].find("1125899906842624 bytes of device memory") != std::string::npos);
    CHECK(what[0].find("rank 1 failed: ") != std::string::npos);
    CHECK(what[0].find("bytes of device memory") != std::string::npos);
    CHECK(thrown.find("bytes of device memory") != std::string::npos);
    pl::cuda_peers::run(
        2,
        [&](pl::cuda_communicator& comm) {
            const auto mine = comm.symmetric<float>(8);
            const auto total = comm.symmetric<float>(8);
            set(comm, mine, 1);
            pl::executable run{fused, comm};
            run(x = mine, y = total, s = 1.0F);
            CHECK(get(comm, total) == std::vector<float>(8, 2));
        },
        cuda_test::devices());
}

TEST_CASE("CUDA: new buffers while the stream is captured are refused")
{
    const std::string what = thrown_by([] {
        pl::cuda_peers::run(
            1,
            [](pl::cuda_communicator& comm) {
                const auto mine = comm.symmetric<float>(8);
                const auto total = comm.symmetric<float>(8);
                comm.synchronize();
                pl::executable run{fused, comm};
                pl::cuda::check(cudaStreamBeginCapture(comm.stream(), cudaStreamCaptureModeThreadLocal), "capture");
                const std::string thrown = thrown_by([&] { run(x = mine, y = total, s = 1.0F); });
                cudaGraph_t graph = nullptr;
                static_cast<void>(cudaStreamEndCapture(comm.stream(), &graph));
                static_cast<void>(cudaGraphDestroy(graph));
                throw pl::error(thrown);
            },
            cuda_test::devices());
    });
    CAPTURE(what);
    CHECK(what.find("buffers or extents are new while the stream is captured; run once with them before") != std::string::npos);
}

TEST_CASE("CUDA: a rank that does not come is named by those who wait, and nothing hangs")
{
    std::vector<std::string> what(2);
    const std::string thrown = thrown_by([&] {
        pl::cuda_peers::run(
            2,
            [&](pl::cuda_communicator& comm) {
                const auto mine = comm.symmetric<float>(8);
                const auto total = comm.symmetric<float>(8);
                pl::executable run{fused, comm};
                run(x = mine, y = total, s = 1.0F);
                comm.synchronize();
                if (comm.rank() == 1) { return; }
                run(x = mine, y = total, s = 1.0F);
                comm.synchronize();
            },
            cuda_test::devices(), 200ms);
    });
    CAPTURE(thrown);
    CHECK(thrown.find("rank 0") != std::string::npos);
    CHECK(thrown.find("waited too long in 'program \"accumulate\", pass 0 (map)' for rank 1") != std::string::npos);
}

TEST_CASE("CUDA: an index of an embedding that is out of range is told")
{
    constexpr auto V = pl::dim<"V">;
    constexpr auto H = pl::dim<"H">;
    constexpr auto table = pl::tensor<"table", float>(pl::replicated, V, H);
    constexpr auto which = pl::tensor<"which", std::int32_t>(pl::replicated, N);
    constexpr auto rows = pl::tensor<"rows", float>(pl::replicated, N, H);
    constexpr auto look_up = pl::program<"look_up">(pl::update(rows, pl::embedding(table, which)));
    const std::string thrown = thrown_by([&] {
        pl::cuda_peers::run(
            1,
            [&](pl::cuda_communicator& comm) {
                const auto t = comm.symmetric<float>(6);
                const auto r = comm.symmetric<float>(2);
                const auto w = comm.symmetric<std::int32_t>(1);
                const std::int32_t index = 3;
                pl::cuda::check(cudaMemcpyAsync(w.data(), &index, sizeof index, cudaMemcpyHostToDevice, comm.stream()), "copy");
                pl::executable run{look_up, comm};
                run(table = t, which = w, rows = r, V = 3, H = 2, N = 1);
                comm.synchronize();
            },
            cuda_test::devices());
    });
    CAPTURE(thrown);
    CHECK(thrown.find("an index is 3, the table has 3 rows; indices must lie in [0, 3)") != std::string::npos);
}

}  // namespace
