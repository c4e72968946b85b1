// What a good engineer would write without plait: the baseline, a fused loop, and the bare memory traffic of that loop.
// Nothing of plait in here but the slices' bounds and the communicator.
#pragma once

#include <plait/core/slice.hpp>
#include <plait/fabric/threads.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace bench {

struct adam_numbers {
    float lr, beta1, beta2, eps, inverse_c1, inverse_c2, inverse_ranks;
};

/// Adam in a single pass over whole buffers: m, v, p from the averaged gradient g.
inline void adam_pass(const float* __restrict g, float* __restrict m, float* __restrict v, float* __restrict p,
                      std::size_t n, adam_numbers a)
{
    for (std::size_t i = 0; i < n; ++i) {
        const float x = g[i];
        const float m1 = a.beta1 * m[i] + (1 - a.beta1) * x;
        const float v1 = a.beta2 * v[i] + (1 - a.beta2) * x * x;
        m[i] = m1;
        v[i] = v1;
        p[i] -= a.lr * ((m1 * a.inverse_c1) / (std::sqrt(v1 * a.inverse_c2) + a.eps));
    }
}

/// out = scale * (g[0] + ... + g[Ranks - 1])
template <int Ranks>
inline void average(const float* const* g, std::size_t offset, float* __restrict out, std::size_t n, float scale)
{
    const float* __restrict g0 = g[0] + offset;
    const float* __restrict g1 = g[1] + offset;
    const float* __restrict g2 = g[Ranks > 2 ? 2 : 0] + offset;
    const float* __restrict g3 = g[Ranks > 2 ? 3 : 0] + offset;
    for (std::size_t i = 0; i < n; ++i) {
        float sum = g0[i] + g1[i];
        if constexpr (Ranks > 2) { sum = sum + g2[i] + g3[i]; }
        out[i] = sum * scale;
    }
}

/// Adam on slices, fused with both collectives: reads all ranks' gradients, keeps own m and v, gives the new parameters
/// to `own` and to `copy` (of the next rank, or a buffer on the way to several).
template <int Ranks>
[[gnu::noinline]] void fused_pass(const float* const* g, std::size_t offset, float* __restrict m, float* __restrict v,
                                  float* __restrict own, float* __restrict copy, std::size_t n, adam_numbers a)
{
    const float* __restrict g0 = g[0] + offset;
    const float* __restrict g1 = g[1] + offset;
    const float* __restrict g2 = g[Ranks > 2 ? 2 : 0] + offset;
    const float* __restrict g3 = g[Ranks > 2 ? 3 : 0] + offset;
    for (std::size_t i = 0; i < n; ++i) {
        float x = g0[i] + g1[i];
        if constexpr (Ranks > 2) { x = x + g2[i] + g3[i]; }
        x *= a.inverse_ranks;
        const float m1 = a.beta1 * m[i] + (1 - a.beta1) * x;
        const float v1 = a.beta2 * v[i] + (1 - a.beta2) * x * x;
        m[i] = m1;
        v[i] = v1;
        const float p = own[i] - a.lr * ((m1 * a.inverse_c1) / (std::sqrt(v1 * a.inverse_c2) + a.eps));
        own[i] = p;
        copy[i] = p;
    }
}

/// The same reads and writes without the arithmetic.
template <int Ranks>
[[gnu::noinline]] void bare_pass(const float* const* g, std::size_t offset, float* __restrict m, float* __restrict v,
                                 float* __restrict own, float* __restrict copy, std::size_t n)
{
    const float* __restrict g0 = g[0] + offset;
    const float* __restrict g1 = g[1] + offset;
    const float* __restrict g2 = g[Ranks > 2 ? 2 : 0] + offset;
    const float* __restrict g3 = g[Ranks > 2 ? 3 : 0] + offset;
    for (std::size_t i = 0; i < n; ++i) {
        float x = g0[i] + g1[i];
        if constexpr (Ranks > 2) { x = x + g2[i] + g3[i]; }
        m[i] = m[i] * 0.5F + x;
        v[i] = v[i] * 0.5F + x;
        const float p = own[i] * 0.5F + x;
        own[i] = p;
        copy[i] = p;
    }
}

/// Stores past the caches: a line that is only written need not be read first.
inline void stream_out(float* to, const float* from, std::size_t n)
{
#if defined(__AVX__)
    std::size_t i = 0;
    for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % 64 != 0; ++i) { to[i] = from[i]; }
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) { _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i)); }
#else
    for (; i + 8 <= n; i += 8) { _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i)); }
#endif
    for (; i < n; ++i) { to[i] = from[i]; }
#else
    std::memcpy(to, from, n * sizeof(float));
#endif
}
inline void finish_stream()
{
#if defined(__AVX__)
    _mm_sfence();
#endif
}

/// Where all ranks' buffers are.
struct all_buffers {
    std::vector<const float*> gradients;
    std::vector<float*> parameters;
    std::vector<float*> averages;
};

/// All-reduce (each rank averages its slice and hands it to all), then Adam over the whole.
template <int Ranks>
void baseline_step(plait::thread_communicator& comm, const all_buffers& all, float* m, float* v, std::int64_t n,
                   adam_numbers a)
{
    const auto me = static_cast<std::size_t>(comm.rank());
    const auto part = plait::slice_of(n, comm.rank(), comm.size());
    const auto begin = static_cast<std::size_t>(part.begin);
    const auto count = static_cast<std::size_t>(part.count);
    comm.barrier("gradients are there");
    average<Ranks>(all.gradients.data(), begin, all.averages[me] + begin, count, a.inverse_ranks);
    for (std::size_t r = 0; r < all.averages.size(); ++r) {
        if (r != me) { std::memcpy(all.averages[r] + begin, all.averages[me] + begin, count * sizeof(float)); }
    }
    comm.barrier("averages are there");
    adam_pass(all.averages[me], m, v, all.parameters[me], static_cast<std::size_t>(n), a);
}

/// Runs `pass(begin, count, copy)` over this rank's slice, and hands the new parameters to the other ranks: `streaming`
/// past the caches and in pieces, else the first other rank directly.
template <int Ranks, class Comm, class Pass>
void fused_step(Comm& comm, const all_buffers& all, std::int64_t n, bool streaming, Pass&& pass)
{
    constexpr std::size_t piece = 512;
    alignas(64) float copy[piece];
    const auto me = static_cast<std::size_t>(comm.rank());
    const auto ranks = all.parameters.size();
    const auto part = plait::slice_of(n, comm.rank(), comm.size());
    const auto begin = static_cast<std::size_t>(part.begin);
    const auto end = begin + static_cast<std::size_t>(part.count);
    comm.barrier("gradients are there");
    if (!streaming && Ranks == 2) {
        pass(begin, end - begin, all.parameters[1 - me] + begin);
    } else {
        for (std::size_t at = begin; at < end; at += piece) {
            const std::size_t count = end - at < piece ? end - at : piece;
            pass(at, count, copy);
            for (std::size_t step = 1; step < ranks; ++step) {
                float* to = all.parameters[(me + step) % ranks] + at;
                if (streaming) {
                    stream_out(to, copy, count);
                } else {
                    std::memcpy(to, copy, count * sizeof(float));
                }
            }
        }
        finish_stream();
    }
    comm.barrier("parameters are there");
}

}  // namespace bench
