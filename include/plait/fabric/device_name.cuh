// What a CUDA device is called.
#pragma once

#include <plait/target/cuda/check.cuh>

#include <string>

namespace plait::cuda {

/// "NVIDIA H200, 132 multiprocessors". Throws plait::error if there is no such device.
inline std::string device_name(int device)
{
    cudaDeviceProp p{};
    check(cudaGetDeviceProperties(&p, device), "CUDA: the device");
    return std::string(p.name) + ", " + std::to_string(p.multiProcessorCount) + " multiprocessors";
}

}  // namespace plait::cuda
