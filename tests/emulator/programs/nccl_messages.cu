// Sends and receives, capture into graphs and replay, ranks in threads, and splitting a communicator.
#include "programs/nccl_ranks.hpp"

#include <thread>

__global__ void add_one(int* p, int n)
{
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) { p[i] += 1; }
}

// Each rank hands what it has to the next, all the way round.
void test_ring(const ranks& all)
{
    const int n = all.size(), count = 301;
    buffers now(all, count * 4), next(all, count * 4);
    for (int r = 0; r < n; ++r) { now.set(r, std::vector<int>(count, r)); }
    for (int step = 0; step < n; ++step) {
        CHECK(all.group([&](int r) {
            ncclSend(now.at(r), count, ncclInt32, (r + 1) % n, all.comm(r), all.stream(r));
            ncclRecv(next.at(r), count, ncclInt32, (r + n - 1) % n, all.comm(r), all.stream(r));
        }) == ncclSuccess);
        for (int r = 0; r < n; ++r) {
            all.set_device(r);
            add_one<<<1, 64, 0, all.stream(r)>>>(next.at<int>(r), count);
            cudaMemcpyAsync(now.at(r), next.at(r), count * 4, cudaMemcpyDeviceToDevice, all.stream(r));
        }
    }
    CHECK(all.synchronize());
    for (int r = 0; r < n; ++r) { CHECK(now.get<int>(r) == std::vector<int>(count, r + n)); }
}

