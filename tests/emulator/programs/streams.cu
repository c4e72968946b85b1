// Streams, events, graphs by capture, host functions, several devices and peer access, under many seeds.
#include "programs/check.hpp"

#include <atomic>
#include <thread>

__global__ void fill(int* out, int value, int n)
{
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) { out[i] = value; }
}
__global__ void add(int* out, const int* a, int n)
{
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) { out[i] += a[i]; }
}
// Two kernels that wait for each other: they must run at the same time.
__global__ void ping(volatile int* mine, volatile int* other, int rounds)
{
    for (int k = 1; k <= rounds; ++k) {
        *mine = k;
        while (*other < k) {}
    }
}

void test_events()
{
    constexpr int n = 500;
    cudaStream_t one, two;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking) == cudaSuccess);
    CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking) == cudaSuccess);
    cudaEvent_t e;
    CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming) == cudaSuccess);
    check::device_array<int> a(n), b(n);
    for (int k = 0; k < 3; ++k) {
        fill<<<1, 64, 0, one>>>(a, k, n);
        cudaEventRecord(e, one);
        fill<<<1, 64, 0, two>>>(b, 10, n);
        cudaStreamWaitEvent(two, e, 0);
        add<<<1, 64, 0, two>>>(b, a, n);
        cudaEventRecord(e, two);
        cudaStreamWaitEvent(one, e, 0);
    }
    std::vector<int> got(n);
    CHECK(cudaMemcpyAsync(got.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost, two) == cudaSuccess);
    CHECK(cudaStreamSynchronize(two) == cudaSuccess);
    for (int x : got) { CHECK(x == 12); }
    while (cudaStreamQuery(one) == cudaErrorNotReady) {}
    CHECK(cudaStreamQuery(one) == cudaSuccess);
    CHECK(cudaEventQuery(e) == cudaSuccess);
    cudaEventDestroy(e);
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaGetLastError();
}

void test_concurrency()
{
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    check::device_array<int> flags(2);
    cudaMemset(flags, 0, 8);
    cudaDeviceSynchronize();  // the streams below do not wait for the default one
    ping<<<1, 1, 0, one>>>(flags, flags + 1, 20);
    ping<<<1, 1, 0, two>>>(flags + 1, flags, 20);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(flags.host()[0] == 20);
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
}

// Work in the default stream waits for that of blocking streams, and they for it.
void test_default_stream()
{
    constexpr int n = 300;
    cudaStream_t s;
    cudaStreamCreate(&s);
    check::device_array<int> a(n), b(n);
    fill<<<1, 64, 0, s>>>(a, 5, n);
    fill<<<1, 64>>>(b, 1, n);
    add<<<1, 64>>>(b, a, n);
    add<<<1, 64, 0, s>>>(a, b, n);
    std::vector<int> got(n);
    cudaMemcpyAsync(got.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    for (int x : got) { CHECK(x == 11); }
    cudaStreamDestroy(s);
}

void test_graph()
{
    constexpr int n = 200;
    cudaStream_t s, side;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEvent_t fork, join;
    cudaEventCreate(&fork);
    cudaEventCreate(&join);
    check::device_array<int> a(n), b(n), sum(n);
    cudaMemset(sum, 0, n * sizeof(int));
    cudaDeviceSynchronize();
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    cudaMemsetAsync(a, 0, n * sizeof(int), s);
    cudaEventRecord(fork, s);
    cudaStreamWaitEvent(side, fork, 0);
    fill<<<1, 64, 0, side>>>(b, 7, n);
    fill<<<1, 64, 0, s>>>(a, 3, n);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(s, join, 0);
    add<<<1, 64, 0, s>>>(a, b, n);
    add<<<1, 64, 0, s>>>(sum, a, n);
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(side, &status) == cudaSuccess && status == cudaStreamCaptureStatusActive);
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(s, &graph) == cudaSuccess);
    for (int x : sum.host()) { CHECK(x == 0); }  // nothing has run
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int k = 0; k < 5; ++k) { CHECK(cudaGraphLaunch(exec, s) == cudaSuccess); }
    CHECK(cudaStreamSynchronize(s) == cudaSuccess);
    for (int x : sum.host()) { CHECK(x == 50); }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    // A stream that joined the capture but was not joined back makes it fail.
    cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(fork, s);
    cudaStreamWaitEvent(side, fork, 0);
    fill<<<1, 64, 0, side>>>(b, 7, n);
    CHECK(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureUnjoined);
    CHECK(cudaGetLastError() == cudaErrorStreamCaptureUnjoined);
    cudaStreamDestroy(s);
    cudaStreamDestroy(side);
}

