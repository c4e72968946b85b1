// The matrix product of the host.
#pragma once

#include <plait/target/host/gemm_blas.hpp>
#include <plait/target/host/gemm_own.hpp>
#include <plait/target/host/gemm_scratch.hpp>
#include <plait/target/host/matrix_view.hpp>

#include <concepts>
#include <cstddef>

namespace plait::host {

/// Whether products of T are OpenBLAS's: those of float and double where it is there, others are plait's own.
template <gemm_element T>
inline constexpr bool gemm_by_blas = PLAIT_HAS_OPENBLAS != 0 && std::same_as<T, gemm_sum_t<T>>;

/// The most that a product takes of its scratch, in bytes. It grows with the matrices up to a few megabytes only.
template <gemm_element T>
constexpr std::size_t gemm_scratch_bytes(std::size_t m, std::size_t n, std::size_t k)
{
#if PLAIT_HAS_OPENBLAS
    if constexpr (gemm_by_blas<T>) { return blas::gemm_scratch_bytes<T>(m, n, k); }
#endif
    return own::gemm_scratch_bytes<T>(m, n, k);
}

/// c = a * b with c of m by n, a of m by k and b of k by n; zeros when k is 0. T is float, double, f16 or bf16; sums of
/// f16 and bf16 are float and rounded once, when stored, or not at all, into a c of floats. NaN and infinity propagate.
/// c must not overlap a or b. The scratch grows if it must (see gemm_scratch_bytes).
///
/// With plait's own product the bits of an element depend only on its row of a, its column of b and the processor's
/// having fma; with OpenBLAS they can depend on the sizes of the matrices too (see gemm_by_blas and gemm_blas.hpp).
template <gemm_element T, gemm_result<T> Out>
void gemm(std::size_t m, std::size_t n, std::size_t k, matrix_view<const T> a, matrix_view<const T> b,
          matrix_view<Out> c, gemm_scratch& scratch)
{
#if PLAIT_HAS_OPENBLAS
    if constexpr (gemm_by_blas<T>) { return blas::gemm<T, Out>(m, n, k, a, b, c, scratch); }
#endif
    own::gemm<T, Out>(m, n, k, a, b, c, scratch);
}

}  // namespace plait::host
