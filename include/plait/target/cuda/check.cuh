// Errors of the CUDA runtime as plait::error.
#pragma once

#include <plait/core/error.hpp>

#include <cuda_runtime.h>

#include <string_view>

namespace plait::cuda {

/// Throws plait::error that names what failed and the runtime's reason, unless `result` is success.
inline void check(cudaError_t result, std::string_view what)
{
    if (result == cudaSuccess) { return; }
    static_cast<void>(cudaGetLastError());  // told here, so that the next call does not tell it again
    throw error({what, ": ", cudaGetErrorString(result), " (", cudaGetErrorName(result), ")"});
}

/// Makes a device the thread's current one, and the one before again at the end.
class on_device {
  public:
    explicit on_device(int device)
    {
        check(cudaGetDevice(&before_), "CUDA: the current device");
        if (device != before_) { check(cudaSetDevice(device), "CUDA: another device"); }
        changed_ = device != before_;
    }
    on_device(const on_device&) = delete;
    on_device& operator=(const on_device&) = delete;
    ~on_device()
    {
        if (changed_) { static_cast<void>(cudaSetDevice(before_)); }
    }

  private:
    int before_ = 0;
    bool changed_ = false;
};

}  // namespace plait::cuda
