// Devices: how many, what they are like, which one a host thread uses, and who may access whose memory.
#include "../error.hpp"
#include "../execute/access.hpp"
#include "state.hpp"

#include <cstring>

using namespace emulator;

namespace {

bool valid(int device) { return device >= 0 && device < settings().device.devices; }

int attribute(cudaDeviceAttr a)
{
    const device_model& d = settings().device;
    switch (a) {
    case cudaDevAttrMaxThreadsPerBlock: return 1024;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return 1024;
    case cudaDevAttrMaxBlockDimZ: return 64;
    case cudaDevAttrMaxGridDimX: return 0x7fff'ffff;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock: return d.shared_per_block;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return d.shared_per_block_optin;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return d.shared_per_multiprocessor;
    case cudaDevAttrReservedSharedMemoryPerBlock: return d.reserved_shared;
    case cudaDevAttrTotalConstantMemory: return 65536;
    case cudaDevAttrWarpSize: return 32;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: return 65536;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate: return 1'000'000;
    case cudaDevAttrGlobalMemoryBusWidth: return 512;
    case cudaDevAttrTextureAlignment: return 512;
    case cudaDevAttrMultiProcessorCount: return d.multiprocessors;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return d.threads_per_multiprocessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return d.blocks_per_multiprocessor;
    case cudaDevAttrComputeCapabilityMajor: return d.major;
    case cudaDevAttrComputeCapabilityMinor: return d.minor;
    case cudaDevAttrL2CacheSize: return 32 << 20;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrComputePreemptionSupported: return 1;
    case cudaDevAttrAsyncEngineCount: return 2;
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrIntegrated:
    case cudaDevAttrComputeMode:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrTccDriver:
    case cudaDevAttrIsMultiGpuBoard:
    case cudaDevAttrMultiGpuBoardGroupID:
    case cudaDevAttrPciBusId:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrClusterLaunch:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrDirectManagedMemAccessFromHost: return 0;
    default: stop("cudaDeviceGetAttribute: attribute " + std::to_string(static_cast<int>(a)) + " is not implemented");
    }
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* n)
{
    *n = settings().device.devices;
    return *n > 0 ? cudaSuccess : remember(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device)
{
    *device = this_host_thread().device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    const entry lock;
    if (!valid(device)) { return remember(cudaErrorInvalidDevice); }
    this_host_thread().device = device;
    return remember(sticky_error());
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned)
{
    return valid(device) ? cudaSuccess : remember(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr a, int device)
{
    const entry lock;
    if (!valid(device)) { return remember(cudaErrorInvalidDevice); }
    *value = attribute(a);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device)
{
    const entry lock;
    if (!valid(device)) { return remember(cudaErrorInvalidDevice); }
    const device_model& d = settings().device;
    std::memset(p, 0, sizeof *p);
    std::strcpy(p->name, "plait emulated device");
    p->totalGlobalMem = d.memory;
    p->sharedMemPerBlock = static_cast<std::size_t>(d.shared_per_block);
    p->sharedMemPerBlockOptin = static_cast<std::size_t>(d.shared_per_block_optin);
    p->sharedMemPerMultiprocessor = static_cast<std::size_t>(d.shared_per_multiprocessor);
    p->reservedSharedMemPerBlock = static_cast<std::size_t>(d.reserved_shared);
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fff'ffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 65536;
    p->major = d.major;
    p->minor = d.minor;
    p->multiProcessorCount = d.multiprocessors;
    p->maxThreadsPerMultiProcessor = d.threads_per_multiprocessor;
    p->maxBlocksPerMultiProcessor = d.blocks_per_multiprocessor;
    p->l2CacheSize = 32 << 20;
    p->memoryBusWidth = 512;
    p->asyncEngineCount = 2;
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = p->concurrentManagedAccess =
        1;
    p->cooperativeLaunch = p->streamPrioritiesSupported = p->memoryPoolsSupported = p->hostNativeAtomicSupported = 1;
    p->pciDeviceID = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize()
{
    const entry lock;
    return remember(wait_for_device(this_host_thread().device));
}

// The device's context begins anew: a sticky error is gone.
cudaError_t cudaDeviceReset()
{
    const entry lock;
    const cudaError_t e = wait_for_device(this_host_thread().device);
    (void)e;
    current_device().sticky = 0;
    this_host_thread().last = cudaSuccess;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer)
{
    if (!valid(device) || !valid(peer)) { return remember(cudaErrorInvalidDevice); }
    *can = device != peer ? 1 : 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    const entry lock;
    const int device = this_host_thread().device;
    if (!valid(peer) || peer == device) { return remember(cudaErrorInvalidDevice); }
    if (flags != 0) { return remember(cudaErrorInvalidValue); }
    if (memory().peer(device, peer)) { return remember(cudaErrorPeerAccessAlreadyEnabled); }
    memory().set_peer(device, peer, true);
    return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    const entry lock;
    const int device = this_host_thread().device;
    if (!valid(peer) || peer == device || !memory().peer(device, peer)) {
        return remember(cudaErrorPeerAccessNotEnabled);
    }
    memory().set_peer(device, peer, false);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr a, int, int)
{
    *value = a == cudaDevP2PAttrAccessSupported || a == cudaDevP2PAttrNativeAtomicSupported ? 1 : 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest)
{
    if (least != nullptr) { *least = 0; }
    if (greatest != nullptr) { *greatest = -5; }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit which)
{
    const entry lock;
    const auto at = current_device().limits.find(which);
    *value = at != current_device().limits.end() ? at->second
             : which == cudaLimitMallocHeapSize  ? std::size_t{8} << 20
                                                 : 1024;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit which, std::size_t value)
{
    const entry lock;
    current_device().limits[which] = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device)
{
    std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", device);
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    const entry lock;
    current_device().flags = flags;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned* flags)
{
    const entry lock;
    *flags = current_device().flags;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
}
