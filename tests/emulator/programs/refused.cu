// What is not implemented ends the program with its name, text and line; reports that nobody reads fail it.
#include "programs/in_child.hpp"

__global__ void unknown_opcode(int* p)
{
    asm volatile("tex.1d.v4.f32.f32 {%%f1, %%f2, %%f3, %%f4}, [%0, {%%f1}];" ::"l"(p));
}
__global__ void unknown_modifier(int* p)
{
    asm volatile("{.reg .b32 t; ld.global.L1::evict_last.L2::cache_hint.u32 t, [%0], %0;}" ::"l"(p));
}
__global__ void unknown_fence() { asm volatile("fence.proxy.tensormap::generic.release.gpu;"); }
__global__ void overrun(int* p) { p[1000] = 1; }

int main()
{
    expect(in_child([] { unknown_opcode<<<1, 1>>>(nullptr); }), "opcode tex is not implemented", "PTX line");
    expect(in_child([] { unknown_modifier<<<1, 1>>>(nullptr); }), "ld.global.L1::evict_last.L2::cache_hint.u32",
           "PTX line");
    expect(in_child([] { unknown_fence<<<1, 1>>>(); }), "fence.proxy.tensormap", "PTX line");
    expect(in_child([] {
               cudaArray_t array;
               cudaChannelFormatDesc format{};
               cudaMallocArray(&array, &format, 1, 1, 0);
           }),
           "cudaMallocArray is not implemented", "emulator:");
    expect(in_child([] {
               int* p = nullptr;
               cudaMalloc(reinterpret_cast<void**>(&p), 400);
               overrun<<<1, 1>>>(p);
               cudaDeviceSynchronize();
           }),
           "out of bounds", "exit status 86");
    return check::result();
}
