// The kernels of data-parallel steps as one writes them for one purpose: 16 bytes a thread, the number of ranks known
// to the compiler, addresses of peers among the arguments, ranks meeting inside of the kernel. Of plait only dropout's
// random words, so that both sides drop the same.
#pragma once

#include <plait/core/philox.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace by_hand {

inline constexpr int threads = 256;

/// One pointer for each rank.
template <class T, int Ranks>
struct of_ranks {
    T* p[Ranks];
};

/// Where blocks of equal number on all ranks meet.
template <int Ranks>
struct rendezvous {
    unsigned* signals[Ranks];  // [block][rank]
    unsigned* epochs;          // [block]
    int rank;
};

template <int Ranks>
__device__ void meet(const rendezvous<Ranks>& m)
{
    __syncthreads();
    unsigned epoch = 0;
    if (threadIdx.x < Ranks) {
        epoch = m.epochs[blockIdx.x] + 1;
        const int peer = static_cast<int>(threadIdx.x);
        if (peer != m.rank) {
            unsigned* const to = m.signals[peer] + blockIdx.x * Ranks + m.rank;
            asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(epoch)
                         : "memory");
            const std::size_t from = __cvta_generic_to_global(m.signals[m.rank] + blockIdx.x * Ranks + peer);
            unsigned seen = 0;
            do {
                asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(from) : "memory");
            } while (static_cast<int>(seen - epoch) < 0);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) { m.epochs[blockIdx.x] = epoch; }
}

