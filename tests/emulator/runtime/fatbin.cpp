// Fat binary (as measured with nvcc 13.0): 16-byte header {u32 magic 0xBA55ED50, u16 version, u16 header size, u64
// size}, then entries {u16 kind (1: PTX, 2: cubin), u16, u32 header size, u64 padded payload size, u32 compressed size
// at 0x10, u32 sm at 0x1c, u64 flags at 0x28, u64 uncompressed size at 0x38}.
#include "fatbin.hpp"

#include "../error.hpp"
#include "../schedule/settings.hpp"

#include <dlfcn.h>

#include <cstring>

namespace emulator {
namespace {

constexpr std::uint32_t magic = 0xba55ed50;
constexpr std::uint64_t flag_zstd = 0x8000;
constexpr std::uint64_t flag_lz4 = 0x2000;

template <class T>
T read(const std::uint8_t* at)
{
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

void* library_function(const char* library, const char* name)
{
    void* handle = ::dlopen(library, RTLD_NOW);
    void* f = handle != nullptr ? ::dlsym(handle, name) : nullptr;
    if (f == nullptr) {
        throw unsupported(std::string("the program's PTX is compressed and ") + library +
                          " is not there: build with -no-compress");
    }
    return f;
}

std::string decompressed(const std::uint8_t* from, std::uint32_t size, std::uint64_t flags, std::uint64_t full)
{
    std::string text(full, '\0');
    if ((flags & flag_zstd) != 0) {
        using call = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
        const auto f = reinterpret_cast<call>(library_function("libzstd.so.1", "ZSTD_decompress"));
        if (f(text.data(), full, from, size) != full) { throw unsupported("PTX that zstd does not decompress"); }
    } else {
        using call = int (*)(const char*, char*, int, int);
        const auto f = reinterpret_cast<call>(library_function("liblz4.so.1", "LZ4_decompress_safe"));
        const int got =
            f(reinterpret_cast<const char*>(from), text.data(), static_cast<int>(size), static_cast<int>(full));
        if (got != static_cast<int>(full)) { throw unsupported("PTX that lz4 does not decompress"); }
    }
    return text;
}

}  // namespace

std::string ptx_of_fat_binary(const void* wrapper)
{
    // The wrapper that host code passes: {int magic, int version, pointer, pointer}.
    const auto* binary = read<const std::uint8_t*>(static_cast<const std::uint8_t*>(wrapper) + 8);
    if (read<std::uint32_t>(binary) != magic) { throw unsupported("a fat binary of an unknown kind"); }
    const std::uint8_t* at = binary + read<std::uint16_t>(binary + 6);
    const std::uint8_t* end = at + read<std::uint64_t>(binary + 8);
    const auto limit = static_cast<std::uint32_t>(settings().device.major * 10 + settings().device.minor);
    std::uint32_t best = 0;
    std::string text;
    while (at < end) {
        const auto kind = read<std::uint16_t>(at);
        const auto header = read<std::uint32_t>(at + 4);
        const auto payload = read<std::uint64_t>(at + 8);
        const auto compressed = read<std::uint32_t>(at + 0x10);
        const auto sm = read<std::uint32_t>(at + 0x1c);
        const auto flags = read<std::uint64_t>(at + 0x28);
        const auto full = read<std::uint64_t>(at + 0x38);
        if (kind == 1 && sm <= limit && sm > best) {
            best = sm;
            const bool packed = (flags & (flag_zstd | flag_lz4)) != 0;
            text = packed ? decompressed(at + header, compressed, flags, full)
                          : std::string(reinterpret_cast<const char*>(at + header),
                                        ::strnlen(reinterpret_cast<const char*>(at + header), payload));
            text.resize(::strnlen(text.c_str(), text.size()));
        }
        at += header + payload;
    }
    if (best == 0) {
        throw unsupported("the program holds no PTX for compute capability " + std::to_string(limit) +
                          " or less: build with -gencode arch=compute_80,code=compute_80");
    }
    return text;
}

}  // namespace emulator
