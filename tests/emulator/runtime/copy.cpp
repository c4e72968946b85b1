// memcpy and memset, synchronous and in streams. A copy that is not waited for happens late: its source may have
// changed by then, and its destination is not written before.
#include "../check/ranges.hpp"
#include "../error.hpp"
#include "../execute/access.hpp"
#include "launch.hpp"

#include <cstring>

using namespace emulator;

namespace {

/// Whether a range may be copied from or to: memory of no allocation is the host's own.
bool valid_range(const void* pointer, std::size_t n)
{
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    allocation* a = memory().find(address);
    return a == nullptr || (a->live && a->holds(address, n));
}

bool is_pageable(const void* pointer)
{
    return memory().find_live(reinterpret_cast<std::uint64_t>(pointer)) == nullptr;
}

struct rectangle {
    std::uint8_t* to;
    std::size_t to_pitch;
    const std::uint8_t* from;
    std::size_t from_pitch;
    std::size_t width;
    std::size_t height;
};

void copy_rows(operation& o, const rectangle& r)
{
    for (std::size_t y = 0; y < r.height; ++y) {
        std::uint8_t* to = r.to + y * r.to_pitch;
        const std::uint8_t* from = r.from + y * r.from_pitch;
        const auto to_address = reinterpret_cast<std::uint64_t>(to);
        const auto from_address = reinterpret_cast<std::uint64_t>(from);
        allocation* destination = memory().find(to_address);
        allocation* source = memory().find(from_address);
        if ((destination != nullptr && !destination->live) || (source != nullptr && !source->live)) {
            make_report(rule::use_after_free, o.what + " of memory that was freed: " +
                                                  (source != nullptr && !source->live ? source : destination)->name);
            o.error = cudaErrorIllegalAddress;
            return;
        }
        if (source != nullptr) { order_range(o, *source, from_address - source->begin, r.width, false); }
        if (destination != nullptr) {
            order_range(o, *destination, to_address - destination->begin, r.width, true);
            static const written_map all_written;
            destination->written.copy(to_address - destination->begin,
                                      source != nullptr ? source->written : all_written,
                                      source != nullptr ? from_address - source->begin : 0, r.width);
        }
        std::memmove(to, from, r.width);
    }
}

cudaError_t copy(const rectangle& given, cudaStream_t handle, bool wait, const char* what)
{
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return e; }
    stream* s = find_stream(handle);
    if (s == nullptr) { return cudaErrorInvalidResourceHandle; }
    rectangle r = given;
    if (r.width == 0 || r.height == 0) { return cudaSuccess; }
    if (r.to == nullptr || r.from == nullptr) { return cudaErrorInvalidValue; }
    r.to = reinterpret_cast<std::uint8_t*>(memory().real_address(reinterpret_cast<std::uint64_t>(r.to)));
    r.from = reinterpret_cast<const std::uint8_t*>(memory().real_address(reinterpret_cast<std::uint64_t>(r.from)));
    const std::size_t to_size = (r.height - 1) * r.to_pitch + r.width;
    const std::size_t from_size = (r.height - 1) * r.from_pitch + r.width;
    if (!valid_range(r.to, to_size) || !valid_range(r.from, from_size)) { return cudaErrorInvalidValue; }
    // Pageable memory of the host is read before the call returns, and written before it returns.
    std::shared_ptr<std::vector<std::uint8_t>> staged;
    if (is_pageable(r.from) && !wait && !s->capture) {
        staged = std::make_shared<std::vector<std::uint8_t>>(r.from, r.from + from_size);
        r.from = staged->data();
    }
    wait |= is_pageable(r.to) && !s->capture;
    const auto o = submit(*s, what, [r, staged](operation& op) { copy_rows(op, r); });
    return wait ? wait_for(o) : cudaSuccess;
}

cudaError_t copy(void* to, const void* from, std::size_t n, cudaStream_t s, bool wait, const char* what)
{
    return copy({static_cast<std::uint8_t*>(to), n, static_cast<const std::uint8_t*>(from), n, n, 1}, s, wait, what);
}

