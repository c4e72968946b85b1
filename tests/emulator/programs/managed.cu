// __managed__ variables: one memory for the host and all devices, whoever comes first.
#include "programs/check.hpp"

__managed__ int counter = 5;
__managed__ float table[4] = {1, 2, 3, 4};
__managed__ int untouched;
__device__ int plain = 7;

__global__ void change()
{
    atomicAdd(&counter, plain);
    table[threadIdx.x % 4] += 1;
    if (threadIdx.x == 0) { untouched += 1; }
}

int main()
{
    change<<<1, 4>>>();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(counter == 5 + 4 * 7);
    CHECK(table[0] == 2 && table[3] == 5);
    counter = 1;
    cudaSetDevice(1);
    change<<<1, 4>>>();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(counter == 1 + 4 * 7);
    CHECK(table[0] == 3 && untouched == 2);
    int* address = nullptr;
    std::size_t size = 0;
    CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), counter) == cudaSuccess && address == &counter);
    CHECK(cudaGetSymbolSize(&size, table) == cudaSuccess && size == 16);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, &counter) == cudaSuccess);
    CHECK(attributes.type == cudaMemoryTypeManaged);
    CHECK(emulator_report_count() == 0);
    return check::result();
}
