// Combining values of all types, as NCCL's kernels do: each step is rounded to the type.
#pragma once

#include "call.hpp"

#include <vector>

namespace emulator::nccl {

/// The values of a rank, and how it wants them to be combined.
struct term {
    const std::uint8_t* values = nullptr;
    reduction how{};
};

/// From the first term to the last.
void reduce(ncclDataType_t type, const std::vector<term>& terms, std::size_t count, std::uint8_t* out);

}  // namespace emulator::nccl
