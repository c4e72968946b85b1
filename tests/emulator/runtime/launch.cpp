#include "launch.hpp"

#include "../counters/launch_counters.hpp"
#include "../error.hpp"
#include "../execute/access.hpp"

#include <cstring>

namespace emulator {
namespace {

cudaError_t check(const kernel_entry& k, const launch_request& r)
{
    const function& f = *k.code;
    const std::uint64_t threads = r.threads.count();
    if (r.grid.count() == 0 || threads == 0 || threads > 1024 || r.threads.z > 64) {
        return cudaErrorInvalidConfiguration;
    }
    if (r.grid.y > 65535 || r.grid.z > 65535 || r.grid.x > 0x7fff'ffff) { return cudaErrorInvalidConfiguration; }
    if (f.syntax->max_threads != 0 && threads > f.syntax->max_threads) { return cudaErrorInvalidValue; }
    if (f.syntax->cluster > 1) {
        throw unsupported("kernel " + k.name + " has a cluster: clusters are not implemented");
    }
    if (f.shared_bytes + r.dynamic_shared > shared_limit(k)) { return cudaErrorInvalidValue; }
    const unsigned fit = blocks_per_multiprocessor(needs_of(f, static_cast<unsigned>(threads), r.dynamic_shared));
    if (fit == 0) { return cudaErrorLaunchOutOfResources; }
    if (r.cooperative &&
        r.grid.count() > std::uint64_t{fit} * static_cast<unsigned>(settings().device.multiprocessors)) {
        return cudaErrorCooperativeLaunchTooLarge;
    }
    return cudaSuccess;
}

std::shared_ptr<operation> make(const function& f, const launch_request& r, int device,
                                const std::vector<std::uint8_t>& parameters)
{
    static std::uint64_t next_id = 1;
    auto o = std::make_shared<operation>();
    o->device = device;
    o->kernel = std::make_unique<launch>();
    launch& l = *o->kernel;
    l.kernel = &f;
    l.device = device;
    l.grid = r.grid;
    l.threads = r.threads;
    l.dynamic_shared = static_cast<std::uint32_t>(r.dynamic_shared);
    l.parameters = parameters;
    l.cooperative = r.cooperative;
    l.id = next_id++;
    l.counters = std::make_shared<launch_counters>();
    if (r.cooperative) {
        l.workspace = &memory().allocate(256, memory_kind::device, device, "workspace of grid.sync");
        std::memset(reinterpret_cast<void*>(l.workspace->begin), 0, 256);
        l.workspace->written.mark(0, 256);
    }
    return o;
}

}  // namespace

std::size_t shared_limit(const kernel_entry& k)
{
    const auto at = k.attributes.find(cudaFuncAttributeMaxDynamicSharedMemorySize);
    const auto usual = static_cast<std::size_t>(settings().device.shared_per_block);
    return at == k.attributes.end() ? usual
                                    : std::max(usual, k.code->shared_bytes + static_cast<std::size_t>(at->second));
}

cudaError_t launch_kernel(kernel_entry* k, const launch_request& r, void** arguments)
{
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return e; }
    if (k == nullptr) { return cudaErrorInvalidDeviceFunction; }
    stream* s = find_stream(r.stream);
    if (s == nullptr) { return cudaErrorInvalidResourceHandle; }
    try {
        if (const cudaError_t e = check(*k, r); e != cudaSuccess) { return e; }
        place_variables(*k->module, s->device);
        std::vector<std::uint8_t> parameters(k->code->parameter_bytes);
        for (std::size_t n = 0; n < k->code->parameters.size(); ++n) {
            const parameter_slot& p = k->code->parameters[n];
            std::memcpy(parameters.data() + p.offset, arguments[n], p.size);
        }
        const function& f = *k->code;
        const int device = s->device;
        submit(*s, "kernel " + k->name, make_operation([=, &f] { return make(f, r, device, parameters); }));
    } catch (const unsupported& e) {
        stop(e.what());
    }
    return cudaSuccess;
}

}  // namespace emulator

using namespace emulator;

namespace {

dimensions from(dim3 d) { return {d.x, d.y, d.z}; }

struct configuration {
    dim3 grid, threads;
    std::size_t shared;
    cudaStream_t stream;
};
thread_local std::vector<configuration> configurations;

}  // namespace

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 threads, std::size_t shared, CUstream_st* stream)
{
    configurations.push_back({grid, threads, shared, stream});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* threads, std::size_t* shared, void* stream)
{
    if (configurations.empty()) { return cudaErrorMissingConfiguration; }
    const configuration c = configurations.back();
    configurations.pop_back();
    *grid = c.grid;
    *threads = c.threads;
    *shared = c.shared;
    *static_cast<cudaStream_t*>(stream) = c.stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host)
{
    const entry lock;
    const auto at = state().kernels.find(host);
    if (at == state().kernels.end()) { return remember(cudaErrorInvalidDeviceFunction); }
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 threads, void** arguments, std::size_t shared,
                             cudaStream_t stream)
{
    const entry lock;
    return remember(launch_kernel(find_kernel(host), {from(grid), from(threads), shared, stream, false}, arguments));
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 threads, void** arguments, std::size_t shared,
                               cudaStream_t stream)
{
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, threads, arguments, shared, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 threads, void** arguments, std::size_t shared,
                                    cudaStream_t stream)
{
    return __cudaLaunchKernel(kernel, grid, threads, arguments, shared,
                              stream == nullptr ? cudaStreamPerThread : stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 threads, void** arguments, std::size_t shared,
                                        cudaStream_t stream)
{
    const entry lock;
    return remember(launch_kernel(find_kernel(host), {from(grid), from(threads), shared, stream, true}, arguments));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* host, void** arguments)
{
    const entry lock;
    launch_request r{from(config->gridDim), from(config->blockDim), config->dynamicSmemBytes, config->stream, false};
    for (unsigned k = 0; k < config->numAttrs; ++k) {
        const cudaLaunchAttribute& a = config->attrs[k];
        switch (a.id) {
        case cudaLaunchAttributeIgnore: break;
        case cudaLaunchAttributeCooperative: r.cooperative = a.val.cooperative != 0; break;
        case cudaLaunchAttributePriority:                         // any order is allowed
        case cudaLaunchAttributeProgrammaticStreamSerialization:  // starting later than allowed is allowed
        case cudaLaunchAttributeMemSyncDomain: break;
        case cudaLaunchAttributeClusterDimension:
            if (a.val.clusterDim.x * a.val.clusterDim.y * a.val.clusterDim.z != 1) {
                stop("launch attribute: clusters are not implemented");
            }
            break;
        default: stop("launch attribute " + std::to_string(static_cast<int>(a.id)) + " is not implemented");
        }
    }
    return remember(launch_kernel(find_kernel(host), r, arguments));
}
}
