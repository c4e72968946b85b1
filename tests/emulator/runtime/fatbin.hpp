// PTX out of the fat binaries that nvcc puts into programs.
#pragma once

#include <cstdint>
#include <string>

namespace emulator {

/// The PTX of the newest architecture that the emulated device can run. Throws `unsupported` without any.
std::string ptx_of_fat_binary(const void* wrapper);

}  // namespace emulator
