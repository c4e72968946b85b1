// What the opaque handles of cuBLASLt point to.
#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace emulator::cublaslt {

struct matrix_layout {
    std::uint32_t type = CUDA_R_32F;
    std::int32_t order = CUBLASLT_ORDER_COL;
    std::uint64_t rows = 0, cols = 0;
    std::int64_t ld = 0;
    std::int32_t batch = 1;
    std::int64_t batch_offset = 0;  ///< in elements
};

struct matmul_description {
    std::int32_t compute = CUBLAS_COMPUTE_32F;
    std::int32_t scale = CUDA_R_32F;
    std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
    std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N, transpose_c = CUBLAS_OP_N;
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void* bias = nullptr;
    std::int64_t bias_batch_stride = 0;
    std::int32_t bias_type = -1;  ///< -1: that of the result
    std::int32_t multiprocessors = 0;
};

struct preference {
    std::uint32_t search = CUBLASLT_SEARCH_BEST_FIT;
    std::uint64_t workspace = 0;
    std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
    std::uint32_t alignment[4] = {256, 256, 256, 256};  ///< of a, b, c and d
};

inline const matrix_layout& layout_of(cublasLtMatrixLayout_t l) { return *reinterpret_cast<const matrix_layout*>(l); }
inline const matmul_description& description_of(cublasLtMatmulDesc_t d)
{
    return *reinterpret_cast<const matmul_description*>(d);
}
inline const preference& preference_of(cublasLtMatmulPreference_t p) { return *reinterpret_cast<const preference*>(p); }

}  // namespace emulator::cublaslt
