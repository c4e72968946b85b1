// A program that knows nothing of the emulator, built as any other: compressed PTX, and the toolkit's libcudart at link
// time.
#include <cstdio>

__global__ void square(int* x) { x[threadIdx.x] *= x[threadIdx.x]; }

int main()
{
    int host[32];
    for (int i = 0; i < 32; ++i) { host[i] = i; }
    int* device = nullptr;
    cudaMalloc(&device, sizeof host);
    cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    square<<<1, 32>>>(device);
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    int wrong = cudaGetLastError() != cudaSuccess;
    for (int i = 0; i < 32; ++i) { wrong += host[i] != i * i; }
    std::printf("wrong: %d\n", wrong);
    return wrong;
}
