// Multicast memory of NCCL's windows: sums, stores and atomics that reach all ranks, barriers that use them, and what
// is found when they are used wrongly.
#include "programs/nccl_ranks.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl_device.h>

#include <set>

constexpr int n_threads = 32;
constexpr int window_bytes = 8192;

/// Ranks with a window each, and device communicators with multicast memory.
struct multicast_ranks : ranks {
    ncclDevComm comms[8];
    ncclWindow_t windows[8];
    mutable buffers memory;

    explicit multicast_ranks(int count) : ranks(count, false), memory(*this, window_bytes)
    {
        CHECK(group([&](int r) {
                  ncclDevCommRequirements wanted{};
                  wanted.lsaBarrierCount = 1;
                  wanted.lsaMultimem = true;
                  CHECK(ncclDevCommCreate(comm(r), &wanted, &comms[r]) == ncclSuccess);
                  CHECK(ncclCommWindowRegister(comm(r), memory.at(r), window_bytes, &windows[r],
                                               NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess);
              }) == ncclSuccess);
        for (int r = 0; r < count; ++r) { CHECK(comms[r].lsaMultimem.mcBasePtr != nullptr); }
    }
    ~multicast_ranks()
    {
        for (int r = 0; r < size(); ++r) {
            ncclCommWindowDeregister(comm(r), windows[r]);
            ncclDevCommDestroy(comm(r), &comms[r]);
        }
    }
    /// A kernel on each rank: f(device communicator, window, rank, count).
    template <class F>
    bool launch(F f) const
    {
        for (int r = 0; r < size(); ++r) {
            set_device(r);
            f(comms[r], windows[r], r, stream(r));
        }
        return synchronize();
    }
};

// Each rank writes its numbers, adds up those of all, and hands the sum of its part to all.

__device__ float4 sum_of(const float* p)
{
    float4 x;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "l"(p)
                 : "memory");
    return x;
}
__device__ void store_to_all(float* p, float4 x)
{
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x.x), "f"(x.y),
                 "f"(x.z), "f"(x.w)
                 : "memory");
}

enum fault { complete, no_barrier_before, no_barrier_after };

template <fault F>
__global__ void all_reduce(ncclDevComm comm, ncclWindow_t w)
{
    ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), 0, true);
    const int t = static_cast<int>(threadIdx.x);
    auto* in = static_cast<float4*>(ncclGetLocalPointer(w, 0));
    auto* out = static_cast<float4*>(ncclGetLocalPointer(w, 4096));
    const float k = static_cast<float>(comm.rank + 1);
    in[t] = {k * t, k, 0.25F * k, -k};
    if (F != no_barrier_before) { barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel); }
    if (t % comm.nRanks == comm.rank) {
        auto* mc = static_cast<float*>(ncclGetLsaMultimemPointer(w, 0, comm));
        store_to_all(mc + 1024 + 4 * t, sum_of(mc + 4 * t));
    }
    if (F != no_barrier_after) { barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel); }
    out[t + n_threads] = out[t];
}

template <fault F>
bool all_reduce_is_right(unsigned seed, int count)
{
    emulator_set_seed(seed);
    const multicast_ranks all(count);
    bool right = true;
    for (int again = 0; again < 2; ++again) {
        right &= all.launch([](const ncclDevComm& c, ncclWindow_t w, int, cudaStream_t s) {
            all_reduce<F><<<1, n_threads, 0, s>>>(c, w);
        });
    }
    const auto k = static_cast<float>(count * (count + 1) / 2);
    for (int r = 0; r < count; ++r) {
        const auto got = all.memory.get<float4>(r);
        for (int t = 0; t < n_threads; ++t) {
            const float4 x = got[256 + n_threads + t];
            right &= x.x == k * static_cast<float>(t) && x.y == k && x.z == 0.25F * k && x.w == -k;
        }
    }
    return right;
}

// All forms that are there, on numbers whose sums are exact.

struct sums {
    float one, two[2];
    unsigned number, half, halves[4], bfloat, bfloats[2];
    double wide;
    unsigned long long bits;
};

