// Atomics of every kind, of CUDA's functions and of cuda::atomic_ref, by many threads at once.
#include "programs/check.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>

using u32 = std::uint32_t;
using u64 = unsigned long long;

__global__ void all_kinds(u32* w, int* s, u64* q, float* f, double* d, __half2* h)
{
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(w, i);
    atomicMax(w + 1, i);
    atomicMin(s, -static_cast<int>(i));
    atomicInc(w + 2, 9);
    atomicDec(w + 3, 9);
    atomicAnd(w + 4, ~(1u << i % 32));
    atomicOr(w + 5, 1u << i % 32);
    atomicXor(w + 6, i);
    atomicAdd(q, u64{i} << 20);
    atomicMax(q + 1, u64{i} << 40);
    atomicAdd(f, 1.0f);
    atomicAdd(d, 0.5);
    atomicAdd(h, __half2(1.0f, 2.0f));
    atomicAdd_system(w + 7, 1u);
    atomicAdd_block(w + 8 + blockIdx.x, 1u);
    w[16 + i] = atomicAdd(w + 12, 1u);  // each number once
    // A lock by compare and swap.
    for (bool done = false; !done;) {
        if (atomicCAS(w + 13, 0u, 1u) == 0) {
            __threadfence();
            *static_cast<volatile u32*>(w + 14) = *static_cast<volatile u32*>(w + 14) + 1;
            __threadfence();
            atomicExch(w + 13, 0u);
            done = true;
        }
    }
}

__global__ void add_bfloat(__nv_bfloat16* b) { atomicAdd(b, __nv_bfloat16(1.0f)); }

void test_functions()
{
    constexpr u32 n = 128;
    check::device_array<u32> w(16 + n);
    check::device_array<int> s(1);
    check::device_array<u64> q(2);
    check::device_array<float> f(1);
    check::device_array<double> d(1);
    check::device_array<__half2> h(1);
    check::device_array<__nv_bfloat16> b(1);
    cudaMemset(w, 0, (16 + n) * 4);
    cudaMemset(w.data() + 4, 0xff, 4);
    cudaMemset(s, 0, 4);
    cudaMemset(q, 0, 16);
    cudaMemset(f, 0, 4);
    cudaMemset(d, 0, 8);
    cudaMemset(h, 0, 4);
    cudaMemset(b, 0, 2);
    all_kinds<<<4, 32>>>(w, s, q, f, d, h);
    // For compute_80 the header loads b plainly before its compare and swap: a race, strictly.
    emulator_set("races", 0);
    add_bfloat<<<4, 32>>>(b);
    cudaDeviceSynchronize();
    emulator_set("races", 1);
    const auto r = w.host();
    CHECK(r[0] == n * (n - 1) / 2);
    CHECK(r[1] == n - 1);
    CHECK(s.host()[0] == -static_cast<int>(n - 1));
    CHECK(r[2] == n % 10);
    u32 dec = 0;
    for (u32 i = 0; i < n; ++i) { dec = dec == 0 ? 9 : dec - 1; }
    CHECK(r[3] == dec);
    CHECK(r[4] == 0);
    CHECK(r[5] == ~0u);
    CHECK(r[6] == 0);
    CHECK(q.host()[0] == u64{n * (n - 1) / 2} << 20);
    CHECK(q.host()[1] == u64{n - 1} << 40);
    CHECK(f.host()[0] == n);
    CHECK(d.host()[0] == n * 0.5);
    CHECK(static_cast<float>(h.host()[0].x) == n && static_cast<float>(h.host()[0].y) == 2 * n);
    CHECK(static_cast<float>(b.host()[0]) == 128);
    CHECK(r[7] == n);
    for (int k = 0; k < 4; ++k) { CHECK(r[8 + k] == 32); }
    CHECK(r[12] == n);
    u64 tickets = 0;
    for (u32 i = 0; i < n; ++i) { tickets += u64{1} << (r[16 + i] % 64); }
    CHECK(tickets == 2 * ~u64{0});
    CHECK(r[14] == n);
}

__global__ void references(u32* w, u64* q, float* f, unsigned char* bytes, short* halves)
{
    const u32 i = threadIdx.x;
    cuda::atomic_ref<u32, cuda::thread_scope_system> a(*w);
    a.fetch_add(1, cuda::memory_order_release);
    while (a.load(cuda::memory_order_acquire) < blockDim.x) {}
    cuda::atomic_ref<u64, cuda::thread_scope_device> b(*q);
    u64 expected = b.load(cuda::memory_order_relaxed);
    while (!b.compare_exchange_weak(expected, expected + 3, cuda::memory_order_acq_rel)) {}
    cuda::atomic_ref<float, cuda::thread_scope_device> c(*f);
    c.fetch_max(static_cast<float>(i), cuda::memory_order_relaxed);
    cuda::atomic_ref<unsigned char, cuda::thread_scope_block> d(*bytes);
    d.fetch_add(2);
    cuda::atomic_ref<short, cuda::thread_scope_block> e(*halves);
    e.fetch_or(static_cast<short>(1 << i % 15));
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}

void test_references()
{
    check::device_array<u32> w(1);
    check::device_array<u64> q(1);
    check::device_array<float> f(1);
    check::device_array<unsigned char> bytes(4);
    check::device_array<short> halves(2);
    cudaMemset(w, 0, 4);
    cudaMemset(q, 0, 8);
    cudaMemset(f, 0, 4);
    cudaMemset(bytes, 0, 4);
    cudaMemset(halves, 0, 4);
    references<<<1, 64>>>(w, q, f, bytes, halves);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(w.host()[0] == 64);
    CHECK(q.host()[0] == 64 * 3);
    CHECK(f.host()[0] == 63);
    CHECK(bytes.host()[0] == 128);
    CHECK(halves.host()[0] == 0x7fff);
}

int main()
{
    for (unsigned seed = 0; seed < 12; ++seed) {
        emulator_set_seed(seed);
        test_functions();
        test_references();
    }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
