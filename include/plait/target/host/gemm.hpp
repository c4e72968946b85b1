// The matrix product of the host.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/target/host/gemm_blas.hpp>
#include <plait/target/host/gemm_own.hpp>
#include <plait/target/host/gemm_scratch.hpp>
#include <plait/target/host/matrix_view.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace plait::host {

/// Whether products of T can be OpenBLAS's: those of float and double where it is there, others are plait's own.
template <gemm_element T>
inline constexpr bool gemm_by_blas = PLAIT_HAS_OPENBLAS != 0 && std::same_as<T, gemm_sum_t<T>>;

#if PLAIT_HAS_OPENBLAS
namespace detail {

/// Whether OpenBLAS uses the instructions that plait's own product would. One that is older than the processor takes it for
/// an earlier one: 0.3.21 runs its AVX2 kernels on AMD's processors with AVX-512, at 0.55 of the rate of plait's own product.
inline bool blas_knows_processor()
{
    static const bool known = [] {
        const std::string_view core = openblas_get_corename();
        constexpr std::string_view without_avx512[] = {"Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott"};
        return own::best() != own::instructions::avx512 || !plait::detail::contains(without_avx512, core);
    }();
    return known;
}

}  // namespace detail
#endif

/// The most that a product takes of its scratch, in bytes. It grows with the matrices up to a few megabytes only.
template <gemm_element T>
constexpr std::size_t gemm_scratch_bytes(std::size_t m, std::size_t n, std::size_t k)
{
#if PLAIT_HAS_OPENBLAS
    if constexpr (gemm_by_blas<T>) { return std::max(blas::gemm_scratch_bytes<T>(m, n, k), own::gemm_scratch_bytes<T>(m, n, k)); }
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
    if constexpr (gemm_by_blas<T>) {
        if (detail::blas_knows_processor()) { return blas::gemm<T, Out>(m, n, k, a, b, c, scratch); }
    }
#endif
    own::gemm<T, Out>(m, n, k, a, b, c, scratch);
}

}  // namespace plait::host
