// An all-reduce between four devices by flags in each other's memory: right under all seeds, without a report; and what
// the emulator finds when any one of its waits, barriers or orders is taken away.
#include "programs/check.hpp"

#include <algorithm>

constexpr int n_ranks = 4;
constexpr int n_blocks = 2;
constexpr int n_threads = 64;
constexpr int n = n_blocks * n_threads;
constexpr int n_rounds = 2;

enum fault {
    complete,
    no_barrier_before,
    no_wait,
    no_barrier_after,
    relaxed_set,
    relaxed_wait,
    scope_of_device,
    no_wait_before_reuse
};
const char* const fault_names[] = {"complete",
                                   "no barrier before the flags are set",
                                   "no wait for the other ranks",
                                   "no barrier after the wait",
                                   "flag set without release",
                                   "flag read without acquire",
                                   "order within the device only",
                                   "no wait before the buffer is used again"};

struct peers {
    float* data[n_ranks];
    unsigned* flags[n_ranks];  // of each rank: a flag for each block and rank
};

template <fault F>
__device__ void set(unsigned* flag, unsigned value)
{
    if constexpr (F == relaxed_set) {
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
    } else if constexpr (F == scope_of_device) {
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
    } else {
        asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
    }
}

template <fault F>
__device__ unsigned get(unsigned* flag)
{
    unsigned v;
    if constexpr (F == relaxed_wait) {
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    } else if constexpr (F == scope_of_device) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    } else {
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    }
    return v;
}

template <fault F>
__device__ void all_ranks(const peers& p, int rank, unsigned epoch, bool waits)
{
    if (F != no_barrier_before) { __syncthreads(); }
    if (threadIdx.x < n_ranks) {
        const int other = static_cast<int>(threadIdx.x);
        set<F>(p.flags[other] + blockIdx.x * n_ranks + rank, epoch);
        while (waits && get<F>(p.flags[rank] + blockIdx.x * n_ranks + other) < epoch) {}
    }
    if (F != no_barrier_after) { __syncthreads(); }
}

template <fault F>
__global__ void all_reduce(peers p, int rank, const float* in, float* out)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    for (int round = 0; round < n_rounds; ++round) {
        p.data[rank][i] = in[round * n + i];
        all_ranks<F>(p, rank, static_cast<unsigned>(2 * round + 1), F != no_wait);
        float sum = 0;
        for (int r = 0; r < n_ranks; ++r) { sum += p.data[r][i]; }
        out[round * n + i] = sum;
        if (round + 1 < n_rounds) {
            all_ranks<F>(p, rank, static_cast<unsigned>(2 * round + 2), F != no_wait_before_reuse);
        }
    }
}

struct ranks {
    peers p{};
    float* in[n_ranks]{};
    float* out[n_ranks]{};
    cudaStream_t streams[n_ranks]{};

    ranks()
    {
        for (int r = 0; r < n_ranks; ++r) {
            cudaSetDevice(r);
            for (int other = 0; other < n_ranks; ++other) {
                if (other != r) { cudaDeviceEnablePeerAccess(other, 0); }
            }
            cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking);
            cudaMalloc(reinterpret_cast<void**>(&p.data[r]), n * sizeof(float));
            cudaMalloc(reinterpret_cast<void**>(&p.flags[r]), n_blocks * n_ranks * sizeof(unsigned));
            cudaMalloc(reinterpret_cast<void**>(&in[r]), n_rounds * n * sizeof(float));
            cudaMalloc(reinterpret_cast<void**>(&out[r]), n_rounds * n * sizeof(float));
            std::vector<float> values(n_rounds * n);
            for (int i = 0; i < n_rounds * n; ++i) { values[i] = static_cast<float>((r + 1) * (i + 1)); }
            cudaMemcpy(in[r], values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice);
            cudaMemset(p.flags[r], 0, n_blocks * n_ranks * sizeof(unsigned));
            cudaDeviceSynchronize();
        }
    }
    ~ranks()
    {
        for (int r = 0; r < n_ranks; ++r) {
            cudaSetDevice(r);
            cudaStreamDestroy(streams[r]);
            for (void* m : {static_cast<void*>(p.data[r]), static_cast<void*>(p.flags[r]), static_cast<void*>(in[r]),
                            static_cast<void*>(out[r])}) {
                cudaFree(m);
            }
        }
        cudaSetDevice(0);
    }
};

template <fault F>
bool right_with(unsigned seed)
{
    emulator_set_seed(seed);
    emulator_clear_reports();
    ranks all;
    for (int r = 0; r < n_ranks; ++r) {
        cudaSetDevice(r);
        all_reduce<F><<<n_blocks, n_threads, 0, all.streams[r]>>>(all.p, r, all.in[r], all.out[r]);
    }
    bool right = true;
    for (int r = 0; r < n_ranks; ++r) {
        cudaSetDevice(r);
        right &= cudaDeviceSynchronize() == cudaSuccess;
        std::vector<float> got(n_rounds * n);
        cudaMemcpy(got.data(), all.out[r], got.size() * sizeof(float), cudaMemcpyDeviceToHost);
        for (int i = 0; i < n_rounds * n; ++i) { right &= got[i] == static_cast<float>(10 * (i + 1)); }
    }
    return right;
}

template <fault F>
void find()
{
    int wrong = 0, reported = 0, first = 0;
    const int n_seeds = 30;
    for (int seed = 1; seed <= n_seeds; ++seed) {
        const bool right = right_with<F>(static_cast<unsigned>(seed));
        const bool report = emulator_report_count() != 0;
        wrong += !right, reported += report;
        if (first == 0 && (!right || report)) { first = seed; }
        if (F == complete && report) { std::printf("%s\n", emulator_report(0)); }
    }
    std::printf("%-42s %2d of %d seeds wrong, %2d reported, first found by seed %d\n", fault_names[F], wrong, n_seeds,
                reported, first);
    if (F == complete) {
        CHECK(wrong == 0 && reported == 0);
    } else {
        CHECK(first >= 1 && first <= 5);
        CHECK(wrong >= 1);
    }
}

int main()
{
    check::quiet();
    find<complete>();
    find<no_barrier_before>();
    find<no_wait>();
    find<no_barrier_after>();
    find<relaxed_set>();
    find<relaxed_wait>();
    find<scope_of_device>();
    find<no_wait_before_reuse>();
    emulator_clear_reports();
    return check::result();
}
