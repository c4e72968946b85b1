// The text of the last error, as ncclGetLastError returns it.
#pragma once

#include <nccl.h>

#include <string>

namespace emulator::nccl {

/// Keeps the text for the calling thread and returns the result.
ncclResult_t set_error(ncclResult_t result, const std::string& text);

}  // namespace emulator::nccl
