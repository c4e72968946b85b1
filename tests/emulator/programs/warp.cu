// Lanes of a warp: shuffles, votes, matches, reductions, barriers of the block and of the warp.
#include "programs/check.hpp"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;
using u32 = std::uint32_t;

__global__ void shuffles(u32* out)
{
    const u32 l = threadIdx.x;
    const u32 v = l * 10 + 1;
    out[l] = __shfl_sync(~0u, v, 5);
    out[32 + l] = __shfl_up_sync(~0u, v, 3);
    out[64 + l] = __shfl_down_sync(~0u, v, 7);
    out[96 + l] = __shfl_xor_sync(~0u, v, 9);
    out[128 + l] = __shfl_sync(~0u, v, static_cast<int>(l) + 2, 8);
    out[160 + l] = __shfl_up_sync(~0u, v, 2, 8);
    out[192 + l] = __shfl_down_sync(~0u, v, 2, 16);
    out[224 + l] = static_cast<u32>(__shfl_xor_sync(~0u, 0x100000000ull * v + l, 1) >> 32);
}

u32 value(u32 l) { return l * 10 + 1; }

void test_shuffles()
{
    check::device_array<u32> out(256);
    shuffles<<<1, 32>>>(out);
    const auto r = out.host();
    for (u32 l = 0; l < 32; ++l) {
        CHECK(r[l] == value(5));
        CHECK(r[32 + l] == value(l >= 3 ? l - 3 : l));
        CHECK(r[64 + l] == value(l + 7 < 32 ? l + 7 : l));
        CHECK(r[96 + l] == value(l ^ 9));
        CHECK(r[128 + l] == value(l / 8 * 8 + (l + 2) % 8));
        CHECK(r[160 + l] == value(l % 8 >= 2 ? l - 2 : l));
        CHECK(r[192 + l] == value(l % 16 + 2 < 16 ? l + 2 : l));
        CHECK(r[224 + l] == value(l ^ 1));
    }
}

__global__ void votes(u32* out, const int* p)
{
    const int v = p[threadIdx.x];
    u32* o = out + threadIdx.x * 12;
    o[0] = __ballot_sync(~0u, v > 3);
    o[1] = static_cast<u32>(__any_sync(~0u, v == 7));
    o[2] = static_cast<u32>(__all_sync(~0u, v < 100));
    o[3] = __match_any_sync(~0u, v);
    int same = 0;
    o[4] = __match_all_sync(~0u, v, &same);
    o[5] = static_cast<u32>(same);
    o[6] = __reduce_add_sync(~0u, static_cast<u32>(v));
    o[7] = static_cast<u32>(__reduce_min_sync(~0u, v));
    o[8] = __reduce_or_sync(~0u, static_cast<u32>(v));
    o[9] = 0;
    if (threadIdx.x % 2 == 1) { o[9] = __ballot_sync(0xaaaaaaaa, v > 3); }
    o[10] = static_cast<u32>(__syncthreads_count(v > 3));
    o[11] = static_cast<u32>(__syncthreads_or(v == 31) * 2 + __syncthreads_and(v < 31));
}

void test_votes()
{
    std::vector<int> p(32);
    for (int l = 0; l < 32; ++l) { p[l] = l * 7 % 11; }
    check::device_array<int> dp(p);
    check::device_array<u32> out(32 * 12);
    votes<<<1, 32>>>(out, dp);
    const auto r = out.host();
    u32 ballot = 0, sum = 0, all_or = 0, count = 0;
    for (int l = 0; l < 32; ++l) { ballot |= u32{p[l] > 3} << l, sum += p[l], all_or |= p[l], count += p[l] > 3; }
    for (int l = 0; l < 32; ++l) {
        const u32* o = &r[l * 12];
        u32 match = 0;
        for (int m = 0; m < 32; ++m) { match |= u32{p[m] == p[l]} << m; }
        CHECK(o[0] == ballot);
        CHECK(o[1] == 1);
        CHECK(o[2] == 1);
        CHECK(o[3] == match);
        CHECK(o[4] == 0);
        CHECK(o[5] == 0);
        CHECK(o[6] == sum);
        CHECK(o[7] == 0);
        CHECK(o[8] == all_or);
        CHECK(o[9] == (l % 2 == 1 ? ballot & 0xaaaaaaaa : 0));
        CHECK(o[10] == count);
        CHECK(o[11] == 1);
    }
}

