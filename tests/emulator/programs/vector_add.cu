// The first program: a kernel, copies, the launch syntax, and errors that stay until they are read.
#include "programs/check.hpp"

__device__ int table[4] = {1, 2, 3, 4};
__device__ int* second = table + 1;
__constant__ float scale;

__global__ void add(float* out, const float* a, const float* b, int n)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) { out[i] = a[i] + scale * b[i] + static_cast<float>(*second); }
}

__global__ void write_index(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(threadIdx.x); }

int main()
{
    const int n = 1000;
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; ++i) { a[i] = static_cast<float>(i), b[i] = 0.5f * static_cast<float>(i); }
    check::device_array<float> da(a), db(b), out(n);
    const float two = 2;
    CHECK(cudaMemcpyToSymbol(scale, &two, sizeof two) == cudaSuccess);
    add<<<(n + 255) / 256, 256>>>(out, da, db, n);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    const auto got = out.host();
    for (int i = 0; i < n; ++i) { CHECK(got[i] == a[i] + 2 * b[i] + 2); }

    int three = 0;
    CHECK(cudaMemcpyFromSymbol(&three, table, sizeof three, 2 * sizeof(int)) == cudaSuccess);
    CHECK(three == 3);

    check::device_array<int> index(64);
    write_index<<<1, 2048>>>(index);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaSuccess);
    write_index<<<2, 32>>>(index);
    const auto indices = index.host();
    for (int i = 0; i < 64; ++i) { CHECK(indices[i] == i % 32); }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
