// Control flow: divergence and reconvergence, loops of different lengths, calls, recursion, function pointers, switch,
// local memory, predication, printf and assert.
#include "programs/check.hpp"

#include <cassert>

using u32 = std::uint32_t;

__global__ void collatz(int* steps)
{
    unsigned x = threadIdx.x + 1;
    int n = 0;
    while (x != 1) {
        x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        ++n;
    }
    steps[threadIdx.x] = n;
}

int collatz_of(unsigned x)
{
    int n = 0;
    for (; x != 1; ++n) { x = x % 2 == 0 ? x / 2 : 3 * x + 1; }
    return n;
}

// After the branches join, all lanes are together again.
__global__ void reconverge(u32* out)
{
    u32 value = 0;
    if (threadIdx.x % 2 == 0) {
        value = threadIdx.x * 3;
    } else if (threadIdx.x % 3 == 0) {
        value = threadIdx.x * 5;
    }
    out[threadIdx.x] = __activemask();
    out[32 + threadIdx.x] = value;
}

__noinline__ __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int* out) { out[threadIdx.x] = fibonacci(static_cast<int>(threadIdx.x % 12)); }

__noinline__ __device__ float twice(float x) { return 2 * x; }
__noinline__ __device__ float square(float x) { return x * x; }
__device__ float (*const functions[2])(float) = {twice, square};
__global__ void indirect(float* out) { out[threadIdx.x] = functions[threadIdx.x % 2](static_cast<float>(threadIdx.x)); }

struct shape {
    __device__ virtual float area() const = 0;
};
struct box : shape {
    float side;
    __device__ explicit box(float s) : side{s} {}
    __device__ float area() const override { return side * side; }
};
struct disc : shape {
    float radius;
    __device__ explicit disc(float r) : radius{r} {}
    __device__ float area() const override { return 3 * radius * radius; }
};
__global__ void dispatch(float* out)
{
    const box b(static_cast<float>(threadIdx.x));
    const disc d(static_cast<float>(threadIdx.x));
    const shape* s = threadIdx.x % 3 == 0 ? static_cast<const shape*>(&b) : &d;
    out[threadIdx.x] = s->area();
}

__global__ void choose(int* out, int which)
{
    const int i = static_cast<int>(threadIdx.x);
    int r = i;
    switch ((i + which) % 7) {
    case 0: r += 10; break;
    case 1: r *= 3; break;
    case 2: r = -r; break;
    case 3: r ^= 0x55; break;
    case 4: r <<= 2; break;
    case 5: r = r * r; break;
    default: r = 7;
    }
    out[i] = r;
}
int chosen(int i, int which)
{
    const int results[] = {i + 10, i * 3, -i, i ^ 0x55, i << 2, i * i, 7};
    return results[(i + which) % 7];
}

__global__ void local_array(int* out, int n)
{
    int a[40];
    for (int k = 0; k < 40; ++k) { a[k] = k * static_cast<int>(threadIdx.x); }
    int sum = 0;
    for (int k = 0; k < n; ++k) { sum += a[(k * 7 + n) % 40]; }
    out[threadIdx.x] = sum;
}

// Lanes that reach the call at different times meet in the shuffle all the same.
__noinline__ __device__ int rotated(int x) { return __shfl_sync(~0u, x, static_cast<int>(threadIdx.x + 1) % 32); }
__global__ void meet_in_call(int* out)
{
    int x = static_cast<int>(threadIdx.x);
    for (unsigned k = 0; k < threadIdx.x % 5; ++k) { x = x * 3 % 1000; }
    out[threadIdx.x] = rotated(x);
}
int looped(int i)
{
    int x = i;
    for (int k = 0; k < i % 5; ++k) { x = x * 3 % 1000; }
    return x;
}

// Long work without a load or store is no deadlock, even while others wait for it.
__global__ void work_and_wait(volatile int* flag)
{
    if (threadIdx.x >= 32) {
        while (*flag == 0) {}
    } else {
        unsigned x = threadIdx.x;
        for (int k = 0; k < 200000; ++k) { asm volatile("mad.lo.u32 %0, %0, 1664525, 1013904223;" : "+r"(x)); }
        *flag = static_cast<int>(x | 1);
    }
}

