#include "descriptors.hpp"

#include "../extension/extension.hpp"

#include <cstring>
#include <string>

using namespace emulator::cublaslt;

namespace {

/// Where an attribute is kept.
struct place {
    void* at = nullptr;
    std::size_t size = 0;
};

template <class T>
place in(T& member)
{
    return {&member, sizeof member};
}

[[noreturn]] void unknown(const char* what, int attribute)
{
    emulator::extension::stop(std::string("cuBLASLt's ") + what + " attribute " + std::to_string(attribute) +
                              " is not implemented");
}

place find(matrix_layout& l, cublasLtMatrixLayoutAttribute_t attribute)
{
    switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return in(l.type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return in(l.order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return in(l.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return in(l.cols);
    case CUBLASLT_MATRIX_LAYOUT_LD: return in(l.ld);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return in(l.batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return in(l.batch_offset);
    default: unknown("matrix layout", attribute);
    }
}

place find(matmul_description& d, cublasLtMatmulDescAttributes_t attribute)
{
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return in(d.compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return in(d.scale);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return in(d.pointer_mode);
    case CUBLASLT_MATMUL_DESC_TRANSA: return in(d.transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB: return in(d.transpose_b);
    case CUBLASLT_MATMUL_DESC_TRANSC: return in(d.transpose_c);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return in(d.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return in(d.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return in(d.bias_batch_stride);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return in(d.bias_type);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: return in(d.multiprocessors);
    default: unknown("product", attribute);
    }
}

place find(preference& p, cublasLtMatmulPreferenceAttributes_t attribute)
{
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE: return in(p.search);
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return in(p.workspace);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return in(p.reductions);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return in(p.alignment[0]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return in(p.alignment[1]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return in(p.alignment[2]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return in(p.alignment[3]);
    default: unknown("preference", attribute);
    }
}

template <class Object, class Handle, class Attribute>
cublasStatus_t set(Handle handle, Attribute attribute, const void* from, std::size_t size)
{
    if (handle == nullptr || from == nullptr) { return CUBLAS_STATUS_INVALID_VALUE; }
    const place p = find(*reinterpret_cast<Object*>(handle), attribute);
    if (size != p.size) { return CUBLAS_STATUS_INVALID_VALUE; }
    std::memcpy(p.at, from, size);
    return CUBLAS_STATUS_SUCCESS;
}

template <class Object, class Handle, class Attribute>
cublasStatus_t get(Handle handle, Attribute attribute, void* to, std::size_t size, std::size_t* written)
{
    if (handle == nullptr || (size != 0 && to == nullptr) || (size == 0 && written == nullptr)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const place p = find(*reinterpret_cast<Object*>(handle), attribute);
    if (written != nullptr) { *written = p.size; }
    if (size == 0) { return CUBLAS_STATUS_SUCCESS; }
    if (size < p.size) { return CUBLAS_STATUS_INVALID_VALUE; }
    std::memcpy(to, p.at, p.size);
    return CUBLAS_STATUS_SUCCESS;
}

template <class Object, class Handle>
cublasStatus_t create(Handle* handle, const Object& o)
{
    if (handle == nullptr) { return CUBLAS_STATUS_INVALID_VALUE; }
    *handle = reinterpret_cast<Handle>(new Object(o));
    return CUBLAS_STATUS_SUCCESS;
}

template <class Object, class Handle>
cublasStatus_t destroy(Handle handle)
{
    delete reinterpret_cast<Object*>(handle);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld)
{
    return create(layout, matrix_layout{static_cast<std::uint32_t>(type), CUBLASLT_ORDER_COL, rows, cols, ld});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { return destroy<matrix_layout>(l); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t a,
                                                const void* from, size_t size)
{
    return set<matrix_layout>(l, a, from, size);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t a, void* to,
                                                size_t size, size_t* written)
{
    return get<matrix_layout>(l, a, to, size, written);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale)
{
    return create(desc, matmul_description{static_cast<std::int32_t>(compute), static_cast<std::int32_t>(scale)});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return destroy<matmul_description>(d); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a,
                                              const void* from, size_t size)
{
    return set<matmul_description>(d, a, from, size);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, void* to,
                                              size_t size, size_t* written)
{
    return get<matmul_description>(d, a, to, size, written);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) { return create(p, preference{}); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) { return destroy<preference>(p); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t a, const void* from,
                                                    size_t size)
{
    return set<preference>(p, a, from, size);
}
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t a, void* to, size_t size,
                                                    size_t* written)
{
    return get<preference>(p, a, to, size, written);
}
}
