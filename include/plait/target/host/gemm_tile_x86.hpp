// The innermost part of a matrix product for x86 processors with AVX2 or AVX-512. Both give the same bits.
#pragma once

#include <plait/target/host/gemm_tile.hpp>

#if defined(__x86_64__)
#define PLAIT_GEMM_X86 1

#include <plait/core/bf16.hpp>
#include <plait/core/f16.hpp>
#include <plait/target/host/x86.hpp>

#include <cpuid.h>

#include <cstddef>
#include <type_traits>

#if defined(__CUDACC__)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675  // GCC's pragmas, which nvcc does not know and hands on
#endif

namespace plait::host::detail {

// What tiles are made of, for both sizes of number. Instructions, because whether a compiler makes an fma of a product and a
// sum depends on its flags, and the bits must not.
template <class S>
struct ymm {
    using type = decltype(x86::load_32(static_cast<const S*>(nullptr)));
    [[gnu::always_inline, gnu::target("avx2,fma")]] static type load(const S* p) { return x86::load_32(p); }
    [[gnu::always_inline, gnu::target("avx2,fma")]] static void store(S* p, type v) { x86::store_32(p, v); }
    [[gnu::always_inline, gnu::target("avx2,fma")]] static type all(S x) { return x86::all_32(x); }
    [[gnu::always_inline, gnu::target("avx2,fma")]] static type link(type a, type b, type sum) { return x86::fma(a, b, sum); }
};
template <class S>
struct zmm {
    using type = decltype(x86::load_64(static_cast<const S*>(nullptr)));
    [[gnu::always_inline, gnu::target("avx512f")]] static type load(const S* p) { return x86::load_64(p); }
    [[gnu::always_inline, gnu::target("avx512f")]] static void store(S* p, type v) { x86::store_64(p, v); }
    [[gnu::always_inline, gnu::target("avx512f")]] static type all(S x) { return x86::all_64(x); }
    [[gnu::always_inline, gnu::target("avx512f")]] static type link(type a, type b, type sum) { return x86::fma(a, b, sum); }
};

/// How far from the row of b that is read one is asked for, in elements. A packed b comes from far away once, and the
/// processor does not see where its next panel begins.
constexpr std::ptrdiff_t tile_ahead(std::ptrdiff_t b_row, int columns) { return b_row == columns ? 64 * b_row : 0; }

/// AVX2 and FMA: 16 registers, of which 12 hold the sums of a tile.
struct avx2_tile {
    static constexpr int rows = 6;
    template <class S>
    static constexpr int columns = 64 / static_cast<int>(sizeof(S));
    static constexpr int height(int used) { return used == 1 ? 1 : rows; }
    static constexpr int next(std::size_t left) { return left < rows ? static_cast<int>(left) : rows; }

    static bool supported()
    {
        unsigned a = 0, b = 0, c = 0, d = 0;  // clang 16 has no name for f16c
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
               (c & bit_F16C) != 0;
    }

    template <int Height, class S>
    [[gnu::target("avx2,fma")]] static void multiply(std::size_t k, const S* a, const S* b, std::ptrdiff_t b_row, S* c,
                                                     std::ptrdiff_t c_row, bool first)
    {
        using v = ymm<S>;
        constexpr int half = columns<S> / 2;
        typename v::type sum[Height][2];
#pragma GCC unroll 16
        for (int r = 0; r < Height; ++r) {
            sum[r][0] = first ? v::all(S{0}) : v::load(c + r * c_row);
            sum[r][1] = first ? v::all(S{0}) : v::load(c + r * c_row + half);
        }
        const std::ptrdiff_t ahead = tile_ahead(b_row, columns<S>);
        for (std::size_t p = 0; p < k; ++p, a += rows, b += b_row) {
            __builtin_prefetch(b + ahead);
            __builtin_prefetch(b + ahead + half);
            const typename v::type left = v::load(b);
            const typename v::type right = v::load(b + half);
#pragma GCC unroll 16
            for (int r = 0; r < Height; ++r) {
                const typename v::type of_row = v::all(a[r]);
                sum[r][0] = v::link(of_row, left, sum[r][0]);
                sum[r][1] = v::link(of_row, right, sum[r][1]);
            }
        }
#pragma GCC unroll 16
        for (int r = 0; r < Height; ++r) {
            v::store(c + r * c_row, sum[r][0]);
            v::store(c + r * c_row + half, sum[r][1]);
        }
    }

