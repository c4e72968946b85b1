// Matrix products by cuBLASLt, where a program is compiled with PLAIT_CUBLASLT and linked with it (plait::cublaslt does both).
#pragma once

#include <plait/target/cuda/launch.cuh>
#include <plait/target/cuda/product_arguments.cuh>

#include <memory>

#if defined(PLAIT_CUBLASLT)
#include <cublasLt.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace plait::cuda {

/// Whether cuBLASLt multiplies what it can.
inline constexpr bool has_blas = true;
/// Bytes that cuBLASLt may use beside the operands; one such block per executable.
inline constexpr std::size_t blas_workspace_bytes = std::size_t{32} << 20;

inline void check_blas(cublasStatus_t status, std::string_view what)
{
    if (status != CUBLAS_STATUS_SUCCESS) { throw error({what, ": ", cublasLtGetStatusString(status), " (cuBLASLt)"}); }
}

/// A handle of the library, with what destroys it.
template <class Handle, cublasStatus_t (*Destroy)(Handle)>
class blas_object {
  public:
    blas_object() = default;
    blas_object(const blas_object&) = delete;
    blas_object& operator=(const blas_object&) = delete;
    ~blas_object()
    {
        if (handle_ != Handle{}) { static_cast<void>(Destroy(handle_)); }
    }
    [[nodiscard]] Handle* address() { return &handle_; }
    [[nodiscard]] Handle get() const { return handle_; }

  private:
    Handle handle_{};
};