struct wide {
    double d[5];
    int n;
};
__global__ void by_value(wide w, double* out) { out[threadIdx.x] = w.d[threadIdx.x % 5] * w.n; }

__global__ void print_line(int n) { printf("from thread %d: %s %5.2f %llx\n", n, "text", 1.5, 0x123456789abull); }
__global__ void fail(int n) { assert(n == 3); }
__global__ void trap() { __trap(); }
__global__ void read_clocks(long long* out)
{
    out[0] = clock64();
    __nanosleep(100);
    out[1] = clock64();
}

void test_flow()
{
    check::device_array<int> out(64);
    collatz<<<1, 64>>>(out);
    const auto steps = out.host();
    for (unsigned i = 0; i < 64; ++i) { CHECK(steps[i] == collatz_of(i + 1)); }

    check::device_array<u32> masks(64);
    emulator_set_seed(0);
    reconverge<<<1, 32>>>(masks);
    const auto m = masks.host();
    for (unsigned i = 0; i < 32; ++i) {
        CHECK(m[i] == ~0u);
        CHECK(m[32 + i] == (i % 2 == 0 ? i * 3 : i % 3 == 0 ? i * 5 : 0));
    }
    emulator_set_seed(1);
    for (int which = 0; which < 7; ++which) {
        choose<<<1, 64>>>(out, which);
        const auto got = out.host();
        for (int i = 0; i < 64; ++i) { CHECK(got[i] == chosen(i, which)); }
    }
    local_array<<<1, 64>>>(out, 33);
    const auto sums = out.host();
    for (int i = 0; i < 64; ++i) {
        int sum = 0;
        for (int k = 0; k < 33; ++k) { sum += (k * 7 + 33) % 40 * i; }
        CHECK(sums[i] == sum);
    }
}

void test_calls()
{
    check::device_array<int> out(64);
    recursion<<<1, 64>>>(out);
    const int fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    const auto got = out.host();
    for (int i = 0; i < 64; ++i) { CHECK(got[i] == fib[i % 12]); }
    check::device_array<float> f(64);
    indirect<<<1, 64>>>(f);
    const auto called = f.host();
    for (int i = 0; i < 64; ++i) { CHECK(called[i] == static_cast<float>(i % 2 == 0 ? 2 * i : i * i)); }
    dispatch<<<1, 64>>>(f);
    const auto areas = f.host();
    for (int i = 0; i < 64; ++i) { CHECK(areas[i] == static_cast<float>(i % 3 == 0 ? i * i : 3 * i * i)); }
    for (unsigned seed = 1; seed <= 20; ++seed) {
        emulator_set_seed(seed);
        meet_in_call<<<1, 32>>>(out);
        const auto met = out.host();
        for (int i = 0; i < 32; ++i) { CHECK(met[i] == looped((i + 1) % 32)); }
    }
    emulator_set("races", 0);  // all lanes store to the flag
    cudaMemset(out, 0, 4);
    work_and_wait<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    emulator_set("races", 1);
    wide w{{1, 2, 3, 4, 5}, 10};
    check::device_array<double> d(32);
    by_value<<<1, 32>>>(w, d);
    const auto values = d.host();
    for (int i = 0; i < 32; ++i) { CHECK(values[i] == 10.0 * (i % 5 + 1)); }
}

void test_ends()
{
    print_line<<<1, 1>>>(42);
    check::device_array<long long> clocks(2);
    read_clocks<<<1, 1>>>(clocks);
    const auto c = clocks.host();
    CHECK(c[1] > c[0]);
    fail<<<1, 32>>>(3);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(emulator_report_count() == 0);
    check::quiet();
    fail<<<1, 32>>>(4);
    CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
    CHECK(check::reported("assertion", "n == 3"));
    CHECK(cudaGetLastError() == cudaErrorAssert);
    CHECK(cudaGetLastError() == cudaErrorAssert);  // the context is lost
    cudaDeviceReset();
    trap<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK(check::reported("trap", "control.cu"));
}

int main()
{
    test_flow();
    test_calls();
    test_ends();
    return check::result();
}
