// What goes wrong with NCCL, and is found: a rank that does not come or is lost, an asynchronous error, calls that do
// not fit, memory that is not there, and work that nothing orders.
#include "programs/nccl_ranks.hpp"

#include <thread>

__global__ void write(int* p, int n)
{
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) { p[i] = i; }
}

constexpr int count = 100;

struct fixture {
    ranks all;
    buffers data;

    explicit fixture(int n, bool one_device = false) : all(n, one_device), data(all, count * 4)
    {
        for (int r = 0; r < n; ++r) { data.set(r, std::vector<int>(count, r + 1)); }
        emulator_clear_reports();
    }
    ncclResult_t all_reduce(int r, std::size_t elements = count)
    {
        return ncclAllReduce(data.at(r), data.at(r), elements, ncclInt32, ncclSum, all.comm(r), all.stream(r));
    }
};

// Whoever waits for them is told who they are; the device is lost, as after any work that never ends. Last, therefore.
void test_rank_that_does_not_call()
{
    fixture f(3);
    f.all_reduce(0);
    f.all_reduce(2);
    f.all.set_device(0);
    CHECK(cudaStreamSynchronize(f.all.stream(0)) == cudaErrorLaunchTimeout);
    CHECK(check::reported("deadlock", "ncclAllReduce (100 x i32, sum) of rank 0 of 3"));
    CHECK(check::reported("deadlock", "rank 1, which has not called it"));
    ncclResult_t e = ncclSuccess;
    CHECK(ncclCommGetAsyncError(f.all.comm(2), &e) == ncclSuccess && e == ncclSystemError);
    for (int r = 0; r < 3; ++r) { f.all.abort(r); }
    emulator_clear_reports();
}

// A program that polls can give up by itself: the abort frees its stream.
void test_lost_rank()
{
    fixture f(3);
    CHECK(emulator_nccl_lose_rank(f.all.comm(1)) == ncclSuccess);
    for (int r = 0; r < 3; ++r) { CHECK(f.all_reduce(r) == ncclSuccess); }
    for (int r = 0; r < 3; ++r) {
        f.all.set_device(r);
        for (int k = 0; k < 100; ++k) { CHECK(cudaStreamQuery(f.all.stream(r)) == cudaErrorNotReady); }
        int pending = 0;
        CHECK(emulator_nccl_pending(f.all.comm(r), &pending) == ncclSuccess && pending == 1);
    }
    for (int r = 0; r < 3; ++r) { f.all.abort(r); }
    CHECK(f.all.synchronize());
    CHECK(f.data.get<int>(2) == std::vector<int>(count, 3));  // nothing was received
    CHECK(emulator_report_count() == 0);
    cudaGetLastError();
}

void test_lost_rank_by_environment()
{
    setenv("EMULATOR_NCCL_LOST_RANK", "1", 1);
    setenv("EMULATOR_NCCL_LOST_AFTER", "2", 1);
    fixture f(2);
    for (int k = 0; k < 2; ++k) {
        for (int r = 0; r < 2; ++r) { f.all_reduce(r); }
        CHECK(f.all.synchronize());
    }
    CHECK(f.data.get<int>(0) == std::vector<int>(count, 6));
    for (int r = 0; r < 2; ++r) { f.all_reduce(r); }
    f.all.set_device(0);
    for (int k = 0; k < 100; ++k) { CHECK(cudaStreamQuery(f.all.stream(0)) == cudaErrorNotReady); }
    for (int r = 0; r < 2; ++r) { f.all.abort(r); }
    CHECK(f.all.synchronize());
    unsetenv("EMULATOR_NCCL_LOST_RANK");
    unsetenv("EMULATOR_NCCL_LOST_AFTER");
    cudaGetLastError();
}

void test_async_error(bool by_environment)
{
    if (by_environment) { setenv("EMULATOR_NCCL_ERROR", "6", 1); }
    fixture f(2);
    if (!by_environment) { CHECK(emulator_nccl_async_error(f.all.comm(0), ncclRemoteError) == ncclSuccess); }
    for (int r = 0; r < 2; ++r) { f.all_reduce(r); }
    ncclResult_t e = ncclSuccess;
    for (int k = 0; k < 100; ++k) {
        f.all.set_device(1);
        CHECK(cudaStreamQuery(f.all.stream(1)) == cudaErrorNotReady);
    }
    CHECK(ncclCommGetAsyncError(f.all.comm(1), &e) == ncclSuccess && e == ncclRemoteError);
    for (int r = 0; r < 2; ++r) { f.all.abort(r); }
    CHECK(f.all.synchronize());
    CHECK(ncclAllReduce(f.data.at(0), f.data.at(0), 1, ncclInt32, ncclSum, f.all.comm(0), f.all.stream(0)) ==
          ncclInvalidArgument);
    unsetenv("EMULATOR_NCCL_ERROR");
    cudaGetLastError();
}

