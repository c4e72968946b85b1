// The checker: each rule finds a planted bug and says where; clean kernels report nothing.
#include "programs/check.hpp"

__global__ void store_at(int* p, int i) { p[i] = 1; }
__global__ void load_at(int* out, const int* p, long long i) { *out = p[i]; }
__global__ void store_misaligned(char* p) { *reinterpret_cast<int*>(p + 2) = 1; }
__global__ void shared_overrun(int* out, int i)
{
    __shared__ int s[8];
    s[threadIdx.x % 8] = 0;
    __syncwarp();
    out[0] = s[i];
}
__global__ void copy(int* out, const int* in) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void shared_unwritten(int* out)
{
    __shared__ int s[64];
    if (threadIdx.x < 16) { s[threadIdx.x] = 1; }
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void divergent_barrier(int* out)
{
    if (threadIdx.x % 2 == 0) {
        out[threadIdx.x] = 1;
        __syncthreads();
    } else {
        out[threadIdx.x] = 2;
        __syncthreads();
    }
}
__global__ void early_exit(int* out, int n)
{
    if (static_cast<int>(threadIdx.x) >= n) { return; }
    __syncthreads();
    out[threadIdx.x] = 1;
}
__global__ void shuffle_of_absent(int* out)
{
    if (threadIdx.x < 8) { out[threadIdx.x] = __shfl_sync(0xff, static_cast<int>(threadIdx.x), 20); }
}
__global__ void ballot_of_ended(unsigned* out)
{
    if (threadIdx.x >= 16) { return; }
    out[threadIdx.x] = __ballot_sync(~0u, true);
}

template <bool Sync>
__global__ void reverse(int* out)
{
    __shared__ int s[128];
    s[threadIdx.x] = static_cast<int>(threadIdx.x);
    if (Sync) { __syncthreads(); }
    out[threadIdx.x] = s[127 - threadIdx.x];
}
template <bool Sync>
__global__ void warp_reverse(int* out)
{
    __shared__ int s[32];
    s[threadIdx.x] = static_cast<int>(threadIdx.x);
    if (Sync) { __syncwarp(); }
    out[threadIdx.x] = s[31 - threadIdx.x];
}
__global__ void count_without_atomics(int* n) { *n = *n + 1; }
__global__ void bytes_apart(unsigned char* p, short* q)
{
    p[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
    q[threadIdx.x] = static_cast<short>(threadIdx.x);
}
__global__ void add_all(int* sum, const int* in) { atomicAdd(sum, in[blockIdx.x * blockDim.x + threadIdx.x]); }

/// Runs something, expects an error and a report of a rule, and makes the device usable again.
template <class F>
void expect(cudaError_t error, const char* rule, const char* text, F f)
{
    emulator_clear_reports();
    f();
    const cudaError_t got = cudaDeviceSynchronize();
    if (!CHECK(got == error)) { std::printf("   %s: %s\n", rule, cudaGetErrorName(got)); }
    if (!CHECK(check::reported(rule, text))) {
        std::printf("   expected %s: %s\n", rule, text);
        for (std::size_t k = 0; k < emulator_report_count(); ++k) { std::printf("   %s\n", emulator_report(k)); }
    }
    cudaDeviceReset();
    emulator_clear_reports();
}

void test_memory()
{
    int *p = nullptr, *q = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&p), 100 * sizeof(int));
    cudaMalloc(reinterpret_cast<void**>(&q), 100 * sizeof(int));
    cudaMemset(q, 0, 400);
    expect(cudaErrorIllegalAddress, "out of bounds", "400 bytes into cudaMalloc", [&] { store_at<<<1, 1>>>(p, 100); });
    expect(cudaErrorIllegalAddress, "out of bounds", "checker.cu:4", [&] { store_at<<<1, 1>>>(p, 100); });
    expect(cudaErrorIllegalAddress, "out of bounds", "block (0,0,0), thread (0,0,0)",
           [&] { load_at<<<1, 1>>>(p, q, 1ll << 40); });
    expect(cudaErrorIllegalAddress, "out of bounds", "no memory", [&] { store_at<<<1, 1>>>(nullptr, 3); });
    int on_stack = 0;
    expect(cudaErrorIllegalAddress, "out of bounds", "", [&] { store_at<<<1, 1>>>(&on_stack, 0); });
    expect(cudaErrorMisalignedAddress, "misaligned", "store of 4 bytes",
           [&] { store_misaligned<<<1, 1>>>(reinterpret_cast<char*>(p)); });
    expect(cudaErrorIllegalAddress, "out of bounds", "shared memory", [&] { shared_overrun<<<1, 32>>>(p, 8); });
    expect(cudaSuccess, "uninitialised read", "cudaMalloc", [&] { copy<<<1, 32>>>(q, p); });
    expect(cudaSuccess, "uninitialised read", "shared memory", [&] { shared_unwritten<<<1, 32>>>(q); });
    cudaFree(p);
    expect(cudaErrorIllegalAddress, "use after free", "which was freed", [&] { copy<<<1, 32>>>(q, p); });
    int* other = nullptr;
    cudaSetDevice(2);
    cudaMalloc(reinterpret_cast<void**>(&other), 400);
    cudaSetDevice(0);
    expect(cudaErrorIllegalAddress, "out of bounds", "no access", [&] { store_at<<<1, 1>>>(other, 0); });
    // Poison: what was never written is no small number.
    std::vector<float> f(4);
    float* fresh = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&fresh), 16);
    cudaMemcpy(f.data(), fresh, 16, cudaMemcpyDeviceToHost);
    for (float x : f) { CHECK(x != x); }
    cudaFree(q);
    cudaFree(fresh);
}