// What a graph captured is done again by each launch.
void test_graph(const ranks& all)
{
    const int n = all.size(), count = 65;
    buffers values(all, count * 4), sums(all, count * 4), given(all, count * 4);
    std::vector<cudaGraphExec_t> graphs(n);
    for (int r = 0; r < n; ++r) {
        values.set(r, std::vector<int>(count, r));
        all.set_device(r);
        CHECK(cudaStreamBeginCapture(all.stream(r), cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    }
    CHECK(all.group([&](int r) {
        ncclAllReduce(values.at(r), sums.at(r), count, ncclInt32, ncclSum, all.comm(r), all.stream(r));
        ncclSend(values.at(r), count, ncclInt32, (r + 1) % n, all.comm(r), all.stream(r));
        ncclRecv(given.at(r), count, ncclInt32, (r + n - 1) % n, all.comm(r), all.stream(r));
    }) == ncclSuccess);
    for (int r = 0; r < n; ++r) {
        all.set_device(r);
        add_one<<<1, 64, 0, all.stream(r)>>>(values.at<int>(r), count);
        cudaGraph_t g;
        CHECK(cudaStreamEndCapture(all.stream(r), &g) == cudaSuccess);
        CHECK(cudaGraphInstantiate(&graphs[r], g, 0) == cudaSuccess);
        cudaGraphDestroy(g);
    }
    const int base = n * (n - 1) / 2;
    for (int launch = 1; launch <= 4; ++launch) {
        for (int r = 0; r < n; ++r) {
            all.set_device(r);
            CHECK(cudaGraphLaunch(graphs[r], all.stream(r)) == cudaSuccess);
        }
        if (launch == 2) { continue; }  // two launches in flight
        CHECK(all.synchronize());
        for (int r = 0; r < n; ++r) {
            CHECK(sums.get<int>(r) == std::vector<int>(count, base + n * (launch - 1)));
            CHECK(given.get<int>(r) == std::vector<int>(count, (r + n - 1) % n + launch - 1));
        }
    }
    for (cudaGraphExec_t g : graphs) { cudaGraphExecDestroy(g); }
}

// A thread for each rank, as other programs have processes.
void test_threads(int n, bool blocking)
{
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "0", 1);
    ncclUniqueId id;
    CHECK(ncclGetUniqueId(&id) == ncclSuccess);
    std::vector<std::vector<int>> got(n);
    std::vector<int> fine(n);
    std::vector<std::thread> threads;
    for (int r = 0; r < n; ++r) {
        threads.emplace_back([&, r] {
            cudaSetDevice(r);
            ncclComm_t comm = nullptr;
            ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
            config.blocking = blocking;
            ncclResult_t e = ncclCommInitRankConfig(&comm, n, id, r, &config);
            while (e == ncclInProgress) {
                ncclCommGetAsyncError(comm, &e);
                std::this_thread::yield();
            }
            bool good = e == ncclSuccess;
            cudaStream_t s;
            cudaStreamCreate(&s);
            int* p = nullptr;
            cudaMalloc(reinterpret_cast<void**>(&p), 100 * sizeof(int));
            const std::vector<int> mine(100, r + 1);
            cudaMemcpyAsync(p, mine.data(), 400, cudaMemcpyHostToDevice, s);
            good &= ncclAllReduce(p, p, 100, ncclInt32, ncclSum, comm, s) == ncclSuccess;
            good &= cudaStreamSynchronize(s) == cudaSuccess;
            // Ranks of the same parity go on among themselves, in reverse.
            ncclComm_t half = nullptr;
            e = ncclCommSplit(comm, r % 2, -r, &half, nullptr);
            while (e == ncclInProgress) { ncclCommGetAsyncError(comm, &e); }
            int rank = -1, size = 0, device = -1;
            ncclCommUserRank(half, &rank);
            ncclCommCount(half, &size);
            ncclCommCuDevice(half, &device);
            good &= e == ncclSuccess && device == r && size == (n + 1 - r % 2) / 2 && rank == size - 1 - r / 2;
            good &= ncclAllReduce(p, p, 100, ncclInt32, ncclSum, half, s) == ncclSuccess;
            got[r].resize(100);
            cudaMemcpyAsync(got[r].data(), p, 400, cudaMemcpyDeviceToHost, s);
            good &= cudaStreamSynchronize(s) == cudaSuccess;
            cudaFree(p);
            cudaStreamDestroy(s);
            good &= ncclCommDestroy(half) == ncclSuccess && ncclCommFinalize(comm) == ncclSuccess &&
                    ncclCommDestroy(comm) == ncclSuccess;
            fine[r] = good;
        });
    }
    for (std::thread& t : threads) { t.join(); }
    for (int r = 0; r < n; ++r) {
        CHECK(fine[r] == 1);
        CHECK(got[r] == std::vector<int>(100, n * (n + 1) / 2 * ((n + 1 - r % 2) / 2)));
    }
}

void test_wrong_arguments()
{
    ranks all(2, false);
    buffers b(all, 64);
    b.set(0, std::vector<int>(16));
    CHECK(ncclAllReduce(nullptr, b.at(0), 4, ncclInt32, ncclSum, all.comm(0), all.stream(0)) == ncclInvalidArgument);
    CHECK(std::string(ncclGetLastError(all.comm(0))).find("null") != std::string::npos);
    CHECK(ncclBroadcast(b.at(0), b.at(0), 4, ncclInt32, 2, all.comm(0), all.stream(0)) == ncclInvalidArgument);
    CHECK(ncclSend(b.at(0), 4, ncclInt32, -1, all.comm(0), all.stream(0)) == ncclInvalidArgument);
    CHECK(ncclAllReduce(b.at(0), b.at(0), 4, ncclInt32, ncclSum, nullptr, all.stream(0)) == ncclInvalidArgument);
    CHECK(ncclGroupEnd() == ncclInvalidUsage);
    // A stream of another device.
    CHECK(ncclAllReduce(b.at(0), b.at(0), 4, ncclInt32, ncclSum, all.comm(0), all.stream(1)) == ncclUnhandledCudaError);
    const int twice[] = {1, 1};
    ncclComm_t comms[2];
    CHECK(ncclCommInitAll(comms, 2, twice) == ncclInvalidUsage);
    ncclConfig_t config{};
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    CHECK(ncclCommInitRankConfig(comms, 1, id, 0, &config) == ncclInvalidArgument);
    CHECK(std::string(ncclGetErrorString(ncclInvalidUsage)) == "invalid usage");
}

int main()
{
    for (unsigned seed = 0; seed < 12; ++seed) {
        emulator_set_seed(seed);
        for (int n = 1; n <= 4; ++n) {
            const ranks all(n, seed % 2 == 1);
            test_ring(all);
            test_graph(all);
        }
        test_threads(2 + static_cast<int>(seed % 3), seed % 2 == 0);
    }
    test_wrong_arguments();
    CHECK(emulator_report_count() == 0);
    return check::result();
}
