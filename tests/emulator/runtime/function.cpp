// Attributes of kernels, and how many of their blocks a multiprocessor holds.
#include "../error.hpp"
#include "launch.hpp"

#include <cstring>

using namespace emulator;

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* host)
{
    const entry lock;
    kernel_entry* k = find_kernel(host);
    if (k == nullptr) { return remember(cudaErrorInvalidDeviceFunction); }
    const function& f = *k->code;
    std::memset(out, 0, sizeof *out);
    const unsigned limit = f.syntax->max_threads;
    out->sharedSizeBytes = f.shared_bytes;
    out->localSizeBytes = f.local_bytes;
    out->maxThreadsPerBlock = limit != 0 ? static_cast<int>(limit) : 1024;
    out->numRegs = 32;
    out->binaryVersion = settings().device.major * 10 + settings().device.minor;
    // `.target sm_80`: CUB chooses its tuning by this.
    out->ptxVersion = std::atoi(k->module->syntax.target.c_str() + std::strlen("sm_"));
    out->maxDynamicSharedSizeBytes = static_cast<int>(shared_limit(*k) - f.shared_bytes);
    out->preferredShmemCarveout = -1;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute which, int value)
{
    const entry lock;
    kernel_entry* k = find_kernel(host);
    if (k == nullptr) { return remember(cudaErrorInvalidDeviceFunction); }
    if (which == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || k->code->shared_bytes + static_cast<unsigned>(value) >
                             static_cast<unsigned>(settings().device.shared_per_block_optin)) {
            return remember(cudaErrorInvalidValue);
        }
    } else if (which != cudaFuncAttributePreferredSharedMemoryCarveout) {
        stop("cudaFuncSetAttribute: attribute " + std::to_string(static_cast<int>(which)) + " is not implemented");
    }
    k->attributes[which] = value;
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaFuncGetName(const char** name, const void* host)
{
    const entry lock;
    kernel_entry* k = find_kernel(host);
    if (k == nullptr) { return remember(cudaErrorInvalidDeviceFunction); }
    *name = k->name.c_str();
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void* host, int threads,
                                                                   std::size_t dynamic_shared, unsigned)
{
    const entry lock;
    kernel_entry* k = find_kernel(host);
    if (k == nullptr) { return remember(cudaErrorInvalidDeviceFunction); }
    if (threads <= 0) { return remember(cudaErrorInvalidValue); }
    const unsigned limit = k->code->syntax->max_threads != 0 ? k->code->syntax->max_threads : 1024;
    *n = static_cast<unsigned>(threads) > limit ? 0
                                                : static_cast<int>(blocks_per_multiprocessor(needs_of(
                                                      *k->code, static_cast<unsigned>(threads), dynamic_shared)));
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void* host, int threads,
                                                          std::size_t dynamic_shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, host, threads, dynamic_shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* host, int n_blocks, int)
{
    const entry lock;
    kernel_entry* k = find_kernel(host);
    if (k == nullptr) { return remember(cudaErrorInvalidDeviceFunction); }
    const auto each = static_cast<std::size_t>(settings().device.shared_per_multiprocessor / n_blocks -
                                               settings().device.reserved_shared);
    const std::size_t limit = std::min(each, shared_limit(*k));
    *bytes = limit > k->code->shared_bytes ? limit - k->code->shared_bytes : 0;
    return cudaSuccess;
}
}
