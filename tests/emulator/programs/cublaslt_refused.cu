// What the cuBLASLt stand-in lacks ends the program with its name.
#include "programs/in_child.hpp"

#include <cublasLt.h>

template <class F>
void with_description(F f)
{
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout;
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1);
    f(desc, layout);
    const float one = 1, zero = 0;
    float* p = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&p), 4);
    cublasLtMatmul(handle, desc, &one, p, layout, p, layout, &zero, p, layout, p, layout, nullptr, nullptr, 0, nullptr);
}

int main()
{
    expect(in_child([] {
               cublasLtMatmulAlgoGetIds(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                        CUDA_R_32F, 1, nullptr, nullptr);
           }),
           "cublasLtMatmulAlgoGetIds", "is not implemented");
    expect(in_child([] {
               with_description([](cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t) {
                   const auto gelu = CUBLASLT_EPILOGUE_GELU;
                   cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, &gelu, sizeof gelu);
               });
           }),
           "only the epilogues DEFAULT and BIAS", "are implemented");
    expect(in_child([] {
               with_description([](cublasLtMatmulDesc_t, cublasLtMatrixLayout_t l) {
                   const auto tiles = CUBLASLT_ORDER_COL32;
                   cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ORDER, &tiles, sizeof tiles);
               });
           }),
           "only the orders COL and ROW", "are implemented");
    expect(in_child([] {
               with_description([](cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t) {
                   const std::int32_t fill = CUBLAS_FILL_MODE_FULL;
                   cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_FILL_MODE, &fill, sizeof fill);
               });
           }),
           "cuBLASLt's product attribute 6", "is not implemented");
    return check::result();
}
