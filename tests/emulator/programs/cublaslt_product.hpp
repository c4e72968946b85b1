// A product by cuBLASLt with everything that it needs, and its check on the host.
#pragma once

#include "programs/check.hpp"

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

template <class T>
struct type_of;
template <>
struct type_of<float> : std::integral_constant<decltype(CUDA_R_32F), CUDA_R_32F> {};
template <>
struct type_of<double> : std::integral_constant<decltype(CUDA_R_64F), CUDA_R_64F> {};
template <>
struct type_of<__half> : std::integral_constant<decltype(CUDA_R_16F), CUDA_R_16F> {};
template <>
struct type_of<__nv_bfloat16> : std::integral_constant<decltype(CUDA_R_16BF), CUDA_R_16BF> {};

struct shape {
    int m, n, k, batch;
    bool transpose_a, transpose_b;
    int order;
    int more;  ///< elements between one line and the next
};

/// Values and layout of a matrix: rows by columns, each batch followed by 3 unused elements.
template <class T>
struct matrix {
    int rows, cols, order, ld, batch_offset;
    std::vector<T> host;
    check::device_array<T> device;
    cublasLtMatrixLayout_t layout = nullptr;

    matrix(int rows_, int cols_, int order_, int more, int batch, unsigned first)
        : rows{rows_},
          cols{cols_},
          order{order_},
          ld{(order == CUBLASLT_ORDER_COL ? rows : cols) + more},
          batch_offset{ld * (order == CUBLASLT_ORDER_COL ? cols : rows) + 3},
          host(batch_offset * batch),
          device(host.size())
    {
        for (auto& v : host) {
            v = T(static_cast<float>(static_cast<int>((first = first * 1664525u + 1013904223u) >> 29) - 3));
        }
        device.copy_from(host);
        const std::int64_t offset = batch_offset;
        CHECK(cublasLtMatrixLayoutCreate(&layout, type_of<T>::value, rows, cols, ld) == CUBLAS_STATUS_SUCCESS);
        cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order);
        cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
        cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset);
    }
    ~matrix() { cublasLtMatrixLayoutDestroy(layout); }
    std::size_t index(int batch, int r, int c) const
    {
        return batch * batch_offset + (order == CUBLASLT_ORDER_COL ? c * ld + r : r * ld + c);
    }
};

template <class T>
double number(T v)
{
    return static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(v));
}

/// A product with everything that it needs.
template <class In, class Out>
struct product {
    shape s;
    matrix<In> a, b;
    matrix<Out> c, d;
    check::device_array<Out> bias;
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatmulHeuristicResult_t chosen{};
    check::device_array<char> workspace{1 << 16};

    product(const shape& s_, bool with_bias, std::uint64_t workspace_limit = 0)
        : s{s_},
          a(s.transpose_a ? s.k : s.m, s.transpose_a ? s.m : s.k, s.order, s.more, s.batch, 1),
          b(s.transpose_b ? s.n : s.k, s.transpose_b ? s.k : s.n, s.order, s.more, s.batch, 2),
          c(s.m, s.n, s.order, s.more, s.batch, 3),
          d(s.m, s.n, s.order, 0, s.batch, 4),
          bias(s.m)
    {
        std::vector<Out> values;
        for (int i = 0; i < s.m; ++i) { values.push_back(Out(static_cast<float>(i % 5))); }
        bias.copy_from(values);
        CHECK(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
        const bool wide = std::is_same_v<In, double>;
        CHECK(cublasLtMatmulDescCreate(&desc, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                       wide ? CUDA_R_64F : CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
        const cublasOperation_t ta = s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                                tb = s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
        set(CUBLASLT_MATMUL_DESC_TRANSA, ta);
        set(CUBLASLT_MATMUL_DESC_TRANSB, tb);
        if (with_bias) {
            set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
            set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
        }
        cublasLtMatmulPreference_t preference;
        CHECK(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
        CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                   &workspace_limit, sizeof workspace_limit) == CUBLAS_STATUS_SUCCESS);
        int n = 0;
        CHECK(cublasLtMatmulAlgoGetHeuristic(handle, desc, a.layout, b.layout, c.layout, d.layout, preference, 1,
                                             &chosen, &n) == CUBLAS_STATUS_SUCCESS);
        CHECK(n == 1 && chosen.workspaceSize <= workspace_limit);
        cublasLtMatmulPreferenceDestroy(preference);
    }
    ~product()
    {
        cublasLtMatmulDescDestroy(desc);
        cublasLtDestroy(handle);
    }
    template <class V>
    void set(cublasLtMatmulDescAttributes_t attribute, V value)
    {
        CHECK(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
    }
    cublasStatus_t run(double alpha, double beta, cudaStream_t stream = nullptr)
    {
        return run_on(a.device.data(), d.device.data(), workspace.data(), 1 << 16, alpha, beta, stream);
    }
    cublasStatus_t run_on(const In* from, Out* to, void* space, std::size_t space_bytes, double alpha, double beta,
                          cudaStream_t stream)
    {
        const float narrow[] = {static_cast<float>(alpha), static_cast<float>(beta)};
        const bool wide = std::is_same_v<In, double>;
        return cublasLtMatmul(handle, desc, wide ? static_cast<void*>(&alpha) : const_cast<float*>(&narrow[0]), from,
                              a.layout, b.device.data(), b.layout,
                              wide ? static_cast<void*>(&beta) : const_cast<float*>(&narrow[1]), c.device.data(),
                              c.layout, to, d.layout, &chosen.algo, space, space_bytes, stream);
    }
    /// Small whole numbers: sums are exact, and rounding to the type of the result is all that happens.
    bool right(double alpha, double beta, bool with_bias)
    {
        const auto got = d.device.host();
        bool right = true;
        for (int t = 0; t < s.batch; ++t) {
            for (int i = 0; i < s.m; ++i) {
                for (int j = 0; j < s.n; ++j) {
                    double sum = 0;
                    for (int l = 0; l < s.k; ++l) {
                        sum += number(a.host[s.transpose_a ? a.index(t, l, i) : a.index(t, i, l)]) *
                               number(b.host[s.transpose_b ? b.index(t, j, l) : b.index(t, l, j)]);
                    }
                    sum = alpha * sum + beta * number(c.host[c.index(t, i, j)]) + (with_bias ? i % 5 : 0);
                    right &= number(got[d.index(t, i, j)]) == number(Out(static_cast<float>(sum)));
                }
            }
            if (t + 1 < s.batch) {  // what lies between the batches is as before
                right &= number(got[(t + 1) * d.batch_offset - 1]) == number(d.host[(t + 1) * d.batch_offset - 1]);
            }
        }
        return right;
    }
};