// A thread that waits for its stream goes on when another aborts.
void test_abort_from_another_thread()
{
    fixture f(2);
    emulator_nccl_lose_rank(f.all.comm(1));
    f.all_reduce(0);
    f.all_reduce(1);
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        for (int r = 0; r < 2; ++r) { f.all.abort(r); }
    });
    CHECK(f.all.synchronize());
    other.join();
    CHECK(emulator_report_count() == 0);
}

void test_rank_that_does_not_join()
{
    setenv("EMULATOR_NCCL_TIMEOUT", "1", 1);
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclComm_t comm = nullptr;
    CHECK(ncclCommInitRank(&comm, 2, id, 0) == ncclSystemError);
    CHECK(check::reported("deadlock", "ncclCommInitRank waited 1 s for ranks that did not call it: 1"));
    unsetenv("EMULATOR_NCCL_TIMEOUT");
    emulator_clear_reports();
}

void test_calls_that_do_not_fit()
{
    fixture f(2);
    f.all_reduce(0, 99);
    f.all_reduce(1, 100);
    CHECK(f.all.synchronize());
    CHECK(check::reported("invalid", "do not agree: ncclAllReduce (99 x i32, sum) of rank 0 of 2"));
    fixture g(2);
    ncclSend(g.data.at(0), 10, ncclInt32, 1, g.all.comm(0), g.all.stream(0));
    ncclRecv(g.data.at(1), 11, ncclInt32, 0, g.all.comm(1), g.all.stream(1));
    CHECK(g.all.synchronize());
    CHECK(check::reported("invalid", "sends ncclSend (10 x i32, to 1)"));
    emulator_clear_reports();
}

// The streams are two, and nothing makes the second wait for the first.
void test_unordered_kernel(bool ordered)
{
    fixture f(2);
    for (int r = 0; r < 2; ++r) {
        f.all.set_device(r);
        cudaStream_t other;
        cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
        write<<<1, 32, 0, ordered ? f.all.stream(r) : other>>>(f.data.at<int>(r), count);
        cudaStreamDestroy(other);
    }
    for (int r = 0; r < 2; ++r) { f.all_reduce(r); }
    CHECK(f.all.synchronize());
    for (int r = 0; r < 2; ++r) {
        f.all.set_device(r);
        cudaDeviceSynchronize();
    }
    CHECK(check::reported("race", "ncclAllReduce") == !ordered);
    CHECK((emulator_report_count() == 0) == ordered);
    emulator_clear_reports();
}

// The receiver of a broadcast knows what its root did before, and the root nothing of the receiver.
void test_what_a_broadcast_orders(bool of_root)
{
    fixture f(2, true);
    check::device_array<int> other(count);
    write<<<1, 32, 0, f.all.stream(of_root ? 0 : 1)>>>(other, count);
    for (int r = 0; r < 2; ++r) {
        ncclBroadcast(f.data.at(r), f.data.at(r), count, ncclInt32, 0, f.all.comm(r), f.all.stream(r));
    }
    write<<<1, 32, 0, f.all.stream(of_root ? 1 : 0)>>>(other, count);
    CHECK(f.all.synchronize());
    CHECK(check::reported("race") == !of_root);
    emulator_clear_reports();
}

void test_memory()
{
    fixture f(2);
    int* fresh = nullptr;
    f.all.set_device(0);
    cudaMalloc(reinterpret_cast<void**>(&fresh), count * 4);
    ncclAllReduce(fresh, fresh, count, ncclInt32, ncclSum, f.all.comm(0), f.all.stream(0));
    f.all_reduce(1);
    CHECK(f.all.synchronize());
    CHECK(check::reported("uninitialised read", "ncclAllReduce"));
    emulator_clear_reports();
    cudaFree(fresh);
}

// The error stays with the device.
void test_out_of_bounds()
{
    fixture f(2);
    ncclAllReduce(f.data.at(0), f.data.at(0), count + 1, ncclInt32, ncclSum, f.all.comm(0), f.all.stream(0));
    ncclAllReduce(f.data.at(1), f.data.at(1), count + 1, ncclInt32, ncclSum, f.all.comm(1), f.all.stream(1));
    CHECK(!f.all.synchronize());
    CHECK(check::reported("out of bounds", "beyond its end"));
    emulator_clear_reports();
}

void reset()
{
    for (int d = 0; d < 4; ++d) {
        cudaSetDevice(d);
        cudaDeviceReset();
    }
    cudaGetLastError();
}

int main()
{
    check::quiet();
    test_lost_rank();
    test_lost_rank_by_environment();
    test_async_error(false);
    test_async_error(true);
    test_abort_from_another_thread();
    test_rank_that_does_not_join();
    test_calls_that_do_not_fit();
    for (unsigned seed = 1; seed <= 10; ++seed) {
        emulator_set_seed(seed);
        test_unordered_kernel(true);
        test_unordered_kernel(false);
        test_what_a_broadcast_orders(true);
        test_what_a_broadcast_orders(false);
    }
    test_memory();
    test_rank_that_does_not_call();
    reset();
    test_out_of_bounds();
    return check::result();
}
