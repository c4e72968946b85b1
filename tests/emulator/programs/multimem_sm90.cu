// Code with a multicast path runs where no multicast memory is, as long as it does not take it.
#include "programs/check.hpp"

__global__ void add(unsigned* p, bool multicast)
{
    if (multicast) {
        asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(p) : "memory");
    } else {
        atomicAdd(p, 1);
    }
}

int main()
{
    check::device_array<unsigned> sum(1);
    cudaMemset(sum, 0, 4);
    add<<<1, 32>>>(sum, false);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(sum.host()[0] == 32);
    CHECK(emulator_report_count() == 0);
    check::quiet();
    add<<<1, 32>>>(sum, true);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(check::reported("out of bounds", "no multicast memory"));
    emulator_clear_reports();
    return check::result();
}
