// Products by cuBLASLt: types, orders, transposes, strides, batches and bias against the host; in streams and graphs;
// and what is found when memory is shared, missing, too short or not aligned as promised.
#include "programs/cublaslt_product.hpp"

template <class In, class Out>
void test_types()
{
    for (const int order : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW}) {
        for (int k = 0; k < 8; ++k) {
            const bool with_bias = k >= 4;
            const shape s{5 + k, 17, 3 * k + 1, 1 + k % 3, k % 2 == 1, k % 4 >= 2, order, k % 3};
            product<In, Out> p(s, with_bias, k % 2 == 0 ? 1 << 16 : 0);
            CHECK(p.run(1, 0) == CUBLAS_STATUS_SUCCESS);
            CHECK(cudaDeviceSynchronize() == cudaSuccess);
            CHECK(p.right(1, 0, with_bias));
            CHECK(p.run(2, 0.5) == CUBLAS_STATUS_SUCCESS);
            CHECK(p.right(2, 0.5, with_bias));
            CHECK(!p.right(2, 0.5, !with_bias));
        }
    }
}

constexpr shape square{16, 16, 16, 1, false, false, CUBLASLT_ORDER_ROW, 0};

void test_scalars_of_the_device()
{
    product<float, float> p(square, false);
    p.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
    check::device_array<float> scalars(std::vector<float>{3, 2});
    CHECK(cublasLtMatmul(p.handle, p.desc, scalars.data(), p.a.device.data(), p.a.layout, p.b.device.data(), p.b.layout,
                         scalars.data() + 1, p.c.device.data(), p.c.layout, p.d.device.data(), p.d.layout, nullptr,
                         nullptr, 0, nullptr) == CUBLAS_STATUS_SUCCESS);
    CHECK(p.right(3, 2, false));
}

__global__ void scale(float* x, int n)
{
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) { x[i] *= 2; }
}

// D is made from A twice as large after each launch of the graph.
void test_graph()
{
    product<float, float> p(square, false, 1 << 16);
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaDeviceSynchronize();
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK(p.run(1, 0, s) == CUBLAS_STATUS_SUCCESS);
    scale<<<1, 64, 0, s>>>(p.a.device.data(), 256);
    cudaGraph_t g;
    cudaGraphExec_t e;
    CHECK(cudaStreamEndCapture(s, &g) == cudaSuccess);
    CHECK(cudaGraphInstantiate(&e, g, 0) == cudaSuccess);
    for (int k = 0; k < 3; ++k) { CHECK(cudaGraphLaunch(e, s) == cudaSuccess); }
    CHECK(cudaStreamSynchronize(s) == cudaSuccess);
    CHECK(p.right(4, 0, false));
    cudaGraphExecDestroy(e);
    cudaGraphDestroy(g);
    cudaStreamDestroy(s);
}

void test_attributes()
{
    product<float, float> p(square, false);
    std::uint64_t rows = 0;
    std::size_t written = 0;
    CHECK(cublasLtMatrixLayoutGetAttribute(p.a.layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &written) ==
          CUBLAS_STATUS_SUCCESS);
    CHECK(rows == 16 && written == 8);
    std::int32_t compute = 0;
    CHECK(cublasLtMatmulDescGetAttribute(p.desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute, sizeof compute,
                                         nullptr) == CUBLAS_STATUS_SUCCESS);
    CHECK(compute == CUBLAS_COMPUTE_32F);
    CHECK(cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_TRANSA, &rows, 8) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasLtGetVersion() == CUBLAS_VERSION);
    CHECK(std::string(cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)) == "CUBLAS_STATUS_NOT_SUPPORTED");
}