__global__ void fill(ncclWindow_t w, int rank)
{
    auto* p = static_cast<unsigned char*>(ncclGetLocalPointer(w, 0));
    const auto k = static_cast<float>(rank + 1);
    *reinterpret_cast<float*>(p) = k;
    *reinterpret_cast<float2*>(p + 8) = {2 * k, 3 * k};
    *reinterpret_cast<unsigned*>(p + 16) = 1u << rank;
    *reinterpret_cast<__half2*>(p + 20) = __half2(k, -k);
    for (int i = 0; i < 4; ++i) { reinterpret_cast<__half2*>(p + 32)[i] = __half2(k + 1024, k * i); }
    *reinterpret_cast<__nv_bfloat162*>(p + 48) = __nv_bfloat162(k, 2 * k);
    for (int i = 0; i < 2; ++i) { reinterpret_cast<__nv_bfloat162*>(p + 56)[i] = __nv_bfloat162(k * i, 0.5F * k); }
    *reinterpret_cast<double*>(p + 64) = 0.5 * k;
    *reinterpret_cast<unsigned long long*>(p + 72) = 3ull << rank;
}
__global__ void load_all(ncclDevComm comm, ncclWindow_t w, sums* out)
{
    const auto* p = static_cast<const char*>(ncclGetLsaMultimemPointer(w, 0, comm));
    sums s;
    asm volatile("multimem.ld_reduce.weak.global.add.f32 %0, [%1];" : "=f"(s.one) : "l"(p));
    asm volatile("multimem.ld_reduce.add.v2.f32 {%0, %1}, [%2];" : "=f"(s.two[0]), "=f"(s.two[1]) : "l"(p + 8));
    asm volatile("multimem.ld_reduce.acquire.sys.global.or.b32 %0, [%1];" : "=r"(s.number) : "l"(p + 16));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f16x2 %0, [%1];" : "=r"(s.half) : "l"(p + 20));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(s.halves[0]), "=r"(s.halves[1]), "=r"(s.halves[2]), "=r"(s.halves[3])
                 : "l"(p + 32));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.bf16x2 %0, [%1];" : "=r"(s.bfloat) : "l"(p + 48));
    asm volatile("multimem.ld_reduce.relaxed.gpu.global.add.acc::f32.v2.bf16x2 {%0, %1}, [%2];"
                 : "=r"(s.bfloats[0]), "=r"(s.bfloats[1])
                 : "l"(p + 56));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f64 %0, [%1];" : "=d"(s.wide) : "l"(p + 64));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.max.u64 %0, [%1];" : "=l"(s.bits) : "l"(p + 72));
    *out = s;
}
__global__ void store_all(ncclDevComm comm, ncclWindow_t w)
{
    auto* p = static_cast<char*>(ncclGetLsaMultimemPointer(w, 256, comm));
    asm volatile("multimem.st.weak.global.f32 [%0], %1;" ::"l"(p), "f"(1.5F) : "memory");
    asm volatile("multimem.st.release.sys.global.b32 [%0], %1;" ::"l"(p + 4), "r"(77) : "memory");
    asm volatile("multimem.st.relaxed.sys.global.v2.f32 [%0], {%1, %2};" ::"l"(p + 8), "r"(1), "r"(2) : "memory");
    asm volatile("multimem.st.relaxed.sys.global.v4.bf16x2 [%0], {%1, %2, %3, %4};" ::"l"(p + 16), "r"(3), "r"(4),
                 "r"(5), "r"(6)
                 : "memory");
}
__global__ void add_all(ncclDevComm comm, ncclWindow_t w)
{
    auto* p = static_cast<char*>(ncclGetLsaMultimemPointer(w, 512, comm));
    asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(p), "r"(comm.rank + 1) : "memory");
    asm volatile("multimem.red.relaxed.sys.global.add.f32 [%0], %1;" ::"l"(p + 4), "f"(0.5F) : "memory");
    asm volatile("multimem.red.relaxed.sys.global.add.v2.f16x2 [%0], {%1, %1};" ::"l"(p + 8), "r"(0x3c003c00)
                 : "memory");
}

