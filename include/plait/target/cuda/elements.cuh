// From elements in memory to the values that kernels compute with, and back.
#pragma once

#include <plait/kernels/tile.hpp>
#include <plait/target/cuda/packet.cuh>

#include <cstdint>

namespace plait::cuda {

template <dtype D>
__host__ __device__ kernels::compute_t<D> computed(stored_t<D> x)
{
    if constexpr (D == dtype::boolean) { return x != 0; }
    else { return static_cast<kernels::compute_t<D>>(x); }
}
/// The value as an element in memory.
template <dtype D, class From>
__device__ stored_t<D> as_stored(From x)
{
    if constexpr (D == dtype::f16 || D == dtype::bf16) { return element_t<D>(static_cast<float>(x)); }
    else { return static_cast<stored_t<D>>(kernels::convert<element_t<D>>(x)); }
}

/// N values as elements in memory; those of 16 bits are converted two by two.
template <dtype D, class From, int N>
__device__ packet<stored_t<D>, N> stored_packet(const From (&x)[N])
{
    packet<stored_t<D>, N> all;
    if constexpr ((D == dtype::f16 || D == dtype::bf16) && N % 2 == 0) {
#pragma unroll
        for (int e = 0; e < N; e += 2) {
            const float low = static_cast<float>(x[e]);
            const float high = static_cast<float>(x[e + 1]);
            std::uint32_t two;
            if constexpr (D == dtype::f16) { asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low)); }
            else { asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low)); }
            __builtin_memcpy(all.element + e, &two, sizeof two);
        }
    } else {
#pragma unroll
        for (int e = 0; e < N; ++e) { all.element[e] = as_stored<D>(x[e]); }
    }
    return all;
}

}  // namespace plait::cuda
