// Generic addresses: shared and local memory are seen through windows; all else is at its own address.
#pragma once

#include "../decode/program.hpp"

#include <cstdint>

namespace emulator {

// Beyond what the host's processes use.
inline constexpr std::uint64_t shared_window = 0x00a0'0000'0000'0000;
inline constexpr std::uint64_t local_window = 0x00b0'0000'0000'0000;
inline constexpr std::uint64_t window_size = 0x0000'0001'0000'0000;

/// The space that a generic address is in, and the address there.
inline space resolve_generic(std::uint64_t& address)
{
    if (address - shared_window < window_size) {
        address -= shared_window;
        return space::shared;
    }
    if (address - local_window < window_size) {
        address -= local_window;
        return space::local;
    }
    return space::global;
}

inline std::uint64_t window_of(space s)
{
    return s == space::shared ? shared_window : s == space::local ? local_window : 0;
}

}  // namespace emulator
