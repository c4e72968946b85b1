// Tensor cores: fragments of mma.sync against a host product, and a gemm with cp.async, ldmatrix and mma.sync.
#include "programs/check.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using u32 = std::uint32_t;
using u16 = std::uint16_t;

__global__ void product_f16(float* d, const u32* a, const u32* b, const float* c)
{
    const unsigned l = threadIdx.x;
    float x[4];
    for (int k = 0; k < 4; ++k) { x[k] = c[l * 4 + k]; }
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
        : "r"(a[l * 4]), "r"(a[l * 4 + 1]), "r"(a[l * 4 + 2]), "r"(a[l * 4 + 3]), "r"(b[l * 2]), "r"(b[l * 2 + 1]));
    for (int k = 0; k < 4; ++k) { d[l * 4 + k] = x[k]; }
}
__global__ void product_bf16_k8(float* d, const u32* a, const u32* b, const float* c)
{
    const unsigned l = threadIdx.x;
    float x[4];
    for (int k = 0; k < 4; ++k) { x[k] = c[l * 4 + k]; }
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
                 : "r"(a[l * 2]), "r"(a[l * 2 + 1]), "r"(b[l]));
    for (int k = 0; k < 4; ++k) { d[l * 4 + k] = x[k]; }
}
__global__ void product_tf32(float* d, const float* a, const float* b)
{
    const unsigned l = threadIdx.x;
    const unsigned g = l / 4, t = l % 4;
    float x[4] = {};
    const auto bits = [](float f) { return __float_as_uint(f); };
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
        : "r"(bits(a[g * 8 + t])), "r"(bits(a[(g + 8) * 8 + t])), "r"(bits(a[g * 8 + t + 4])),
          "r"(bits(a[(g + 8) * 8 + t + 4])), "r"(bits(b[t * 8 + g])), "r"(bits(b[(t + 4) * 8 + g])));
    d[g * 8 + 2 * t] = x[0], d[g * 8 + 2 * t + 1] = x[1], d[(g + 8) * 8 + 2 * t] = x[2],
                  d[(g + 8) * 8 + 2 * t + 1] = x[3];
}
__global__ void load_matrices(u32* out, u32* transposed)
{
    __shared__ u16 tile[16 * 16];
    for (unsigned k = threadIdx.x; k < 256; k += 32) { tile[k] = static_cast<u16>(k); }
    __syncwarp();
    const auto at = static_cast<u32>(__cvta_generic_to_shared(&tile[(threadIdx.x % 16) * 16 + threadIdx.x / 16 * 8]));
    u32 r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
    for (int k = 0; k < 4; ++k) { out[threadIdx.x * 4 + k] = r[k]; }
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
    for (int k = 0; k < 4; ++k) { transposed[threadIdx.x * 4 + k] = r[k]; }
}

u16 half_bits(int n) { return static_cast<__half_raw>(__half(static_cast<float>(n))).x; }
u16 bfloat_bits(int n) { return static_cast<__nv_bfloat16_raw>(__nv_bfloat16(static_cast<float>(n))).x; }

void test_fragments()
{
    const auto A = [](int r, int k) { return (r * 3 + k * 5) % 11 - 5; };
    const auto B = [](int k, int c) { return (k * 7 + c * 2) % 9 - 4; };
    std::vector<u32> a(128), b(64), a8(64), b8(32);
    std::vector<float> c(128), zero(128);
    for (int l = 0; l < 32; ++l) {
        const int g = l / 4, t = l % 4;
        for (int r = 0; r < 4; ++r) {  // register r of A: row g or g + 8, columns 2t or 2t + 8
            const int row = g + r % 2 * 8, k = 2 * t + r / 2 * 8;
            a[l * 4 + r] = half_bits(A(row, k)) | u32{half_bits(A(row, k + 1))} << 16;
            if (r < 2) { a8[l * 2 + r] = bfloat_bits(A(row, k)) | u32{bfloat_bits(A(row, k + 1))} << 16; }
        }
        for (int r = 0; r < 2; ++r) {
            const int k = 2 * t + r * 8;
            b[l * 2 + r] = half_bits(B(k, g)) | u32{half_bits(B(k + 1, g))} << 16;
            if (r == 0) { b8[l] = bfloat_bits(B(k, g)) | u32{bfloat_bits(B(k + 1, g))} << 16; }
        }
        for (int k = 0; k < 4; ++k) { c[l * 4 + k] = static_cast<float>(l - k); }
    }
    check::device_array<u32> da(a), db(b), da8(a8), db8(b8);
    check::device_array<float> dc(c), d(128);
    const auto compare = [&](int depth) {
        const auto got = d.host();
        for (int l = 0; l < 32; ++l) {
            for (int k = 0; k < 4; ++k) {
                const int row = l / 4 + k / 2 * 8, column = 2 * (l % 4) + k % 2;
                float sum = c[l * 4 + k];
                for (int j = 0; j < depth; ++j) { sum += static_cast<float>(A(row, j) * B(j, column)); }
                CHECK(got[l * 4 + k] == sum);
            }
        }
    };
    product_f16<<<1, 32>>>(d, da, db, dc);
    compare(16);
    product_bf16_k8<<<1, 32>>>(d, da8, db8, dc);
    compare(8);
    std::vector<float> fa(128), fb(64);
    for (int r = 0; r < 16; ++r) {
        for (int k = 0; k < 8; ++k) {
            fa[r * 8 + k] = static_cast<float>(A(r, k)), fb[k * 8 + r % 8] = static_cast<float>(B(k, r % 8));
        }
    }
    check::device_array<float> dfa(fa), dfb(fb);
    product_tf32<<<1, 32>>>(d, dfa, dfb);
    const auto got = d.host();
    for (int r = 0; r < 16; ++r) {
        for (int col = 0; col < 8; ++col) {
            float sum = 0;
            for (int k = 0; k < 8; ++k) { sum += static_cast<float>(A(r, k) * B(k, col)); }
            CHECK(got[r * 8 + col] == sum);
        }
    }
}

