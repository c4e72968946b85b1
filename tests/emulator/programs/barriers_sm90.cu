// mbarrier through cuda::barrier and cuda::pipeline, and what only compute_90 has.
#include "programs/check.hpp"

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>

__global__ void neighbours(int* out)
{
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    if (threadIdx.x == 0) { init(&bar, blockDim.x); }
    __syncthreads();
    for (int round = 0; round < 3; ++round) {
        s[threadIdx.x] = static_cast<int>(threadIdx.x) + round;
        bar.arrive_and_wait();
        out[threadIdx.x] += s[(threadIdx.x + 1) % blockDim.x];
        bar.arrive_and_wait();
    }
}

__global__ void pipelined(const int4* in, int* out)
{
    __shared__ int4 s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x].y;
}

__global__ void bfloats(__nv_bfloat162* out, const __nv_bfloat162* a)
{
    const __nv_bfloat162 x = a[threadIdx.x];
    out[threadIdx.x] = __hadd2(__hmul2(x, x), __hfma2(x, x, x));
}

__global__ void vector_red(float* p)
{
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(1.0f), "f"(2.0f), "f"(3.0f), "f"(4.0f)
                 : "memory");
}

int main()
{
    for (unsigned seed = 0; seed < 8; ++seed) {
        emulator_set_seed(seed);
        check::device_array<int> out(std::vector<int>(128, 0));
        neighbours<<<1, 128>>>(out);
        const auto got = out.host();
        for (int i = 0; i < 128; ++i) { CHECK(got[i] == 3 * ((i + 1) % 128) + 3); }
        std::vector<int4> in(64);
        for (int i = 0; i < 64; ++i) { in[i] = make_int4(i, i * 10, 0, 0); }
        check::device_array<int4> din(in);
        pipelined<<<1, 64>>>(din, out);
        const auto copied = out.host();
        for (int i = 0; i < 64; ++i) { CHECK(copied[i] == (63 - i) * 10); }
    }
    std::vector<__nv_bfloat162> a(32);
    for (int i = 0; i < 32; ++i) {
        a[i] = __nv_bfloat162(static_cast<float>(i) * 0.25f, 1.0f / static_cast<float>(i + 1));
    }
    check::device_array<__nv_bfloat162> da(a), dout(32);
    bfloats<<<1, 32>>>(dout, da);
    const auto got = dout.host();
    for (int i = 0; i < 32; ++i) {
        for (int k = 0; k < 2; ++k) {
            const float x = static_cast<float>(k == 0 ? a[i].x : a[i].y);
            const auto round = [](double v) { return static_cast<double>(__bfloat162float(__double2bfloat16(v))); };
            const double want = round(round(static_cast<double>(x) * x) + round(static_cast<double>(x) * x + x));
            CHECK(static_cast<double>(static_cast<float>(k == 0 ? got[i].x : got[i].y)) == want);
        }
    }
    check::device_array<float> f(std::vector<float>(4, 0.0f));
    vector_red<<<2, 32>>>(f);
    const auto sums = f.host();
    for (int k = 0; k < 4; ++k) { CHECK(sums[k] == 64.0f * static_cast<float>(k + 1)); }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
