// How fast the emulator is: thread-instructions a second of an elementwise kernel, with and without the race checker.
#include "control.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <ctime>

__global__ void axpy(float* out, const float* a, const float* b, int n, float s)
{
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += static_cast<int>(gridDim.x * blockDim.x)) {
        out[i] = a[i] * s + b[i] / (1.0f + a[i] * a[i]);
    }
}

int main()
{
    const int n = 1 << 20;
    float *a = nullptr, *b = nullptr, *out = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&a), n * sizeof(float));
    cudaMalloc(reinterpret_cast<void**>(&b), n * sizeof(float));
    cudaMalloc(reinterpret_cast<void**>(&out), n * sizeof(float));
    cudaMemset(a, 0, n * sizeof(float));
    cudaMemset(b, 0, n * sizeof(float));
    for (const bool races : {false, true}) {
        emulator_set("races", races ? 1 : 0);
        double best = 0;
        for (int k = 0; k < 5; ++k) {
            cudaDeviceSynchronize();
            emulator_clear_counters();
            const std::clock_t start = std::clock();  // of the processor, which others may use too
            axpy<<<64, 256>>>(out, a, b, n, 2.0f);
            if (cudaDeviceSynchronize() != cudaSuccess) { return 1; }
            const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
            const double rate = static_cast<double>(emulator_thread_instructions()) / seconds;
            best = rate > best ? rate : best;
        }
        std::printf("races %s: %.0f million thread-instructions a second\n", races ? "on" : "off", best / 1e6);
    }
    return emulator_report_count() == 0 ? 0 : 1;
}
