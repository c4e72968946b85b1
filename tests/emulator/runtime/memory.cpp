// Allocation: on devices, on the host, managed, and in the order of a stream.
#include "../error.hpp"
#include "../execute/access.hpp"
#include "launch.hpp"

#include <cstring>

using namespace emulator;

namespace {

cudaError_t allocate_device(void** pointer, std::size_t size, const char* what)
{
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return e; }
    if (pointer == nullptr) { return cudaErrorInvalidValue; }
    *pointer = nullptr;
    if (size == 0) { return cudaSuccess; }
    const int device = this_host_thread().device;
    if (memory().bytes_of_device(device) + size > settings().device.memory) { return cudaErrorMemoryAllocation; }
    *pointer = reinterpret_cast<void*>(memory().allocate(size, memory_kind::device, device, what).begin);
    return cudaSuccess;
}

cudaError_t allocate_host(void** pointer, std::size_t size, memory_kind kind, const char* what)
{
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return e; }
    if (pointer == nullptr || size == 0) {
        return pointer == nullptr ? cudaErrorInvalidValue : (*pointer = nullptr, cudaSuccess);
    }
    allocation& a = memory().allocate(size, kind, kind == memory_kind::managed ? this_host_thread().device : -1, what);
    a.written = written_map();  // the host may write it unseen
    *pointer = reinterpret_cast<void*>(a.begin);
    return cudaSuccess;
}

allocation* allocation_at(const void* pointer)
{
    allocation* a = memory().find_live(reinterpret_cast<std::uint64_t>(pointer));
    return a != nullptr && a->begin == reinterpret_cast<std::uint64_t>(pointer) ? a : nullptr;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t size)
{
    const entry lock;
    return remember(allocate_device(pointer, size, "cudaMalloc"));
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height)
{
    const entry lock;
    *pitch = (width + 511) / 512 * 512;
    return remember(allocate_device(pointer, *pitch * height, "cudaMallocPitch"));
}

// cudaFree waits for the device's work: a kernel that still runs may use the memory.
cudaError_t cudaFree(void* pointer)
{
    const entry lock;
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return remember(e); }
    if (pointer == nullptr) { return cudaSuccess; }
    allocation* a = allocation_at(pointer);
    if (a == nullptr || (a->kind != memory_kind::device && a->kind != memory_kind::managed)) {
        return remember(cudaErrorInvalidValue);
    }
    const cudaError_t e = wait_for_device(a->device);
    memory().free(*a);
    return remember(e);
}

cudaError_t cudaMallocHost(void** pointer, std::size_t size)
{
    const entry lock;
    return remember(allocate_host(pointer, size, memory_kind::host, "cudaMallocHost"));
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned)
{
    const entry lock;
    return remember(allocate_host(pointer, size, memory_kind::host, "cudaHostAlloc"));
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t size, unsigned)
{
    const entry lock;
    return remember(allocate_host(pointer, size, memory_kind::managed, "cudaMallocManaged"));
}

cudaError_t cudaFreeHost(void* pointer)
{
    const entry lock;
    if (pointer == nullptr) { return cudaSuccess; }
    allocation* a = allocation_at(pointer);
    if (a == nullptr || a->kind != memory_kind::host) { return remember(cudaErrorInvalidValue); }
    cudaError_t e = cudaSuccess;
    for (int d = 0; d < settings().device.devices; ++d) { e = wait_for_device(d); }
    memory().free(*a);
    return remember(e);
}

cudaError_t cudaHostRegister(void* pointer, std::size_t size, unsigned)
{
    const entry lock;
    if (memory().find_live(reinterpret_cast<std::uint64_t>(pointer)) != nullptr) {
        return remember(cudaErrorHostMemoryAlreadyRegistered);
    }
    memory().add(pointer, size, memory_kind::host, "cudaHostRegister");
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer)
{
    const entry lock;
    allocation* a = allocation_at(pointer);
    if (a == nullptr) { return remember(cudaErrorHostMemoryNotRegistered); }
    memory().remove(*a);
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned)
{
    const entry lock;
    if (memory().find_live(reinterpret_cast<std::uint64_t>(host)) == nullptr) {
        return remember(cudaErrorInvalidValue);
    }
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void*)
{
    *flags = cudaHostAllocMapped | cudaHostAllocPortable;
    return cudaSuccess;
}

// In stream order: the memory is there at once, but freed only when the stream has come so far.
cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaStream_t stream)
{
    const entry lock;
    if (find_stream(stream) == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    if (find_stream(stream)->capture) { stop("cudaMallocAsync during capture is not implemented"); }
    return remember(allocate_device(pointer, size, "cudaMallocAsync"));
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t size, cudaMemPool_t, cudaStream_t stream)
{
    return cudaMallocAsync(pointer, size, stream);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream)
{
    const entry lock;
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return remember(e); }
    emulator::stream* s = find_stream(stream);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    if (pointer == nullptr) { return cudaSuccess; }
    allocation* a = allocation_at(pointer);
    if (a == nullptr) { return remember(cudaErrorInvalidValue); }
    submit(*s, "cudaFreeAsync", [a](operation&) { memory().free(*a); });
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total)
{
    const entry lock;
    *total = settings().device.memory;
    *free = *total - memory().bytes_of_device(this_host_thread().device);
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer)
{
    const entry lock;
    std::memset(attributes, 0, sizeof *attributes);
    attributes->device = -1;
    allocation* a = memory().find_live(reinterpret_cast<std::uint64_t>(pointer));
    if (a == nullptr) {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->hostPointer = const_cast<void*>(pointer);
        return cudaSuccess;
    }
    attributes->type = a->kind == memory_kind::host      ? cudaMemoryTypeHost
                       : a->kind == memory_kind::managed ? cudaMemoryTypeManaged
                                                         : cudaMemoryTypeDevice;
    attributes->device = a->device >= 0 ? a->device : this_host_thread().device;
    attributes->devicePointer = const_cast<void*>(pointer);
    attributes->hostPointer =
        a->kind == memory_kind::host || a->kind == memory_kind::managed ? const_cast<void*>(pointer) : nullptr;
    return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol)
{
    const entry lock;
    variable_entry* v = find_variable(symbol);
    if (v == nullptr) { return remember(cudaErrorInvalidSymbol); }
    const int device = this_host_thread().device;
    place_variables(*v->module, device);
    *pointer = reinterpret_cast<void*>(v->module->addresses[device].at(v->name));
    return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(std::size_t* size, const void* symbol)
{
    const entry lock;
    variable_entry* v = find_variable(symbol);
    if (v == nullptr) { return remember(cudaErrorInvalidSymbol); }
    *size = v->size;
    return cudaSuccess;
}

// Where managed memory lies makes no difference here.
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, cudaMemLocation, unsigned, cudaStream_t)
{
    return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
}
