// Ranks as threads of the host: their kernels wait for each other, and so do the threads.
#include "programs/check.hpp"

#include <chrono>
#include <thread>

__global__ void meet(volatile int* mine, volatile int* other, int* out)
{
    *mine = 1;
    while (*other == 0) {}
    *out = 5;
}

int main()
{
    for (unsigned seed = 1; seed <= 10; ++seed) {
        emulator_set_seed(seed);
        int* flags = nullptr;
        int* out = nullptr;
        cudaMalloc(reinterpret_cast<void**>(&flags), 8);
        cudaMalloc(reinterpret_cast<void**>(&out), 8);
        cudaMemset(flags, 0, 8);
        cudaDeviceSynchronize();
        cudaError_t errors[2] = {};
        const auto rank = [&](int r) {
            cudaSetDevice(r);
            if (r == 1) { cudaDeviceEnablePeerAccess(0, 0); }
            if (r == 1) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }  // the other waits already
            meet<<<1, 1>>>(flags + r, flags + 1 - r, out + r);
            errors[r] = cudaDeviceSynchronize();
        };
        std::thread first(rank, 0), second(rank, 1);
        first.join();
        second.join();
        CHECK(errors[0] == cudaSuccess && errors[1] == cudaSuccess);
        int got[2] = {};
        cudaMemcpy(got, out, 8, cudaMemcpyDeviceToHost);
        CHECK(got[0] == 5 && got[1] == 5);
        cudaFree(flags);
        cudaFree(out);
    }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