template <class T>
__global__ void block_sum(T* out, const T* in, int n)
{
    __shared__ T partial[32];
    T v{};
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) { v += in[i]; }
    for (int step = 16; step > 0; step /= 2) { v += __shfl_xor_sync(~0u, v, step); }
    if (threadIdx.x % 32 == 0) { partial[threadIdx.x / 32] = v; }
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : T{};
        for (int step = 16; step > 0; step /= 2) { v += __shfl_down_sync(~0u, v, step); }
        if (threadIdx.x == 0) { *out = v; }
    }
}

__global__ void tree(float* out, const float* in)
{
    extern __shared__ float s[];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) { s[threadIdx.x] += s[threadIdx.x + step]; }
        __syncthreads();
    }
    if (threadIdx.x == 0) { *out = s[0]; }
}

// Producer and consumer warps meet at two barriers with a number, by arrive and sync.
__global__ void named_barriers(int* out)
{
    __shared__ int buffer[32];
    const int l = static_cast<int>(threadIdx.x % 32);
    for (int round = 0; round < 4; ++round) {
        if (threadIdx.x < 32) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            buffer[l] = round * 100 + l;
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        } else {
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
            out[round * 32 + l] = buffer[31 - l];
        }
    }
}

__global__ void groups(int* out)
{
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<8>(block);
    out[threadIdx.x] = cg::reduce(tile, static_cast<int>(threadIdx.x), cg::plus<int>());
    if (threadIdx.x % 3 == 0) {
        const auto some = cg::coalesced_threads();
        out[64 + threadIdx.x] = static_cast<int>(some.size() * 100 + some.thread_rank());
    }
}

// In each half of the warp __syncwarp is a different instruction.
__global__ void sync_in_branches(int* out)
{
    __shared__ int s[32];
    if (threadIdx.x < 16) {
        s[threadIdx.x] = 1;
        __syncwarp();
        out[threadIdx.x] = s[threadIdx.x + 16];
    } else {
        s[threadIdx.x] = 2;
        __syncwarp();
        out[threadIdx.x] = s[threadIdx.x - 16];
    }
}

void test_blocks()
{
    std::vector<float> in(1000);
    std::vector<double> din(1000);
    std::vector<int> iin(1000);
    for (int i = 0; i < 1000; ++i) { in[i] = static_cast<float>(i), din[i] = i * 0.5, iin[i] = i; }
    check::device_array<float> f(in), fo(1);
    check::device_array<double> d(din), dout(1);
    check::device_array<int> n(iin), no(1), out(128);
    block_sum<<<1, 256>>>(fo.data(), f.data(), 1000);
    block_sum<<<1, 128>>>(dout.data(), d.data(), 1000);
    block_sum<<<1, 1024>>>(no.data(), n.data(), 1000);
    CHECK(fo.host()[0] == 499500);
    CHECK(dout.host()[0] == 249750);
    CHECK(no.host()[0] == 499500);
    tree<<<1, 512, 512 * sizeof(float)>>>(fo, f);
    CHECK(fo.host()[0] == 511 * 256);
    named_barriers<<<1, 64>>>(out);
    const auto r = out.host();
    for (int i = 0; i < 128; ++i) { CHECK(r[i] == i / 32 * 100 + 31 - i % 32); }
    cudaMemset(out, 0, 128 * sizeof(int));
    groups<<<1, 64>>>(out);
    const auto g = out.host();
    for (int i = 0; i < 64; ++i) {
        CHECK(g[i] == i / 8 * 8 * 8 + 28);
        const int first = i / 32 * 32;
        int size = 0, rank = 0;
        for (int k = first; k < first + 32; ++k) { size += k % 3 == 0, rank += k % 3 == 0 && k < i; }
        CHECK(g[64 + i] == (i % 3 == 0 ? size * 100 + rank : 0));
    }
    sync_in_branches<<<1, 32>>>(out);
    const auto b = out.host();
    for (int i = 0; i < 32; ++i) { CHECK(b[i] == (i < 16 ? 2 : 1)); }
}

int main()
{
    for (unsigned seed = 0; seed < 12; ++seed) {
        emulator_set_seed(seed);
        test_shuffles();
        test_votes();
        test_blocks();
    }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