void test_synchronisation()
{
    check::device_array<int> out(128);
    expect(cudaSuccess, "barrier divergence", "different barrier instructions",
           [&] { divergent_barrier<<<1, 32>>>(out); });
    expect(cudaSuccess, "barrier divergence", "have ended", [&] { early_exit<<<1, 64>>>(out, 40); });
    expect(cudaSuccess, "inactive lane", "reads lane 20", [&] { shuffle_of_absent<<<1, 32>>>(out); });
    expect(cudaSuccess, "inactive lane", "have ended",
           [&] { ballot_of_ended<<<1, 32>>>(reinterpret_cast<unsigned*>(out.data())); });
    expect(cudaSuccess, "race", "shared memory", [&] { reverse<false><<<1, 128>>>(out); });
    expect(cudaSuccess, "race", "shared memory", [&] { warp_reverse<false><<<1, 32>>>(out); });
    cudaMemset(out, 0, 4);
    expect(cudaSuccess, "race", "cudaMalloc", [&] { count_without_atomics<<<2, 1>>>(out); });
}

// Between operations: streams without an event, a copy that is not waited for.
void test_streams()
{
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    check::device_array<int> a(64), b(64);
    cudaMemset(a, 0, 256);
    cudaMemset(b, 0, 256);
    cudaDeviceSynchronize();
    expect(cudaSuccess, "race", "copy", [&] {
        copy<<<1, 32, 0, one>>>(a, b);
        copy<<<1, 32, 0, two>>>(b, a);
    });
    int* host = nullptr;
    cudaMallocHost(reinterpret_cast<void**>(&host), 256);
    std::memset(host, 0, 256);
    expect(cudaSuccess, "race", "cudaMemcpyAsync", [&] {
        copy<<<1, 32, 0, one>>>(a, b);
        cudaMemcpyAsync(host, a, 256, cudaMemcpyDeviceToHost, two);
    });
    emulator_clear_reports();
    cudaEvent_t e;
    cudaEventCreate(&e);
    for (unsigned seed = 1; seed <= 20; ++seed) {
        emulator_set_seed(seed);
        copy<<<1, 32, 0, one>>>(a, b);
        cudaEventRecord(e, one);
        cudaStreamWaitEvent(two, e, 0);
        copy<<<1, 32, 0, two>>>(b, a);
        cudaMemcpyAsync(host, b, 256, cudaMemcpyDeviceToHost, two);
        cudaStreamSynchronize(two);
        copy<<<1, 32, 0, one>>>(b, a);
        cudaDeviceSynchronize();
    }
    // What a copy reads of memory is not what a kernel stores beside it.
    for (unsigned seed = 1; seed <= 20; ++seed) {
        emulator_set_seed(seed);
        cudaMemcpyAsync(host, a.data() + 32, 128, cudaMemcpyDeviceToHost, two);
        cudaMemcpyAsync(host, b.data() + 32, 128, cudaMemcpyDeviceToHost, two);
        copy<<<1, 32, 0, one>>>(a, b);
        cudaDeviceSynchronize();
    }
    CHECK(emulator_report_count() == 0);
    expect(cudaSuccess, "race", "cudaMemcpyAsync", [&] {
        cudaMemcpyAsync(host, a.data() + 31, 128, cudaMemcpyDeviceToHost, two);
        cudaMemcpyAsync(host, b.data() + 31, 128, cudaMemcpyDeviceToHost, two);
        copy<<<1, 32, 0, one>>>(a, b);
    });
    cudaFreeHost(host);
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
}

void test_clean()
{
    emulator_clear_reports();
    check::device_array<int> out(128), in(std::vector<int>(128, 2));
    check::device_array<unsigned char> bytes(64);
    check::device_array<short> halves(64);
    for (unsigned seed = 1; seed <= 20; ++seed) {
        emulator_set_seed(seed);
        reverse<true><<<1, 128>>>(out);
        warp_reverse<true><<<1, 32>>>(out);
        bytes_apart<<<1, 64>>>(bytes, halves);
        cudaMemset(out, 0, 4);
        add_all<<<4, 32>>>(out, in);
        CHECK(out.host()[0] == 256);
    }
    CHECK(emulator_report_count() == 0);
}

int main()
{
    check::quiet();
    test_memory();
    test_synchronisation();
    test_streams();
    test_clean();
    return check::result();
}