    /// The same bits as the portable one, 8 elements at a time.
    template <class S, class T>
    [[gnu::target("avx2,f16c")]] static void widen(const T* from, S* to, std::size_t n)
    {
        std::size_t i = 0;
        if constexpr (!std::is_same_v<S, T>) {
            for (; i + 8 <= n; i += 8) {
                if constexpr (std::is_same_v<T, f16>) { x86::store_32(to + i, x86::load_f16(from + i)); }
                else { x86::store_32(to + i, x86::load_bf16(from + i)); }
            }
        }
        for (; i < n; ++i) { to[i] = static_cast<S>(from[i]); }
    }

    /// The same bits as the portable one, 8 elements at a time.
    template <class S, class Out>
    [[gnu::target("avx2,f16c")]] static void narrow(const S* from, Out* to, std::size_t n)
    {
        std::size_t i = 0;
        for (; i + 8 <= n; i += 8) {
            if constexpr (std::is_same_v<Out, f16>) {
                x86::store_f16(to + i, x86::load_32(from + i));
            } else {
                for (std::size_t j = i; j < i + 8; ++j) { to[j] = static_cast<Out>(from[j]); }
            }
        }
        for (; i < n; ++i) { to[i] = static_cast<Out>(from[i]); }
    }
};

/// AVX-512: 32 registers, of which 24 hold the sums of a tile.
struct avx512_tile {
    static constexpr int rows = 12;
    template <class S>
    static constexpr int columns = 128 / static_cast<int>(sizeof(S));
    static constexpr int height(int used) { return used == 1 ? 1 : used <= 4 ? 4 : used <= 8 ? 8 : rows; }
    /// Of up to 16 rows two tiles of 8 rather than one of 12 and one of 4, which reads as much of b for little.
    static constexpr int next(std::size_t left)
    {
        return left > rows && left <= 16 ? 8 : left < rows ? static_cast<int>(left) : rows;
    }

    static bool supported() { return avx2_tile::supported() && __builtin_cpu_supports("avx512f"); }

    template <int Height, class S>
    [[gnu::target("avx512f")]] static void multiply(std::size_t k, const S* a, const S* b, std::ptrdiff_t b_row, S* c,
                                                    std::ptrdiff_t c_row, bool first)
    {
        using v = zmm<S>;
        constexpr int half = columns<S> / 2;
        typename v::type sum[Height][2];
#pragma GCC unroll 16
        for (int r = 0; r < Height; ++r) {
            sum[r][0] = first ? v::all(S{0}) : v::load(c + r * c_row);
            sum[r][1] = first ? v::all(S{0}) : v::load(c + r * c_row + half);
        }
        const std::ptrdiff_t ahead = tile_ahead(b_row, columns<S>);
        for (std::size_t p = 0; p < k; ++p, a += rows, b += b_row) {
            __builtin_prefetch(b + ahead);
            __builtin_prefetch(b + ahead + half);
            const typename v::type left = v::load(b);
            const typename v::type right = v::load(b + half);
#pragma GCC unroll 16
            for (int r = 0; r < Height; ++r) {
                const typename v::type of_row = v::all(a[r]);
                sum[r][0] = v::link(of_row, left, sum[r][0]);
                sum[r][1] = v::link(of_row, right, sum[r][1]);
            }
        }
#pragma GCC unroll 16
        for (int r = 0; r < Height; ++r) {
            v::store(c + r * c_row, sum[r][0]);
            v::store(c + r * c_row + half, sum[r][1]);
        }
    }

    template <class S, class T>
    static void widen(const T* from, S* to, std::size_t n)
    {
        avx2_tile::widen(from, to, n);
    }
    template <class S, class Out>
    static void narrow(const S* from, Out* to, std::size_t n)
    {
        avx2_tile::narrow(from, to, n);
    }
};

}  // namespace plait::host::detail

#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif
#endif
