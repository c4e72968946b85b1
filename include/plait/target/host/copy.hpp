// Copies into other ranks' memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace plait::host {

/// Copies a tile into a peer's buffer. `streaming`: past the caches, for data that will not be read soon: the peer's
/// lines are then written without being read first.
inline void copy_out(std::byte* to, const std::byte* from, std::size_t bytes, bool streaming)
{
#if defined(__SSE2__)
    if (streaming && bytes >= 256) {
        const std::size_t head = (16 - reinterpret_cast<std::uintptr_t>(to) % 16) % 16;
        std::memcpy(to, from, head);
        to += head;
        from += head;
        bytes -= head;
        for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
            for (int i = 0; i < 4; ++i) {
                _mm_stream_si128(reinterpret_cast<__m128i*>(to + 16 * i),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16 * i)));
            }
        }
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