void test_host_function()
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    check::device_array<int> a(1);
    int* host = nullptr;
    cudaMallocHost(reinterpret_cast<void**>(&host), sizeof(int));
    *host = 0;
    fill<<<1, 1, 0, s>>>(a, 9, 1);
    cudaMemcpyAsync(host, a, sizeof(int), cudaMemcpyDeviceToHost, s);
    cudaLaunchHostFunc(
        s, [](void* p) { *static_cast<int*>(p) *= 2; }, host);
    cudaMemcpyAsync(a, host, sizeof(int), cudaMemcpyHostToDevice, s);
    cudaStreamSynchronize(s);
    CHECK(*host == 18);
    CHECK(a.host()[0] == 18);
    cudaFreeHost(host);
    cudaStreamDestroy(s);
}

// A host function that waits for a thread which uses the runtime.
void test_waiting_host_function()
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    std::atomic<bool> go{false};
    cudaLaunchHostFunc(
        s,
        [](void* p) {
            while (!static_cast<std::atomic<bool>*>(p)->load()) { std::this_thread::yield(); }
        },
        &go);
    std::thread other([&] {
        check::device_array<int> a(1);
        fill<<<1, 1, 0, cudaStreamPerThread>>>(a, 3, 1);
        CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
        go = true;
    });
    CHECK(cudaStreamSynchronize(s) == cudaSuccess);
    other.join();
    cudaStreamDestroy(s);
}

void test_devices()
{
    int n = 0, can = 0;
    CHECK(cudaGetDeviceCount(&n) == cudaSuccess && n >= 2);
    CHECK(cudaSetDevice(n) == cudaErrorInvalidDevice);
    cudaGetLastError();
    int* on_one = nullptr;
    cudaSetDevice(1);
    cudaMalloc(reinterpret_cast<void**>(&on_one), 400);
    fill<<<1, 32>>>(on_one, 4, 100);
    cudaDeviceSynchronize();
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, on_one) == cudaSuccess && attributes.device == 1 &&
          attributes.type == cudaMemoryTypeDevice);
    cudaSetDevice(0);
    CHECK(cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess && can == 1);
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(1, 0);
    CHECK(enabled == cudaSuccess || enabled == cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();
    check::device_array<int> sum(100);
    fill<<<1, 32>>>(sum, 1, 100);
    add<<<1, 32>>>(sum, on_one, 100);
    for (int x : sum.host()) { CHECK(x == 5); }
    CHECK(cudaMemcpyPeer(sum, 0, on_one, 1, 400) == cudaSuccess);
    for (int x : sum.host()) { CHECK(x == 4); }
    cudaFree(on_one);
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 1) == cudaSuccess && p.warpSize == 32 && p.multiProcessorCount > 0);
}

void test_async_memory()
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    int* p = nullptr;
    CHECK(cudaMallocAsync(reinterpret_cast<void**>(&p), 400, s) == cudaSuccess);
    fill<<<1, 32, 0, s>>>(p, 6, 100);
    std::vector<int> got(100);
    cudaMemcpyAsync(got.data(), p, 400, cudaMemcpyDeviceToHost, s);
    CHECK(cudaFreeAsync(p, s) == cudaSuccess);
    CHECK(cudaStreamSynchronize(s) == cudaSuccess);
    for (int x : got) { CHECK(x == 6); }
    CHECK(cudaMemcpy(got.data(), p, 400, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    cudaGetLastError();
    cudaStreamDestroy(s);
}

int main()
{
    for (unsigned seed = 0; seed < 30; ++seed) {
        emulator_set_seed(seed);
        test_events();
        test_concurrency();
        test_default_stream();
        test_graph();
        test_host_function();
        test_waiting_host_function();
        test_devices();
        test_async_memory();
    }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
