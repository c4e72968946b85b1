// Consecutive elements as the memory system likes them: 16 bytes at a time.
#pragma once

#include <plait/core/dtype.hpp>

#include <cuda_runtime.h>

#include <cstdint>

namespace plait::cuda {

namespace detail {

template <int Bytes>
struct word;
template <>
struct word<16> { using type = uint4; };
template <>
struct word<8> { using type = uint2; };
template <>
struct word<4> { using type = std::uint32_t; };
template <>
struct word<2> { using type = std::uint16_t; };
template <>
struct word<1> { using type = std::uint8_t; };

}  // namespace detail

/// The same address, which the compiler then knows to be one of global memory.
template <class T>
__device__ __forceinline__ T* in_global_memory(T* p)
{
    __builtin_assume(__isGlobal(p));
    return p;
}

/// N elements of T, N a power of two, loaded and stored with as few instructions as there are.
template <class T, int N>
struct packet {
    static constexpr int bytes = static_cast<int>(sizeof(T)) * N;
    /// What the address of a packet must be a multiple of.
    static constexpr int alignment = bytes < 16 ? bytes : 16;
    using word = typename detail::word<alignment>::type;

    T element[N];

    __device__ static packet load(const T* from)
    {
        packet p;
#pragma unroll
        for (int i = 0; i < bytes / alignment; ++i) {
            const word w = in_global_memory(reinterpret_cast<const word*>(from))[i];
            __builtin_memcpy(reinterpret_cast<char*>(p.element) + i * alignment, &w, alignment);
        }
        return p;
    }
    __device__ void store(T* to) const
    {
#pragma unroll
        for (int i = 0; i < bytes / alignment; ++i) {
            word w;
            __builtin_memcpy(&w, reinterpret_cast<const char*>(element) + i * alignment, alignment);
            in_global_memory(reinterpret_cast<word*>(to))[i] = w;
        }
    }
};

/// A dtype's elements in memory; a bool is a byte that need not be 0 or 1.
template <dtype D>
struct stored {
    using type = element_t<D>;
};
template <>
struct stored<dtype::boolean> {
    using type = std::uint8_t;
};
template <dtype D>
using stored_t = typename stored<D>::type;

}  // namespace plait::cuda