__device__ inline float4 operator+(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

/// The sum of element i of all ranks.
template <int Ranks>
__device__ float4 sum_of(const of_ranks<const float4, Ranks>& g, unsigned i)
{
    float4 all[Ranks];
#pragma unroll
    for (int r = 0; r < Ranks; ++r) { all[r] = g.p[r][i]; }
    float4 sum = all[0];
#pragma unroll
    for (int r = 1; r < Ranks; ++r) { sum = sum + all[r]; }
    return sum;
}
template <int Ranks, class T>
__device__ void store_to_all(const of_ranks<T, Ranks>& to, unsigned i, T x)
{
#pragma unroll
    for (int r = 0; r < Ranks; ++r) { to.p[r][i] = x; }
}

struct sgd_numbers {
    float lr, momentum, weight_decay, inverse_ranks;
};

/// g: this rank's slice in all ranks' gradients; p: in all ranks' parameters, of which the first is its own.
template <int Ranks>
__global__ void __launch_bounds__(threads)
    sgd_kernel(const __grid_constant__ of_ranks<const float4, Ranks> g,
               const __grid_constant__ of_ranks<float4, Ranks> p, float4* __restrict__ m, unsigned n,
               const __grid_constant__ sgd_numbers a, const __grid_constant__ rendezvous<Ranks> before,
               const __grid_constant__ rendezvous<Ranks> after)
{
    meet(before);
    const float minus_lr = -a.lr;
    for (unsigned i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
        const float4 sum = sum_of(g, i);
        float4 m4 = m[i], p4 = p.p[0][i];
        const auto one = [&](float x, float& mi, float& pi) {
            x *= a.inverse_ranks;
            mi = a.momentum * mi + (x + a.weight_decay * pi);
            pi += minus_lr * mi;
        };
        one(sum.x, m4.x, p4.x), one(sum.y, m4.y, p4.y), one(sum.z, m4.z, p4.z), one(sum.w, m4.w, p4.w);
        m[i] = m4;
        store_to_all(p, i, p4);
    }
    meet(after);
}

struct adam_numbers {
    float minus_lr, beta1, beta2, eps, inverse_c1, inverse_c2, inverse_ranks;
};
__device__ inline void adam_element(const adam_numbers& a, float x, float& m, float& v, float& p)
{
    x *= a.inverse_ranks;
    m = a.beta1 * m + (1 - a.beta1) * x;
    v = a.beta2 * v + (1 - a.beta2) * x * x;
    p += a.minus_lr * ((m * a.inverse_c1) / (sqrtf(v * a.inverse_c2) + a.eps));
}

template <int Ranks>
__global__ void __launch_bounds__(threads)
    adam_kernel(const __grid_constant__ of_ranks<const float4, Ranks> g,
                const __grid_constant__ of_ranks<float4, Ranks> p, float4* __restrict__ m, float4* __restrict__ v,
                unsigned n, const __grid_constant__ adam_numbers a, const __grid_constant__ rendezvous<Ranks> before,
                const __grid_constant__ rendezvous<Ranks> after)
{
    meet(before);
    for (unsigned i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
        const float4 sum = sum_of(g, i);
        float4 m4 = m[i], v4 = v[i], p4 = p.p[0][i];
        adam_element(a, sum.x, m4.x, v4.x, p4.x);
        adam_element(a, sum.y, m4.y, v4.y, p4.y);
        adam_element(a, sum.z, m4.z, v4.z, p4.z);
        adam_element(a, sum.w, m4.w, v4.w, p4.w);
        m[i] = m4;
        v[i] = v4;
        store_to_all(p, i, p4);
    }
    meet(after);
}

/// Gradients in f16, whose sum is rounded to f16 (as an all_reduce of f16 does); the model's copy in bf16; f32 state.
/// Eight elements a thread: 16 bytes of the halves.
template <int Ranks>
__global__ void __launch_bounds__(threads)
    adam_mixed_kernel(const __grid_constant__ of_ranks<const uint4, Ranks> g,
                      const __grid_constant__ of_ranks<uint4, Ranks> model, float4* __restrict__ p,
                      float4* __restrict__ m, float4* __restrict__ v, unsigned n,
                      const __grid_constant__ adam_numbers a, const __grid_constant__ rendezvous<Ranks> before,
                      const __grid_constant__ rendezvous<Ranks> after)
{
    meet(before);
    for (unsigned i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
        uint4 all[Ranks];
#pragma unroll
        for (int r = 0; r < Ranks; ++r) { all[r] = g.p[r][i]; }
        float4 p4[2] = {p[2 * i], p[2 * i + 1]}, m4[2] = {m[2 * i], m[2 * i + 1]}, v4[2] = {v[2 * i], v[2 * i + 1]};
        uint4 copy;
#pragma unroll
        for (int h = 0; h < 4; ++h) {
            float2 sum = __half22float2(reinterpret_cast<const __half2*>(&all[0])[h]);
#pragma unroll
            for (int r = 1; r < Ranks; ++r) {
                const float2 next = __half22float2(reinterpret_cast<const __half2*>(&all[r])[h]);
                sum.x += next.x;
                sum.y += next.y;
            }
            sum = __half22float2(__float22half2_rn(sum));
            float* const pi = reinterpret_cast<float*>(p4) + 2 * h;
            float* const mi = reinterpret_cast<float*>(m4) + 2 * h;
            float* const vi = reinterpret_cast<float*>(v4) + 2 * h;
            adam_element(a, sum.x, mi[0], vi[0], pi[0]);
            adam_element(a, sum.y, mi[1], vi[1], pi[1]);
            reinterpret_cast<__nv_bfloat162*>(&copy)[h] = __floats2bfloat162_rn(pi[0], pi[1]);
        }
        p[2 * i] = p4[0], p[2 * i + 1] = p4[1];
        m[2 * i] = m4[0], m[2 * i + 1] = m4[1];
        v[2 * i] = v4[0], v[2 * i + 1] = v4[1];
        store_to_all(model, i, copy);
    }
    meet(after);
}

/// y = residual + dropout(all_reduce(x) + bias), on this rank's rows, to all; `first` is the first element's global
/// index.
template <int Ranks>
__global__ void __launch_bounds__(threads)
    epilogue_kernel(const __grid_constant__ of_ranks<const float4, Ranks> x, const float4* __restrict__ bias,
                    const float4* __restrict__ residual, const __grid_constant__ of_ranks<float4, Ranks> y, unsigned n,
                    unsigned width, std::uint64_t first, std::uint64_t seed, std::uint64_t threshold, float keep,
                    const __grid_constant__ rendezvous<Ranks> before, const __grid_constant__ rendezvous<Ranks> after)
{
    meet(before);
    for (unsigned i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
        const float4 sum = sum_of(x, i);
        const float4 b = bias[i % width], r = residual[i];
        const plait::philox_block words = plait::detail::philox_block_at(seed, first / 4 + i);
        const auto one = [&](float s, float bi, float ri, std::uint32_t word) {
            return ri + (word >= threshold ? (s + bi) / keep : 0.0F);
        };
        store_to_all(y, i,
                     float4{one(sum.x, b.x, r.x, words.word[0]), one(sum.y, b.y, r.y, words.word[1]),
                            one(sum.z, b.z, r.z, words.word[2]), one(sum.w, b.w, r.w, words.word[3])});
    }
    meet(after);
}

/// The sums that a norm needs, per tile of 1024 elements, as plait defines them: in f64, so that any number of ranks,
/// blocks and schedules gives the same bits for the same parts.
struct norm_sums {
    double* tiles;      // [2][tiles]
    double* parts;      // [2], of this rank, which others read
    unsigned* arrived;  // blocks
    unsigned n_tiles;
};
__device__ inline double sum_of_warp(double x)
{
    for (int half = 16; half > 0; half /= 2) { x += __shfl_xor_sync(0xffff'ffffU, x, half); }
    return x;
}

struct lamb_numbers {
    adam_numbers adam;
    float weight_decay;
};

/// The first half of LAMB: moments and direction of this rank's slice, and its parts of the two norms.
template <int Ranks>
__global__ void __launch_bounds__(threads)
    lamb_direction_kernel(const __grid_constant__ of_ranks<const float4, Ranks> g, const float4* __restrict__ p,
                          float4* __restrict__ m, float4* __restrict__ v, float4* __restrict__ u, unsigned n,
                          const __grid_constant__ lamb_numbers a, const __grid_constant__ norm_sums s,
                          const __grid_constant__ rendezvous<Ranks> before)
{
    meet(before);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (unsigned t = blockIdx.x * (threads / 32) + warp; t < s.n_tiles; t += gridDim.x * (threads / 32)) {
        double pp = 0, uu = 0;
        const unsigned end = min(n, (t + 1) * 256);
        for (unsigned i = t * 256 + lane; i < end; i += 32) {
            const float4 sum = sum_of(g, i);
            float4 m4 = m[i], v4 = v[i], p4 = p[i], u4;
            const auto one = [&](float x, float& mi, float& vi, float pi, float& ui) {
                x *= a.adam.inverse_ranks;
                mi = a.adam.beta1 * mi + (1 - a.adam.beta1) * x;
                vi = a.adam.beta2 * vi + (1 - a.adam.beta2) * x * x;
                ui = (mi * a.adam.inverse_c1) / (sqrtf(vi * a.adam.inverse_c2) + a.adam.eps) + a.weight_decay * pi;
                pp += static_cast<double>(pi * pi);
                uu += static_cast<double>(ui * ui);
            };
            one(sum.x, m4.x, v4.x, p4.x, u4.x), one(sum.y, m4.y, v4.y, p4.y, u4.y);
            one(sum.z, m4.z, v4.z, p4.z, u4.z), one(sum.w, m4.w, v4.w, p4.w, u4.w);
            m[i] = m4;
            v[i] = v4;
            u[i] = u4;
        }
        pp = sum_of_warp(pp);
        uu = sum_of_warp(uu);
        if (lane == 0) { s.tiles[t] = pp, s.tiles[s.n_tiles + t] = uu; }
    }
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(s.arrived, 1U) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) { return; }
    __shared__ double by_warp[2][threads / 32];
    double sums[2] = {0, 0};
    for (unsigned t = threadIdx.x; t < s.n_tiles; t += threads) {
        sums[0] += s.tiles[t], sums[1] += s.tiles[s.n_tiles + t];
    }
    for (int k = 0; k < 2; ++k) {
        sums[k] = sum_of_warp(sums[k]);
        if (lane == 0) { by_warp[k][warp] = sums[k]; }
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        double x = 0;
        for (int w = 0; w < threads / 32; ++w) { x += by_warp[threadIdx.x][w]; }
        s.parts[threadIdx.x] = x;
    }
    if (threadIdx.x == 0) { *s.arrived = 0; }
}

/// The second half: the trust ratio from all ranks' parts, and the step to all.
template <int Ranks>
__global__ void __launch_bounds__(threads)
    lamb_step_kernel(const float4* __restrict__ u, const __grid_constant__ of_ranks<float4, Ranks> p,
                     const __grid_constant__ of_ranks<const double, Ranks> parts, unsigned n, float lr,
                     const __grid_constant__ rendezvous<Ranks> before, const __grid_constant__ rendezvous<Ranks> after)
{
    meet(before);
    float norms[2] = {0, 0};
#pragma unroll
    for (int r = 0; r < Ranks; ++r) {
        norms[0] += static_cast<float>(parts.p[r][0]);
        norms[1] += static_cast<float>(parts.p[r][1]);
    }
    const float p_norm = sqrtf(norms[0]), u_norm = sqrtf(norms[1]);
    const float scale = -lr * (p_norm > 0 && u_norm > 0 ? p_norm / u_norm : 1.0F);
    for (unsigned i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
        const float4 u4 = u[i];
        float4 p4 = p.p[0][i];
        p4.x += scale * u4.x, p4.y += scale * u4.y, p4.z += scale * u4.z, p4.w += scale * u4.w;
        store_to_all(p, i, p4);
    }
    meet(after);
}

/// y = rms_norm(residual + all_reduce(x)) * gamma of this rank's rows, to all; a warp per row, which it holds in
/// registers.
template <int Ranks, int Width>
__global__ void __launch_bounds__(threads)
    rms_norm_kernel(const __grid_constant__ of_ranks<const float4, Ranks> x, const float4* __restrict__ residual,
                    const float4* __restrict__ gamma, const __grid_constant__ of_ranks<float4, Ranks> y, unsigned rows,
                    float eps, const __grid_constant__ rendezvous<Ranks> before,
                    const __grid_constant__ rendezvous<Ranks> after)
{
    constexpr unsigned each = Width / 128;
    meet(before);
    const unsigned lane = threadIdx.x % 32;
    for (unsigned row = blockIdx.x * (threads / 32) + threadIdx.x / 32; row < rows; row += gridDim.x * (threads / 32)) {
        float4 h[each];
        float sum = 0;
#pragma unroll
        for (unsigned k = 0; k < each; ++k) {
            const unsigned i = row * (Width / 4) + k * 32 + lane;
            h[k] = sum_of(x, i) + residual[i];
            sum += h[k].x * h[k].x + h[k].y * h[k].y + h[k].z * h[k].z + h[k].w * h[k].w;
        }
        for (int half = 16; half > 0; half /= 2) { sum += __shfl_xor_sync(0xffff'ffffU, sum, half); }
        const float scale = rsqrtf(sum / Width + eps);
#pragma unroll
        for (unsigned k = 0; k < each; ++k) {
            const float4 c = gamma[k * 32 + lane];
            store_to_all(
                y, row * (Width / 4) + k * 32 + lane,
                float4{h[k].x * scale * c.x, h[k].y * scale * c.y, h[k].z * scale * c.z, h[k].w * scale * c.w});
        }
    }
    meet(after);
}

}  // namespace by_hand