cudaError_t fill(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                 cudaStream_t handle, bool wait, const char* what)
{
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return e; }
    stream* s = find_stream(handle);
    if (s == nullptr) { return cudaErrorInvalidResourceHandle; }
    if (width == 0 || height == 0) { return cudaSuccess; }
    if (pointer == nullptr || is_pageable(pointer) || !valid_range(pointer, (height - 1) * pitch + width)) {
        return cudaErrorInvalidValue;
    }
    const auto o = submit(*s, what, [=](operation& op) {
        for (std::size_t y = 0; y < height; ++y) {
            const std::uint64_t row = reinterpret_cast<std::uint64_t>(pointer) + y * pitch;
            allocation* a = memory().find(row);
            if (a == nullptr || !a->live) {
                make_report(rule::use_after_free, op.what + " of memory that was freed");
                return;
            }
            order_range(op, *a, row - a->begin, width, true);
            std::memset(reinterpret_cast<void*>(row), value, width);
            a->written.mark(row - a->begin, width);
        }
    });
    return wait ? wait_for(o) : cudaSuccess;
}

cudaError_t symbol_range(const void* symbol, std::size_t n, std::size_t offset, std::uint8_t** place)
{
    variable_entry* v = find_variable(symbol);
    if (v == nullptr) { return cudaErrorInvalidSymbol; }
    if (offset + n > v->size) { return cudaErrorInvalidValue; }
    const int device = this_host_thread().device;
    place_variables(*v->module, device);
    *place = reinterpret_cast<std::uint8_t*>(v->module->addresses[device].at(v->name)) + offset;
    return cudaSuccess;
}

cudaError_t copy_symbol(const void* symbol, void* host, std::size_t n, std::size_t offset, bool to_symbol,
                        cudaStream_t s, bool wait, const char* what)
{
    std::uint8_t* place = nullptr;
    const cudaError_t e = symbol_range(symbol, n, offset, &place);
    if (e != cudaSuccess) { return e; }
    return to_symbol ? copy(place, host, n, s, wait, what) : copy(host, place, n, s, wait, what);
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind)
{
    const entry lock;
    return remember(copy(to, from, n, nullptr, true, "cudaMemcpy"));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind, cudaStream_t s)
{
    const entry lock;
    return remember(copy(to, from, n, s, false, "cudaMemcpyAsync"));
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t n)
{
    const entry lock;
    return remember(copy(to, from, n, nullptr, true, "cudaMemcpyPeer"));
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t n, cudaStream_t s)
{
    const entry lock;
    return remember(copy(to, from, n, s, false, "cudaMemcpyPeerAsync"));
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind)
{
    const entry lock;
    return remember(copy(
        {static_cast<std::uint8_t*>(to), to_pitch, static_cast<const std::uint8_t*>(from), from_pitch, width, height},
        nullptr, true, "cudaMemcpy2D"));
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t s)
{
    const entry lock;
    return remember(copy(
        {static_cast<std::uint8_t*>(to), to_pitch, static_cast<const std::uint8_t*>(from), from_pitch, width, height},
        s, false, "cudaMemcpy2DAsync"));
}

cudaError_t cudaMemset(void* pointer, int value, std::size_t n)
{
    const entry lock;
    return remember(fill(pointer, n, value, n, 1, nullptr, false, "cudaMemset"));
}

cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t n, cudaStream_t s)
{
    const entry lock;
    return remember(fill(pointer, n, value, n, 1, s, false, "cudaMemsetAsync"));
}

cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height)
{
    const entry lock;
    return remember(fill(pointer, pitch, value, width, height, nullptr, false, "cudaMemset2D"));
}

cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t s)
{
    const entry lock;
    return remember(fill(pointer, pitch, value, width, height, s, false, "cudaMemset2DAsync"));
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t n, std::size_t offset, cudaMemcpyKind)
{
    const entry lock;
    return remember(copy_symbol(symbol, const_cast<void*>(from), n, offset, true, nullptr, true, "cudaMemcpyToSymbol"));
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t n, std::size_t offset,
                                    cudaMemcpyKind, cudaStream_t s)
{
    const entry lock;
    return remember(copy_symbol(symbol, const_cast<void*>(from), n, offset, true, s, false, "cudaMemcpyToSymbolAsync"));
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t n, std::size_t offset, cudaMemcpyKind)
{
    const entry lock;
    return remember(copy_symbol(symbol, to, n, offset, false, nullptr, true, "cudaMemcpyFromSymbol"));
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t n, std::size_t offset, cudaMemcpyKind,
                                      cudaStream_t s)
{
    const entry lock;
    return remember(copy_symbol(symbol, to, n, offset, false, s, false, "cudaMemcpyFromSymbolAsync"));
}
}
