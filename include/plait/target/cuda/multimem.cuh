// multimem instructions: one request that the switch between devices answers with a sum over all of them, or hands to all.
// Only for compute capability 9.0 and newer; elsewhere nothing of it is compiled.
#pragma once

#include <plait/target/cuda/packet.cuh>

#include <cstdint>

namespace plait::cuda {

/// Whether the switch adds up elements of a dtype: f16 and bf16 in f32, rounded once.
template <dtype D>
inline constexpr bool has_multimem_sum = D == dtype::f32 || D == dtype::f16 || D == dtype::bf16;
/// Whether so many bytes are multimem requests, which must be aligned as packets are.
template <int Bytes>
inline constexpr bool is_multimem_size = Bytes % 8 == 0;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
namespace detail {

/// 8 or 16 bytes, as words. (Relaxed, as NCCL's own: meetings order them.)
template <dtype D>
__device__ __forceinline__ uint4 multimem_sum_16(const void* from)
{
    uint4 w;
    if constexpr (D == dtype::f32) {
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(from) : "memory");
    } else if constexpr (D == dtype::f16) {
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
                     : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(from) : "memory");
    } else {
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
                     : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(from) : "memory");
    }
    return w;
}
template <dtype D>
__device__ __forceinline__ uint2 multimem_sum_8(const void* from)
{
    uint2 w;
    if constexpr (D == dtype::f32) {
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v2.f32 {%0, %1}, [%2];" : "=r"(w.x), "=r"(w.y) : "l"(from) : "memory");
    } else if constexpr (D == dtype::f16) {
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v2.f16x2 {%0, %1}, [%2];"
                     : "=r"(w.x), "=r"(w.y) : "l"(from) : "memory");
    } else {
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v2.bf16x2 {%0, %1}, [%2];"
                     : "=r"(w.x), "=r"(w.y) : "l"(from) : "memory");
    }
    return w;
}

}  // namespace detail

/// The sum over all ranks of N elements at a multicast address, in an order that is the switch's.
template <dtype D, int N>
__device__ packet<stored_t<D>, N> multimem_sum(const stored_t<D>* from)
{
    using packet_t = packet<stored_t<D>, N>;
    static_assert(has_multimem_sum<D> && is_multimem_size<packet_t::bytes>);
    packet_t all;
#pragma unroll
    for (int i = 0; i < packet_t::bytes / packet_t::alignment; ++i) {
        const char* const at = reinterpret_cast<const char*>(from) + i * packet_t::alignment;
        typename packet_t::word w;
        if constexpr (packet_t::alignment == 16) { w = detail::multimem_sum_16<D>(at); }
        else { w = detail::multimem_sum_8<D>(at); }
        __builtin_memcpy(reinterpret_cast<char*>(all.element) + i * packet_t::alignment, &w, sizeof w);
    }
    return all;
}

/// Stores a packet to all ranks. (As f32, which is any bits.)
template <class T, int N>
__device__ void multimem_store(T* to, const packet<T, N>& all)
{
    using packet_t = packet<T, N>;
    static_assert(is_multimem_size<packet_t::bytes>);
#pragma unroll
    for (int i = 0; i < packet_t::bytes / packet_t::alignment; ++i) {
        char* const at = reinterpret_cast<char*>(to) + i * packet_t::alignment;
        typename packet_t::word w;
        __builtin_memcpy(&w, reinterpret_cast<const char*>(all.element) + i * packet_t::alignment, sizeof w);
        if constexpr (packet_t::alignment == 16) {
            asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(w.x), "r"(w.y), "r"(w.z), "r"(w.w) : "memory");
        } else {
            asm volatile("multimem.st.relaxed.sys.global.v2.f32 [%0], {%1, %2};" ::"l"(at), "r"(w.x), "r"(w.y) : "memory");
        }
    }
}

/// Between accesses to the same memory by multicast addresses and by others (PTX ISA, "membar/fence", .proxy.alias).
__device__ inline void fence_between_addresses()
{
    asm volatile("fence.proxy.alias;" ::: "memory");
}
#endif

}  // namespace plait::cuda
