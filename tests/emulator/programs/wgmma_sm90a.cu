// wgmma: operands laid out by hand as PTX's "Canonical Layouts" say, and what must not be done.
#include "programs/check.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using u64 = std::uint64_t;
using u32 = std::uint32_t;
using u16 = std::uint16_t;

enum mistake { none, no_proxy_fence, early_read, no_fence, early_write, late_proxy_fence, no_wait };

constexpr int n_elements = 4096;

// D = A B + C with 64 x 16 elements, 8 of them in each thread's registers.
template <int TransposedA, int TransposedB, bool IsBfloat, int NegatedA = 1>
__global__ void product(float* d, const float* c, const u16* elements, u64 a, u64 b, int mistake)
{
    __shared__ alignas(128) u16 tile[n_elements];
    const u64 begin = __cvta_generic_to_shared(tile) / 16;  // descriptors are given relative to it
    a += begin;
    b += begin;
    for (int k = static_cast<int>(threadIdx.x); k < n_elements; k += 128) { tile[k] = elements[k]; }
    if (mistake != no_proxy_fence && mistake != late_proxy_fence) { asm volatile("fence.proxy.async;" ::: "memory"); }
    __syncthreads();
    if (mistake == late_proxy_fence) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
    float x[8];
    for (int k = 0; k < 8; ++k) { x[k] = c[threadIdx.x * 8 + k]; }
    if (mistake != no_fence) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
#define PRODUCT(type)                                                                                       \
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32." type "." type                               \
                 " {%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, 1, %10, 1, %11, %12;"                                  \
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), "+f"(x[7]) \
                 : "l"(a), "l"(b), "n"(NegatedA), "n"(TransposedA), "n"(TransposedB)                          \
                 : "memory")
    if constexpr (IsBfloat) { PRODUCT("bf16"); }
    else { PRODUCT("f16"); }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (mistake == early_read) { asm volatile("st.global.f32 [%0], %1;" ::"l"(d), "f"(x[0]) : "memory"); }
    if (mistake == early_write) { tile[threadIdx.x] = 0; }
    if (mistake == no_wait) { return; }
    // In place, so that the compiler copies no register before the wait.
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), "+f"(x[7])
                 :
                 : "memory");
    for (int k = 0; k < 8; ++k) { d[threadIdx.x * 8 + k] = x[k]; }
}

u16 bits_of(float x, bool bfloat)
{
    return bfloat ? static_cast<__nv_bfloat16_raw>(__nv_bfloat16(x)).x : static_cast<__half_raw>(__half(x)).x;
}
float A(int row, int k) { return static_cast<float>((row * 3 + k * 5) % 11 - 5); }
float B(int k, int column) { return static_cast<float>((k * 7 + column * 2) % 9 - 4); }

u64 descriptor(u64 start, u64 leading, u64 stride) { return start / 16 | leading / 16 << 16 | stride / 16 << 32; }

// Where elements lie, in elements. A of 64 x 16 begins at 0, B of 16 x 16 at 2560 = byte 5120.
// K-major ((8,m),(8,2)):((8,SBO),(1,LBO)): A has core matrices of 64 elements, neighbours along k (LBO 64), and 144 from
// eight rows to the next; B has them in the other order, 320 between the halves of k (LBO), 96 between columns (SBO).
int a_along_k(int row, int k) { return row % 8 * 8 + row / 8 * 144 + k % 8 + k / 8 * 64; }
int b_along_k(int column, int k) { return 2560 + column % 8 * 8 + column / 8 * 96 + k % 8 + k / 8 * 320; }
// MN-major ((8,1,m),(8,2)):((1,8,SBO),(8,LBO)): as in the ISA's example of bf16 for B: LBO 128, SBO 64; A has all rows of
// half of k, then the other: SBO 64, LBO 600.
int a_along_rows(int row, int k) { return row % 8 + row / 8 * 64 + k % 8 * 8 + k / 8 * 600; }
int b_along_columns(int column, int k) { return 2560 + column % 8 + column / 8 * 64 + k % 8 * 8 + k / 8 * 128; }

struct result_of {
    std::vector<float> d;
    cudaError_t error;
};