constexpr cudaDataType_t blas_type(dtype t)
{
    return t == dtype::f64 ? CUDA_R_64F : t == dtype::f16 ? CUDA_R_16F : t == dtype::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/// The library's handle for the current device. It is never destroyed: that would wait for the device, on which kernels may
/// wait for this rank.
inline cublasLtHandle_t blas_library(std::string_view stage)
{
    static std::mutex mutex;
    static auto* const handles = new std::map<int, cublasLtHandle_t>;
    int device = 0;
    check(cudaGetDevice(&device), stage);
    const std::lock_guard lock(mutex);
    cublasLtHandle_t& handle = (*handles)[device];
    if (handle == nullptr) { check_blas(cublasLtCreate(&handle), stage); }
    return handle;
}

/// One product, prepared. The library's matrices have columns in a row: it computes c' = b' a'.
class blas_product : public launch {
  public:
    blas_product(std::string stage, dtype type, const product_arguments& p, std::byte* workspace)
        : stage_(std::move(stage)), p_(p), type_(type), workspace_(workspace)
    {
        library_ = blas_library(stage_);
        const bool wide = type == dtype::f64;
        check_blas(cublasLtMatmulDescCreate(operation_.address(), wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, wide ? CUDA_R_64F : CUDA_R_32F), stage_);
        describe(left_, p.b, p.n, p.k, CUBLASLT_MATMUL_DESC_TRANSA);
        describe(right_, p.a, p.k, p.m, CUBLASLT_MATMUL_DESC_TRANSB);
        check_blas(cublasLtMatrixLayoutCreate(result_.address(), blas_type(type), static_cast<std::uint64_t>(p.n),
                                              static_cast<std::uint64_t>(p.m), p.c.row), stage_);
        set_batches(result_, p.c.batch[0]);
        choose();
    }
    void enqueue(cudaStream_t stream) override
    {
        const named_range range(stage_.c_str());
        const float one = 1;
        const float zero = 0;
        const double wide_one = 1;
        const double wide_zero = 0;
        const bool wide = type_ == dtype::f64;
        check_blas(cublasLtMatmul(library_, operation_.get(), wide ? static_cast<const void*>(&wide_one) : &one, p_.b.data, left_.get(),
                                  p_.a.data, right_.get(), wide ? static_cast<const void*>(&wide_zero) : &zero, p_.out, result_.get(), p_.out,
                                  result_.get(), &algorithm_, workspace_, workspace_bytes_, stream),
                   stage_);
    }

  private:
    using layout = blas_object<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

    /// An operand of `rows` x `columns` in the library's order, as it is when its columns are in a row, else transposed.
    void describe(layout& l, const matrix_operand& m, std::int64_t rows, std::int64_t columns, cublasLtMatmulDescAttributes_t attribute)
    {
        const bool as_is = m.column == 1 || rows == 1;
        const cublasOperation_t how = as_is ? CUBLAS_OP_N : CUBLAS_OP_T;
        check_blas(cublasLtMatmulDescSetAttribute(operation_.get(), attribute, &how, sizeof how), stage_);
        const std::int64_t lead = std::max(as_is ? m.row : m.column, as_is ? rows : columns);
        check_blas(cublasLtMatrixLayoutCreate(l.address(), blas_type(type_), static_cast<std::uint64_t>(as_is ? rows : columns),
                                              static_cast<std::uint64_t>(as_is ? columns : rows), lead), stage_);
        set_batches(l, m.batch[0]);
    }
    void set_batches(layout& l, std::int64_t stride)
    {
        if (p_.batch_dims == 0) { return; }
        const auto count = static_cast<std::int32_t>(p_.batches);
        check_blas(cublasLtMatrixLayoutSetAttribute(l.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), stage_);
        check_blas(cublasLtMatrixLayoutSetAttribute(l.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride), stage_);
    }
    void choose()
    {
        blas_object<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference;
        check_blas(cublasLtMatmulPreferenceCreate(preference.address()), stage_);
        workspace_bytes_ = workspace_ == nullptr ? 0 : blas_workspace_bytes;
        const auto set = [&](cublasLtMatmulPreferenceAttributes_t a, const auto& value) {
            check_blas(cublasLtMatmulPreferenceSetAttribute(preference.get(), a, &value, sizeof value), stage_);
        };
        const auto alignment_of = [&](const void* data, std::int64_t batch) {
            std::uint32_t alignment = 256;
            const auto bytes = static_cast<std::uintptr_t>(batch) * size_of(type_);
            while ((reinterpret_cast<std::uintptr_t>(data) | bytes) % alignment != 0) { alignment /= 2; }
            return alignment;
        };
        set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes_);
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p_.b.data, p_.b.batch[0]));
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p_.a.data, p_.a.batch[0]));
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(p_.out, p_.c.batch[0]));
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p_.out, p_.c.batch[0]));
        cublasLtMatmulHeuristicResult_t found{};
        int count = 0;
        check_blas(cublasLtMatmulAlgoGetHeuristic(library_, operation_.get(), left_.get(), right_.get(), result_.get(),
                                                  result_.get(), preference.get(), 1, &found, &count), stage_);
        if (count == 0) { throw error({stage_, ": cuBLASLt has no way to compute this product"}); }
        algorithm_ = found.algo;
    }

    std::string stage_;
    product_arguments p_;
    dtype type_;
    std::byte* workspace_;
    std::size_t workspace_bytes_ = 0;
    cublasLtHandle_t library_ = nullptr;
    blas_object<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation_;
    layout left_;
    layout right_;
    layout result_;
    cublasLtMatmulAlgo_t algorithm_{};
};

/// Puts a product of operands and result of one dtype at the end of the build's list, if it is one that the library knows.
inline bool add_blas_product(pass_build& b, dtype type, const product_arguments& p)
{
    const auto in_lines = [](const matrix_operand& m, std::int64_t rows, std::int64_t columns) {
        return (m.column == 1 && m.row >= columns) || (m.row == 1 && m.column >= rows);
    };
    const bool known = p.batch_dims <= 1 && p.m > 0 && p.n > 0 && p.k > 0 && p.batches > 0 && p.c.column == 1 && p.c.row >= p.n &&
                       in_lines(p.a, p.m, p.k) && in_lines(p.b, p.k, p.n);
    if (!known) { return false; }
    b.list.push_back(std::make_unique<blas_product>(b.stage, type, p, b.memory.workspace(blas_workspace_bytes)));
    return true;
}

}  // namespace plait::cuda

#else

namespace plait::cuda {
inline constexpr bool has_blas = false;
inline bool add_blas_product(pass_build&, dtype, const product_arguments&) { return false; }
}  // namespace plait::cuda

#endif
