// Whether anything happened that a waiting thread could wait for. Without it for long, waits can never end.
#pragma once

#include <cstdint>

namespace emulator {

inline std::uint64_t progress_count = 0;
inline void note_progress() { ++progress_count; }

}  // namespace emulator