template <int TA, int TB, bool IsBfloat = false, int NegatedA = 1>
result_of run(u64 a, u64 b, int mistake = none, int threads = 128)
{
    std::vector<u16> elements(n_elements, bits_of(100.0F, IsBfloat));
    for (int k = 0; k < 16; ++k) {
        for (int row = 0; row < 64; ++row) { elements[TA ? a_along_rows(row, k) : a_along_k(row, k)] = bits_of(A(row, k), IsBfloat); }
        for (int c = 0; c < 16; ++c) { elements[TB ? b_along_columns(c, k) : b_along_k(c, k)] = bits_of(B(k, c), IsBfloat); }
    }
    std::vector<float> c(1024);
    for (int k = 0; k < 1024; ++k) { c[k] = static_cast<float>(k % 17); }
    check::device_array<u16> given(elements);
    check::device_array<float> dc(c), d(1024);
    product<TA, TB, IsBfloat, NegatedA><<<1, threads>>>(d, dc, given, a, b, mistake);
    const cudaError_t error = cudaDeviceSynchronize();
    return {error == cudaSuccess ? d.host() : std::vector<float>{}, error};
}

u64 const a_rows = descriptor(0, 128, 288), a_columns = descriptor(0, 1200, 128);
u64 const b_columns = descriptor(5120, 640, 192), b_rows = descriptor(5120, 256, 128);

void test_values(const result_of& r, float sign)
{
    CHECK(r.error == cudaSuccess);
    CHECK(emulator_report_count() == 0);
    for (int t = 0; t < 128 && !r.d.empty(); ++t) {
        for (int k = 0; k < 8; ++k) {
            // Warp t / 32 has rows 16 (t / 32) and on; registers 0, 1 row t % 32 / 4, 2, 3 eight below, 4 to 7 eight columns on.
            const int row = t / 32 * 16 + t % 32 / 4 + k / 2 % 2 * 8;
            const int column = t % 4 * 2 + k % 2 + k / 4 * 8;
            float sum = static_cast<float>((t * 8 + k) % 17);
            for (int j = 0; j < 16; ++j) { sum += sign * A(row, j) * B(j, column); }
            CHECK(r.d[t * 8 + k] == sum);
        }
    }
}

template <class Run>
void test_mistake(const char* rule, const char* text, Run&& run)
{
    run();
    if (!CHECK(check::reported(rule, text))) {
        std::printf("   of %s, %s: %s\n", rule, text, emulator_report_count() > 0 ? emulator_report(0) : "nothing");
    }
    emulator_clear_reports();
    cudaDeviceReset();  // a faulted kernel leaves the device in error
}

int main()
{
    test_values(run<0, 0>(a_rows, b_columns), 1);
    test_values(run<0, 1>(a_rows, b_rows), 1);
    test_values(run<1, 0>(a_columns, b_columns), 1);
    test_values(run<1, 1>(a_columns, b_rows), 1);
    test_values(run<0, 1, true>(a_rows, b_rows), 1);
    test_values(run<0, 0, false, -1>(a_rows, b_columns), -1);
    test_values(run<0, 0>(a_rows, b_columns, late_proxy_fence), 1);

    check::quiet();
    const auto mistaken = [](int m) { return [m] { run<0, 0>(a_rows, b_columns, m); }; };
    test_mistake("race", "without fence.proxy.async", mistaken(no_proxy_fence));
    test_mistake("race", "before wgmma.wait_group", mistaken(early_read));
    test_mistake("invalid", "without wgmma.fence", mistaken(no_fence));
    test_mistake("race", "", mistaken(early_write));
    test_mistake("invalid", "ends before wgmma.wait_group", mistaken(no_wait));
    const auto described = [](u64 a) { return [a] { CHECK(run<0, 0>(a, b_columns).error != cudaSuccess); }; };
    test_mistake("invalid", "must be 0", described(a_rows | u64{1} << 15));
    test_mistake("invalid", "swizzled", described(a_rows | u64{1} << 62));
    test_mistake("invalid", "base offset", described(a_rows | u64{1} << 49));
    test_mistake("out of bounds", "shared memory", described(descriptor(8192, 128, 288)));
    return check::result();
}