float low_half(unsigned x)
{
    const auto bits = static_cast<unsigned short>(x);
    __half h;
    std::memcpy(&h, &bits, 2);
    return __half2float(h);
}
float bfloat(unsigned bits)
{
    bits <<= 16;
    float x = 0;
    std::memcpy(&x, &bits, 4);
    return x;
}

void test_forms(int count)
{
    const multicast_ranks all(count);
    buffers out(all, sizeof(sums));
    for (int r = 0; r < count; ++r) { all.memory.set(r, std::vector<unsigned>(window_bytes / 4)); }
    CHECK(all.launch([](const ncclDevComm&, ncclWindow_t w, int r, cudaStream_t s) { fill<<<1, 1, 0, s>>>(w, r); }));
    CHECK(all.launch([&](const ncclDevComm& c, ncclWindow_t w, int r, cudaStream_t s) {
        load_all<<<1, 1, 0, s>>>(c, w, out.at<sums>(r));
    }));
    const float k = static_cast<float>(count * (count + 1)) / 2;
    for (int r = 0; r < count; ++r) {
        const sums s = out.get<sums>(r)[0];
        CHECK(s.one == k && s.two[0] == 2 * k && s.two[1] == 3 * k);
        CHECK(s.number == (1u << count) - 1);
        CHECK(low_half(s.half) == k && low_half(s.half >> 16) == -k);
        // In f32 and rounded once: 4 * 1024 + 10 is no number of f16, nor is 1025 + 1026.
        const float exact = 1024.0F * static_cast<float>(count) + k;
        for (int i = 0; i < 4; ++i) {
            CHECK(low_half(s.halves[i]) == __half2float(__float2half(exact)));
            CHECK(low_half(s.halves[i] >> 16) == k * static_cast<float>(i));
        }
        CHECK(bfloat(s.bfloat) == k && bfloat(s.bfloat >> 16) == 2 * k);
        for (int i = 0; i < 2; ++i) {
            CHECK(bfloat(s.bfloats[i] & 0xffff) == k * static_cast<float>(i) && bfloat(s.bfloats[i] >> 16) == 0.5F * k);
        }
        CHECK(s.wide == 0.5 * k && s.bits == 3ull << (count - 1));
    }
    all.set_device(count - 1);
    store_all<<<1, 1, 0, all.stream(count - 1)>>>(all.comms[count - 1], all.windows[count - 1]);
    CHECK(all.synchronize());
    CHECK(all.launch([](const ncclDevComm& c, ncclWindow_t w, int, cudaStream_t s) { add_all<<<1, 1, 0, s>>>(c, w); }));
    for (int r = 0; r < count; ++r) {
        const auto words = all.memory.get<unsigned>(r);
        float x = 0;
        std::memcpy(&x, &words[64], 4);
        CHECK(x == 1.5F && words[65] == 77 && words[66] == 1 && words[67] == 2);
        for (unsigned i = 0; i < 4; ++i) { CHECK(words[68 + i] == 3 + i); }
        CHECK(words[128] == static_cast<unsigned>(k));
        std::memcpy(&x, &words[129], 4);
        CHECK(x == 0.5F * static_cast<float>(count));
        CHECK(low_half(words[130]) == static_cast<float>(count) && words[131] == words[130]);
    }
}

// Numbers whose sum depends on the order.

__global__ void fill_uneven(ncclWindow_t w, int rank)
{
    const float x[] = {1e8F, 1.0F, -1e8F, 3.0F};
    *static_cast<float*>(ncclGetLocalPointer(w, 0)) = x[rank];
}
__global__ void add_uneven(ncclDevComm comm, ncclWindow_t w, float* out)
{
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f32 %0, [%1];"
                 : "=f"(out[threadIdx.x])
                 : "l"(ncclGetLsaMultimemPointer(w, 0, comm)));
}

void test_order()
{
    std::set<float> seen;
    const multicast_ranks all(4);
    buffers out(all, n_threads * sizeof(float));
    CHECK(all.launch([](const ncclDevComm&, ncclWindow_t w, int r, cudaStream_t s) { fill_uneven<<<1, 1, 0, s>>>(w, r); }));
    CHECK(all.launch([&](const ncclDevComm& c, ncclWindow_t w, int r, cudaStream_t s) {
        add_uneven<<<1, n_threads, 0, s>>>(c, w, out.at<float>(r));
    }));
    for (int r = 0; r < 4; ++r) {
        for (float x : out.get<float>(r)) { seen.insert(x); }
    }
    CHECK(seen.size() > 1);
}

