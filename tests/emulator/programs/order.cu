// Memory order: litmus tests. Correct synchronisation gives right results under all seeds and no report; taking an
// acquire, a release, a fence or enough scope away gives wrong results, or a report, under some seed.
#include "programs/check.hpp"

enum variant { correct, relaxed_store, relaxed_load, weak_flag, small_scope };

template <variant V>
__device__ void set(int* flag)
{
    if constexpr (V == relaxed_store) {
        asm volatile("st.relaxed.gpu.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else if constexpr (V == weak_flag) {
        asm volatile("st.weak.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else if constexpr (V == small_scope) {
        asm volatile("st.release.cta.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        asm volatile("st.release.gpu.u32 [%0], 1;" ::"l"(flag) : "memory");
    }
}

template <variant V>
__device__ int get(int* flag)
{
    int v;
    if constexpr (V == relaxed_load) {
        asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    } else if constexpr (V == weak_flag) {
        asm volatile("ld.weak.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    } else if constexpr (V == small_scope) {
        asm volatile("ld.acquire.cta.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    } else {
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    }
    return v;
}

// Block 0 sends a message to block 1.
template <variant V>
__global__ void message(int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = 42;
        set<V>(flag);
    } else {
        while (get<V>(flag) == 0) {}
        *out = *data;
    }
}

// The same with fences around relaxed accesses; F false takes the reader's fence away.
template <bool F>
__global__ void fenced(int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence();
        *static_cast<volatile int*>(flag) = 1;
    } else {
        while (*static_cast<volatile int*>(flag) == 0) {}
        if (F) { __threadfence(); }
        *out = *data;
    }
}

// Relaxed data, so that nothing is a race: only the value tells.
template <bool Release>
__global__ void relaxed_data(int* data, int* flag, int* out)
{
    int v = 0;
    if (blockIdx.x == 0) {
        asm volatile("st.relaxed.gpu.u32 [%0], 42;" ::"l"(data) : "memory");
        set<Release ? correct : relaxed_store>(flag);
    } else {
        while (get<correct>(flag) == 0) {}
        asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(data) : "memory");
        *out = v;
    }
}

// Release sequence: the message goes on through another block's atomic.
__global__ void chain(int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = 42;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else if (blockIdx.x == 1) {
        while (atomicCAS(flag, 1, 2) != 1) {}
    } else {
        while (get<correct>(flag) < 2) {}
        *out = *data;
    }
}

// Each thread stores to one and loads the other: with fence.sc not both may load 0.
template <bool Fence>
__global__ void store_buffering(int* x, int* y, int* out)
{
    int* mine = blockIdx.x == 0 ? x : y;
    int* other = blockIdx.x == 0 ? y : x;
    int v = 0;
    asm volatile("st.relaxed.gpu.u32 [%0], 1;" ::"l"(mine) : "memory");
    if (Fence) { asm volatile("fence.sc.gpu;" ::: "memory"); }
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(other) : "memory");
    out[blockIdx.x] = v;
}

// Coherence: a thread does not see a location go back.
__global__ void coherent(int* x, int* out)
{
    if (blockIdx.x == 0) {
        for (int k = 1; k <= 20; ++k) { asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(x), "r"(k) : "memory"); }
    } else {
        int before = 0, bad = 0;
        for (int k = 0; k < 30; ++k) {
            int v;
            asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(x) : "memory");
            bad += v < before;
            before = v;
        }
        *out = bad;
    }
}

// 64-bit values are never torn.
__global__ void whole(unsigned long long* x, int* out)
{
    if (blockIdx.x == 0) {
        for (unsigned long long k = 1; k <= 20; ++k) {
            asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(x), "l"(k << 32 | k) : "memory");
        }
    } else {
        int bad = 0;
        for (int k = 0; k < 30; ++k) {
            unsigned long long v;
            asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(v) : "l"(x) : "memory");
            bad += (v >> 32) != (v & 0xffffffff);
        }
        *out = bad;
    }
}

struct outcome {
    int wrong = 0;     ///< seeds with another result than 42
    int reported = 0;  ///< seeds with a report
};

template <class K>
outcome run(K kernel, int blocks)
{
    outcome o;
    for (unsigned seed = 1; seed <= 60; ++seed) {
        emulator_set_seed(seed);
        emulator_clear_reports();
        check::device_array<int> m(3);
        cudaMemset(m, 0, 12);
        kernel<<<blocks, 1>>>(m, m + 1, m + 2);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        o.wrong += m.host()[2] != 42;
        o.reported += emulator_report_count() != 0;
    }
    return o;
}

void expect_correct(const char* name, outcome o)
{
    if (!CHECK(o.wrong == 0 && o.reported == 0)) {
        std::printf("   %s: %d wrong, %d reported\n", name, o.wrong, o.reported);
    }
}

void expect_wrong(const char* name, outcome o, int least_wrong)
{
    std::printf("%s: %d of 60 seeds wrong, %d reported\n", name, o.wrong, o.reported);
    CHECK(o.wrong >= least_wrong);
    CHECK(o.reported >= 1);
}

int both_zero(bool fence)
{
    int n = 0;
    for (unsigned seed = 1; seed <= 60; ++seed) {
        emulator_set_seed(seed);
        check::device_array<int> m(4);
        cudaMemset(m, 0, 16);
        fence ? store_buffering<true><<<2, 1>>>(m, m + 1, m + 2) : store_buffering<false><<<2, 1>>>(m, m + 1, m + 2);
        const auto r = m.host();
        n += r[2] == 0 && r[3] == 0;
    }
    return n;
}

int main()
{
    check::quiet();
    expect_correct("acquire and release", run(message<correct>, 2));
    expect_correct("fences", run(fenced<true>, 2));
    expect_correct("release sequence", run(chain, 3));
    expect_correct("relaxed data", run(relaxed_data<true>, 2));
    expect_wrong("relaxed store", run(message<relaxed_store>, 2), 3);
    expect_wrong("relaxed load", run(message<relaxed_load>, 2), 3);
    expect_wrong("weak flag", run(message<weak_flag>, 2), 3);
    expect_wrong("scope of the block", run(message<small_scope>, 2), 3);
    expect_wrong("no fence of the reader", run(fenced<false>, 2), 3);
    const outcome o = run(relaxed_data<false>, 2);
    std::printf("relaxed data without release: %d of 60 seeds wrong\n", o.wrong);
    CHECK(o.wrong >= 3 && o.reported == 0);
    CHECK(both_zero(true) == 0);
    const int relaxed = both_zero(false);
    std::printf("store buffering without fences: %d of 60 seeds\n", relaxed);
    CHECK(relaxed >= 3);
    emulator_clear_reports();
    for (unsigned seed = 1; seed <= 40; ++seed) {
        emulator_set_seed(seed);
        check::device_array<int> m(2);
        cudaMemset(m, 0, 8);
        coherent<<<2, 1>>>(m, m + 1);
        CHECK(m.host()[1] == 0);
        check::device_array<unsigned long long> q(2);
        cudaMemset(q, 0, 16);
        whole<<<2, 1>>>(q, m + 1);
        CHECK(m.host()[1] == 0);
    }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