// TF32 has 10 bits of fraction: 1 + 2^-11 rounds away.
void test_tf32()
{
    product<float, float> p({1, 1, 1, 1, false, false, CUBLASLT_ORDER_COL, 0}, false);
    p.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F_FAST_TF32);
    p.a.device.copy_from({1 + 1.0f / 2048, 0, 0, 0});
    p.b.device.copy_from({1 + 1.0f / 8192, 0, 0, 0});
    CHECK(p.run(1, 0) == CUBLAS_STATUS_SUCCESS);
    CHECK(p.d.device.host()[0] == 1 + 1.0f / 1024);
}

void test_wrong_calls()
{
    product<float, float> p(square, false, 1 << 10);
    CHECK(p.chosen.workspaceSize == 1 << 10);
    float* a = p.a.device.data();
    float* d = p.d.device.data();
    CHECK(p.run_on(a, d, nullptr, 0, 1, 0, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(p.run_on(a, d, p.workspace.data(), 512, 1, 0, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(p.run_on(a, d, p.workspace.data() + 16, 4096, 1, 0, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(p.run_on(nullptr, d, p.workspace.data(), 4096, 1, 0, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(p.run_on(a + 4, d, p.workspace.data(), 4096, 1, 0, nullptr) ==
          CUBLAS_STATUS_INVALID_VALUE);  // not 256-byte aligned
    const std::uint64_t rows = 17;
    cublasLtMatrixLayoutSetAttribute(p.c.layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows);
    CHECK(p.run(1, 0) == CUBLAS_STATUS_INVALID_VALUE);
    product<float, float> q(square, false);
    const std::uint32_t half = CUDA_R_16F;
    cublasLtMatrixLayoutSetAttribute(q.a.layout, CUBLASLT_MATRIX_LAYOUT_TYPE, &half, sizeof half);
    CHECK(q.run(1, 0) == CUBLAS_STATUS_NOT_SUPPORTED);
}

// Two products in two streams: of one workspace, or a result that the other reads.
void test_races()
{
    cudaStream_t s[2];
    for (auto& x : s) { cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking); }
    for (const int kind : {0, 1, 2}) {
        product<float, float> p(square, false, kind == 1 ? 0 : 1 << 16), q(square, false, kind == 1 ? 0 : 1 << 16);
        cudaDeviceSynchronize();
        emulator_clear_reports();
        CHECK(p.run(1, 0, s[0]) == CUBLAS_STATUS_SUCCESS);
        const float* from = kind == 1 ? p.d.device.data() : q.a.device.data();
        void* space = kind == 2 ? q.workspace.data() : p.workspace.data();
        CHECK(q.run_on(from, q.d.device.data(), space, 1 << 16, 1, 0, s[1]) == CUBLAS_STATUS_SUCCESS);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(check::reported("race", "cublasLtMatmul (16 x 16 x 16)") == (kind != 2));
    }
    emulator_clear_reports();
    product<float, float> p(square, false);
    float* fresh = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&fresh), 1024);
    CHECK(p.run_on(fresh, p.d.device.data(), nullptr, 0, 1, 0, nullptr) == CUBLAS_STATUS_SUCCESS);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(check::reported("uninitialised read", "cublasLtMatmul"));
    emulator_clear_reports();
    float* small = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&small), 1020);
    CHECK(p.run_on(p.a.device.data(), small, nullptr, 0, 1, 0, nullptr) == CUBLAS_STATUS_SUCCESS);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(check::reported("out of bounds", "beyond its end"));
    emulator_clear_reports();
}

int main()
{
    test_types<float, float>();
    test_types<double, double>();
    test_types<__half, __half>();
    test_types<__half, float>();
    test_types<__nv_bfloat16, __nv_bfloat16>();
    test_types<__nv_bfloat16, float>();
    test_scalars_of_the_device();
    test_tf32();
    test_attributes();
    test_wrong_calls();
    for (unsigned seed = 0; seed < 10; ++seed) {
        emulator_set_seed(seed);
        test_graph();
    }
    CHECK(emulator_report_count() == 0);
    check::quiet();
    test_races();
    return check::result();
}
