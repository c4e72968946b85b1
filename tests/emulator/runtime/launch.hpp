// Starting kernels.
#pragma once

#include "state.hpp"

namespace emulator {

/// Null when the address is no kernel's; decodes it on first use.
kernel_entry* find_kernel(const void* host);
variable_entry* find_variable(const void* host);

struct launch_request {
    dimensions grid, threads;
    std::size_t dynamic_shared = 0;
    cudaStream_t stream = nullptr;
    bool cooperative = false;
};

cudaError_t launch_kernel(kernel_entry* k, const launch_request& r, void** arguments);
std::size_t shared_limit(const kernel_entry& k);

}  // namespace emulator
