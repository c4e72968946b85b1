// Deadlocks are found and explained; blocks that wait for each other run when they fit, and deadlock when they do not;
// an unfair order finds a wait that is missing.
#include "programs/check.hpp"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void wait_for(const volatile int* flag)
{
    while (*flag == 0) {}
}
__global__ void half_a_barrier()
{
    if (threadIdx.x < 32) { asm volatile("bar.sync 1, 64;"); }
}
__global__ void lanes_apart(int* out)
{
    if (threadIdx.x < 16) {
        out[threadIdx.x] = static_cast<int>(__ballot_sync(~0u, true));
    } else {
        while (*static_cast<volatile int*>(out) == 0) {}
    }
}

// Each block waits until all have come: this needs all of them on the device at once.
__global__ void all_blocks(int* arrived)
{
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < static_cast<int>(gridDim.x)) {}
    }
}

__global__ void grid_sync(int* data)
{
    const auto grid = cg::this_grid();
    const auto i = static_cast<int>(grid.thread_rank());
    const auto n = static_cast<int>(grid.size());
    data[i] = i;
    grid.sync();
    const int next = data[(i + 1) % n];
    grid.sync();
    data[i] += next;
}

// The consumer should wait for the flag; `waits` takes that away.
__global__ void produce(volatile int* data, volatile int* flag)
{
    *data = 7;
    __threadfence();
    *flag = 1;
}
__global__ void consume(int* out, volatile int* data, volatile int* flag, bool waits)
{
    if (waits) {
        while (*flag == 0) {}
        __threadfence();
    }
    *out = *data;
}

// Gives up after some seconds, as programs do whose peers may be gone.
__global__ void wait_some_time(volatile int* flag, unsigned long long nanoseconds, int* gave_up)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    now = start;
    while (*flag == 0 && now - start < nanoseconds) { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); }
    if (*flag == 0 && threadIdx.x + blockIdx.x == 0) { *gave_up = 1; }
}

void test_time_limit()
{
    check::device_array<int> data(2);
    cudaMemset(data, 0, 8);
    wait_some_time<<<2, 64>>>(data, 60'000'000'000ull, data + 1);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(data.host()[1] == 1);
    CHECK(emulator_report_count() == 0);
    // A limit of days is none.
    wait_some_time<<<1, 32>>>(data, 1'000'000'000'000'000ull, data + 1);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
    CHECK(check::reported("deadlock", "spin"));
    cudaDeviceReset();
    emulator_clear_reports();
}

void test_deadlocks()
{
    check::quiet();
    emulator_set("stuck_after", 300000);
    check::device_array<int> flag(1);
    cudaMemset(flag, 0, 4);
    wait_for<<<1, 32>>>(flag);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
    CHECK(check::reported("deadlock", "spin"));
    CHECK(check::reported("deadlock", "scheduling.cu"));
    cudaDeviceReset();
    emulator_clear_reports();
    half_a_barrier<<<1, 64>>>();
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
    CHECK(check::reported("deadlock", "32 threads wait at barrier 1"));
    cudaDeviceReset();
    emulator_clear_reports();
    lanes_apart<<<1, 32>>>(flag);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
    CHECK(check::reported("deadlock", "16 threads wait for other lanes"));
    cudaDeviceReset();
    emulator_clear_reports();
}

void test_residency()
{
    int per = 0;
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, all_blocks, 1024, 0) == cudaSuccess);
    CHECK(per == p.maxThreadsPerMultiProcessor / 1024);
    const unsigned fit = static_cast<unsigned>(per * p.multiProcessorCount);
    check::device_array<int> arrived(1);
    cudaMemset(arrived, 0, 4);
    all_blocks<<<fit, 1024>>>(arrived);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cudaMemset(arrived, 0, 4);
    all_blocks<<<fit + 1, 1024>>>(arrived);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
    CHECK(check::reported("deadlock", "1 of its"));
    cudaDeviceReset();
    emulator_clear_reports();
    void* arguments[] = {nullptr};
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(grid_sync), dim3(fit + 1), dim3(1024), arguments, 0,
                                      nullptr) == cudaErrorCooperativeLaunchTooLarge);
    cudaGetLastError();
}

// The same through launch attributes.
void test_attributes()
{
    check::device_array<int> data(4 * 64);
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeCooperative;
    attribute[0].val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(4);
    config.blockDim = dim3(64);
    config.attrs = attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, grid_sync, data.data()) == cudaSuccess);
    const auto d = data.host();
    for (int i = 0; i < 256; ++i) { CHECK(d[i] == i + (i + 1) % 256); }
}

void test_grid_sync()
{
    check::device_array<int> data(4 * 64);
    int* pointer = data;
    void* arguments[] = {&pointer};
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(grid_sync), dim3(4), dim3(64), arguments, 0,
                                      nullptr) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    const auto d = data.host();
    for (int i = 0; i < 256; ++i) { CHECK(d[i] == i + (i + 1) % 256); }
}

int wrong_results(bool waits)
{
    int wrong = 0;
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    for (unsigned seed = 1; seed <= 40; ++seed) {
        emulator_set_seed(seed);
        check::device_array<int> memory(3);
        cudaMemset(memory, 0, 12);
        cudaDeviceSynchronize();
        produce<<<1, 1, 0, one>>>(memory, memory + 1);
        consume<<<1, 1, 0, two>>>(memory + 2, memory, memory + 1, waits);
        cudaDeviceSynchronize();
        wrong += memory.host()[2] != 7;
    }
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    return wrong;
}

int main()
{
    for (unsigned seed = 0; seed < 10; ++seed) {
        emulator_set_seed(seed);
        test_grid_sync();
        test_attributes();
    }
    CHECK(emulator_report_count() == 0);
    test_deadlocks();
    test_time_limit();
    test_residency();
    CHECK(wrong_results(true) == 0);
    const int wrong = wrong_results(false);
    CHECK(wrong >= 5 && wrong <= 39);
    return check::result();
}