// Wrong uses.

__global__ void load_at(ncclDevComm comm, ncclWindow_t w, std::size_t offset, float* out)
{
    const float4 x = sum_of(reinterpret_cast<const float*>(static_cast<const char*>(ncclGetLsaMultimemPointer(w, offset, comm))));
    *out = x.x;
}
__global__ void load_from(const float* p, float* out) { *out = sum_of(p).x; }
__global__ void load_plainly(ncclDevComm comm, ncclWindow_t w, float* out)
{
    *out = *static_cast<const float*>(ncclGetLsaMultimemPointer(w, 0, comm));
}

/// A kernel of rank 0 is found to do something wrong.
template <class F>
void refused(const char* rule, const char* text, cudaError_t error, F f)
{
    const multicast_ranks all(2);
    buffers out(all, 64);
    for (int r = 0; r < 2; ++r) { all.memory.set(r, std::vector<unsigned>(window_bytes / 4)); }
    all.set_device(0);
    f(all, out.at<float>(0));
    const cudaError_t got = cudaStreamSynchronize(all.stream(0));
    CHECK(got == error);
    CHECK(check::reported(rule, text));
    emulator_clear_reports();
    cudaDeviceReset();
}

template <fault F>
void find(const char* name)
{
    int found = 0;
    for (unsigned seed = 1; seed <= 5; ++seed) {
        emulator_clear_reports();
        const bool right = all_reduce_is_right<F>(seed, 3);
        found += !right || check::reported("race") || check::reported("uninitialised");
    }
    std::printf("%s: found by %d of 5 seeds\n", name, found);
    CHECK(found == 5);
    emulator_clear_reports();
}

void test_offered()
{
    const auto refused_by = [](const ranks& all) {
        ncclDevCommRequirements wanted{};
        wanted.lsaMultimem = true;
        ncclDevComm made;
        const bool refused = ncclDevCommCreate(all.comm(0), &wanted, &made) == ncclInvalidArgument;
        return refused && std::string(ncclGetLastError(nullptr)).find("multimem") != std::string::npos;
    };
    CHECK(refused_by(ranks(2, true)));  // two ranks on a device
    setenv("EMULATOR_NCCL_MULTIMEM", "0", 1);
    CHECK(refused_by(ranks(2, false)));
    unsetenv("EMULATOR_NCCL_MULTIMEM");
}

int main()
{
    for (unsigned seed = 0; seed < 6; ++seed) {
        for (int count = 1; count <= 4; ++count) { CHECK(all_reduce_is_right<complete>(seed, count)); }
        test_forms(1 + static_cast<int>(seed % 4));
    }
    test_order();
    test_offered();
    CHECK(emulator_report_count() == 0);
    check::quiet();
    find<no_barrier_before>("no barrier before the sums");
    find<no_barrier_after>("no barrier after the stores");
    refused("misaligned", "multimem load of 16 bytes", cudaErrorMisalignedAddress, [](const multicast_ranks& all, float* out) {
        load_at<<<1, 1, 0, all.stream(0)>>>(all.comms[0], all.windows[0], 8, out);
    });
    refused("out of bounds", "8192 bytes into multicast memory", cudaErrorIllegalAddress, [](const multicast_ranks& all, float* out) {
        load_at<<<1, 1, 0, all.stream(0)>>>(all.comms[0], all.windows[0], window_bytes, out);
    });
    refused("out of bounds", "no multicast memory is there", cudaErrorIllegalAddress, [](const multicast_ranks& all, float* out) {
        load_from<<<1, 1, 0, all.stream(0)>>>(all.memory.at<float>(0), out);
    });
    refused("out of bounds", "which only multimem instructions access", cudaErrorIllegalAddress, [](const multicast_ranks& all, float* out) {
        load_plainly<<<1, 1, 0, all.stream(0)>>>(all.comms[0], all.windows[0], out);
    });
    return check::result();
}
