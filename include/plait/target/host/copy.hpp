// Copies into other ranks' memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace plait::host {

#if defined(__SSE2__)
namespace detail {

/// Moves one cache line past the caches; `to` is aligned to it. Whole lines at once, where the processor can, need no
/// buffer to be put together in.
inline void stream_line(std::byte* to, const std::byte* from)
{
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
#elif defined(__AVX__)
    for (int i = 0; i < 64; i += 32) {
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
    }
#else
    for (int i = 0; i < 64; i += 16) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    }
#endif
}

}  // namespace detail
#endif

/// Copies a tile into a peer's buffer. `streaming`: past the caches, for data that will not be read soon: the peer's
/// lines are then written without being read first.
inline void copy_out(std::byte* to, const std::byte* from, std::size_t bytes, bool streaming)
{
#if defined(__SSE2__)
    if (streaming && bytes >= 256) {
        const std::size_t head = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
        std::memcpy(to, from, head);
        to += head;
        from += head;
        bytes -= head;
        for (; bytes >= 64; bytes -= 64, to += 64, from += 64) { detail::stream_line(to, from); }
    }
#else
    (void)streaming;
#endif
    if (bytes > 0) { std::memcpy(to, from, bytes); }
}

/// Makes streaming stores visible before the barrier that follows.
inline void finish_streaming()
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

}  // namespace plait::host
