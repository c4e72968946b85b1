#include "problem.hpp"

#include "../extension/extension.hpp"

namespace emulator::cublaslt {
namespace {

bool fits(const matrix_layout& l, std::uint64_t rows, std::uint64_t cols)
{
    const std::uint64_t line = l.order == CUBLASLT_ORDER_COL ? l.rows : l.cols;
    return l.rows == rows && l.cols == cols && l.ld >= 0 && static_cast<std::uint64_t>(l.ld) >= line && l.batch >= 1;
}

/// The combinations of cuBLASLt's table that are implemented: sums in f32 of f32, f16 or bf16, and in f64 of f64.
bool types_fit(const problem& p)
{
    if (p.a.type != p.b.type || p.c.type != p.d.type) { return false; }
    if (p.how.compute == CUBLAS_COMPUTE_64F) {
        return p.how.scale == CUDA_R_64F && p.a.type == CUDA_R_64F && p.d.type == CUDA_R_64F;
    }
    if (p.how.scale != CUDA_R_32F) { return false; }
    if (p.a.type == CUDA_R_32F) { return p.d.type == CUDA_R_32F; }
    const bool narrow = p.a.type == CUDA_R_16F || p.a.type == CUDA_R_16BF;
    return narrow && p.how.compute == CUBLAS_COMPUTE_32F && (p.d.type == p.a.type || p.d.type == CUDA_R_32F);
}

void stop_for_what_is_missing(const problem& p)
{
    const matmul_description& h = p.how;
    if (h.compute != CUBLAS_COMPUTE_32F && h.compute != CUBLAS_COMPUTE_32F_FAST_TF32 &&
        h.compute != CUBLAS_COMPUTE_64F) {
        extension::stop("cublasLtMatmul: only CUBLAS_COMPUTE_32F, 32F_FAST_TF32 and 64F are implemented");
    }
    if (h.epilogue != CUBLASLT_EPILOGUE_DEFAULT && h.epilogue != CUBLASLT_EPILOGUE_BIAS) {
        extension::stop("cublasLtMatmul: only the epilogues DEFAULT and BIAS are implemented");
    }
    if (h.pointer_mode != CUBLASLT_POINTER_MODE_HOST && h.pointer_mode != CUBLASLT_POINTER_MODE_DEVICE) {
        extension::stop("cublasLtMatmul: only scalars of host or device are implemented");
    }
    for (const matrix_layout* l : {&p.a, &p.b, &p.c, &p.d}) {
        if (l->order != CUBLASLT_ORDER_COL && l->order != CUBLASLT_ORDER_ROW) {
            extension::stop("cublasLtMatmul: only the orders COL and ROW are implemented");
        }
    }
}

}  // namespace

std::size_t size_of(std::uint32_t type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : type == CUDA_R_16F || type == CUDA_R_16BF ? 2 : 0;
}

cublasStatus_t check(const problem& p)
{
    stop_for_what_is_missing(p);
    if (!types_fit(p) || p.how.transpose_c != CUBLAS_OP_N) { return CUBLAS_STATUS_NOT_SUPPORTED; }
    const bool plain_a = p.how.transpose_a == CUBLAS_OP_N, plain_b = p.how.transpose_b == CUBLAS_OP_N;
    const bool shapes = fits(p.a, plain_a ? p.m() : p.k(), plain_a ? p.k() : p.m()) &&
                        fits(p.b, plain_b ? p.k() : p.n(), plain_b ? p.n() : p.k()) && fits(p.c, p.m(), p.n()) &&
                        fits(p.d, p.m(), p.n());
    const bool batches = p.a.batch == p.d.batch && p.b.batch == p.d.batch && p.c.batch == p.d.batch;
    const bool orders = p.c.order == p.d.order;
    return shapes && batches && orders ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace emulator::cublaslt
