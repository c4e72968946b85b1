// Choosing an algorithm, of which there is one, and putting products on streams.
#include "product.hpp"

#include <algorithm>
#include <cstring>
#include <string>

using namespace emulator;
using namespace emulator::cublaslt;

namespace {

constexpr std::uint64_t algorithm_magic = 0x706c'6169'742d'6c74;

/// What cublasLtMatmulAlgo_t holds: the workspace that is used, and the alignment of A, B, C and D that is relied on.
struct algorithm {
    std::uint64_t magic = algorithm_magic;
    std::uint64_t workspace = 0;
    std::uint32_t alignment[4] = {1, 1, 1, 1};
};
static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// Products with room for it use a workspace as a split sum does, so that a shared one is noticed.
std::uint64_t workspace_for(const problem& p, std::uint64_t limit)
{
    return std::min(limit, 4 * p.m() * p.n()) / 256 * 256;
}

struct request {
    problem what;
    operands where;
    const void* alpha = nullptr;  ///< of the device, when the pointer mode says so
    const void* beta = nullptr;
    void* workspace = nullptr;
    std::uint64_t workspace_bytes = 0;
};

double scalar(std::int32_t type, const void* at)
{
    if (type == CUDA_R_64F) {
        double v;
        std::memcpy(&v, at, sizeof v);
        return v;
    }
    float v;
    std::memcpy(&v, at, sizeof v);
    return v;
}

bool read_scalars(operation& o, request& r)
{
    const std::size_t size = size_of(static_cast<std::uint32_t>(r.what.how.scale));
    const std::uint8_t* alpha = extension::read(o, r.alpha, size, true);
    const std::uint8_t* beta = extension::read(o, r.beta, size, true);
    if (alpha == nullptr || beta == nullptr) { return false; }
    r.where.alpha = scalar(r.what.how.scale, alpha);
    r.where.beta = scalar(r.what.how.scale, beta);
    return true;
}

void run(operation& o, request r)
{
    if (r.what.how.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE && !read_scalars(o, r)) { return; }
    if (r.workspace_bytes != 0) {
        const std::vector<std::uint8_t> partial(r.workspace_bytes, 0xa5);
        if (!extension::write(o, r.workspace, partial.data(), partial.size())) { return; }
    }
    multiply(o, r.what, r.where);
}

bool aligned(const void* pointer, std::uint64_t to) { return reinterpret_cast<std::uint64_t>(pointer) % to == 0; }

cublasStatus_t check_pointers(const request& r, const algorithm& with, std::size_t workspace_given)
{
    const operands& x = r.where;
    const void* const pointers[] = {x.a, x.b, x.c, x.d};
    const matrix_layout* const layouts[] = {&r.what.a, &r.what.b, &r.what.c, &r.what.d};
    for (int k = 0; k < 4; ++k) {
        if (k == 2 && x.c == nullptr && x.beta == 0) { continue; }
        if (pointers[k] == nullptr) { return CUBLAS_STATUS_INVALID_VALUE; }
        if (!aligned(pointers[k], std::max<std::uint64_t>(size_of(layouts[k]->type), with.alignment[k]))) {
            return CUBLAS_STATUS_INVALID_VALUE;
        }
    }
    if (r.what.how.epilogue == CUBLASLT_EPILOGUE_BIAS && r.what.how.bias == nullptr) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const bool workspace = with.workspace == 0 || (r.workspace != nullptr && workspace_given >= with.workspace);
    return workspace && aligned(r.workspace, 256) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

std::string name_of(const problem& p)
{
    return "cublasLtMatmul (" + std::to_string(p.m()) + " x " + std::to_string(p.n()) + " x " + std::to_string(p.k()) +
           (p.d.batch > 1 ? ", " + std::to_string(p.d.batch) + " times" : "") + ")";
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t how,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t with, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* n)
{
    if (handle == nullptr) { return CUBLAS_STATUS_NOT_INITIALIZED; }
    if (!how || !a || !b || !c || !d || !with || wanted <= 0 || results == nullptr || n == nullptr) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    *n = 0;
    const problem p{description_of(how), layout_of(a), layout_of(b), layout_of(c), layout_of(d)};
    if (const cublasStatus_t e = check(p); e != CUBLAS_STATUS_SUCCESS) { return e; }
    algorithm chosen;
    chosen.workspace = workspace_for(p, preference_of(with).workspace);
    std::copy_n(preference_of(with).alignment, 4, chosen.alignment);
    results[0] = {};
    std::memcpy(&results[0].algo, &chosen, sizeof chosen);
    results[0].workspaceSize = chosen.workspace;
    results[0].state = CUBLAS_STATUS_SUCCESS;
    results[0].wavesCount = 1;
    *n = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t how, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    if (handle == nullptr) { return CUBLAS_STATUS_NOT_INITIALIZED; }
    if (!how || !a_layout || !b_layout || !c_layout || !d_layout || !alpha || !beta) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    request r{{description_of(how), layout_of(a_layout), layout_of(b_layout), layout_of(c_layout), layout_of(d_layout)},
              {a, b, c, d},
              alpha,
              beta,
              workspace};
    if (const cublasStatus_t e = check(r.what); e != CUBLAS_STATUS_SUCCESS) { return e; }
    if (r.what.how.pointer_mode == CUBLASLT_POINTER_MODE_HOST) {
        r.where.alpha = scalar(r.what.how.scale, alpha);
        r.where.beta = scalar(r.what.how.scale, beta);
    }
    algorithm with;
    if (algo != nullptr) {
        std::memcpy(static_cast<void*>(&with), algo, sizeof with);
        if (with.magic != algorithm_magic) { return CUBLAS_STATUS_INVALID_VALUE; }
    } else if (workspace != nullptr) {
        with.workspace = workspace_for(r.what, workspace_bytes);
    }
    r.workspace_bytes = with.workspace;
    if (const cublasStatus_t e = check_pointers(r, with, workspace_bytes); e != CUBLAS_STATUS_SUCCESS) { return e; }
    const extension::lock hold;
    int device = 0;
    cudaGetDevice(&device);
    const cudaError_t e = extension::submit(device, stream, name_of(r.what), [=] {
        return extension::make_operation(device, [=](operation& o) { run(o, r); });
    });
    return e == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
}