void test_ldmatrix()
{
    check::device_array<u32> out(128), transposed(128);
    load_matrices<<<1, 32>>>(out, transposed);
    const auto o = out.host(), t = transposed.host();
    for (u32 l = 0; l < 32; ++l) {
        for (u32 m = 0; m < 4; ++m) {
            const u32 row0 = m % 2 * 8, column0 = m / 2 * 8;
            const auto element = [&](u32 r, u32 c) { return (row0 + r) * 16 + column0 + c; };
            CHECK(o[l * 4 + m] == (element(l / 4, l % 4 * 2) | element(l / 4, l % 4 * 2 + 1) << 16));
            CHECK(t[l * 4 + m] == (element(l % 4 * 2, l / 4) | element(l % 4 * 2 + 1, l / 4) << 16));
        }
    }
}

// C = A B in tiles of 64 x 32, two stages of cp.async; Wait false takes the wait for the copies away.
template <bool Wait>
__global__ void __launch_bounds__(128) gemm(const __half* A, const __half* B, float* C, int N, int K)
{
    constexpr int BM = 64, BN = 32, BK = 32;
    __shared__ alignas(16) __half sA[2][BM * BK];
    __shared__ alignas(16) __half sB[2][BK * BN];
    const int bm = static_cast<int>(blockIdx.y) * BM, bn = static_cast<int>(blockIdx.x) * BN;
    const int t = static_cast<int>(threadIdx.x), w = t / 32, l = t % 32;
    float c[4][4] = {};
    const auto address = [](const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); };
    const auto copy = [&](const void* to, const void* from) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory");
    };
    const auto load = [&](int stage, int k0) {
        for (int i = t; i < BM * BK / 8; i += 128) { copy(&sA[stage][i * 8], A + (bm + i / 4) * K + k0 + i % 4 * 8); }
        for (int i = t; i < BK * BN / 8; i += 128) { copy(&sB[stage][i * 8], B + (k0 + i / 4) * N + bn + i % 4 * 8); }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    load(0, 0);
    for (int k = 0; k < K / BK; ++k) {
        if (k + 1 < K / BK) {
            load((k + 1) % 2, (k + 1) * BK);
            if (Wait) { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
        } else if (Wait) {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        for (int kk = 0; kk < BK; kk += 16) {
            u32 a[4];
            const u32 at = address(&sA[k % 2][(w * 16 + l % 16) * BK + kk + l / 16 * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                         : "r"(at)
                         : "memory");
            for (int n = 0; n < 4; ++n) {
                u32 b[2];
                const u32 bt = address(&sB[k % 2][(kk + l % 16) * BN + n * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                             : "=r"(b[0]), "=r"(b[1])
                             : "r"(bt)
                             : "memory");
                asm volatile(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                    "{%0,%1,%2,%3};"
                    : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
                    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
            }
        }
        __syncthreads();
    }
    for (int n = 0; n < 4; ++n) {
        float* p = C + (bm + w * 16 + l / 4) * N + bn + n * 8 + l % 4 * 2;
        *reinterpret_cast<float2*>(p) = make_float2(c[n][0], c[n][1]);
        *reinterpret_cast<float2*>(p + 8 * N) = make_float2(c[n][2], c[n][3]);
    }
}

void test_gemm()
{
    constexpr int M = 128, N = 64, K = 96;
    std::vector<__half> a(M * K), b(K * N);
    for (int i = 0; i < M * K; ++i) { a[i] = __half(static_cast<float>(i * 7 % 13 - 6)); }
    for (int i = 0; i < K * N; ++i) { b[i] = __half(static_cast<float>(i * 5 % 17 - 8)); }
    std::vector<float> expected(M * N);
    for (int r = 0; r < M; ++r) {
        for (int k = 0; k < K; ++k) {
            for (int c = 0; c < N; ++c) {
                expected[r * N + c] += static_cast<float>(a[r * K + k]) * static_cast<float>(b[k * N + c]);
            }
        }
    }
    check::device_array<__half> da(a), db(b);
    check::device_array<float> c(M * N);
    for (unsigned seed = 0; seed < 4; ++seed) {
        emulator_set_seed(seed);
        gemm<true><<<dim3(N / 32, M / 64), 128>>>(da, db, c, N, K);
        CHECK(c.host() == expected);
    }
    CHECK(emulator_report_count() == 0);
    check::quiet();
    gemm<false><<<dim3(N / 32, M / 64), 128>>>(da, db, c, N, K);
    CHECK(c.host() != expected);  // without the wait the copies have not landed
    CHECK(check::reported("uninitialised read", "shared memory"));
}

int main()
{
    test_fragments();
    test_ldmatrix();
    test_gemm();
    return check::result();
}
