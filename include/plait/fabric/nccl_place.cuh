// Who a rank of NCCL is, and on which device.
#pragma once

#include <plait/fabric/nccl_check.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/error.hpp>
#include <plait/target/cuda/check.cuh>

#include <nccl_device.h>

#include <chrono>
#include <cstring>

namespace plait::detail {

/// A rank of a communicator, on the current device.
struct nccl_place {
    /// Throws plait::error if another device is the current one.
    nccl_place(ncclComm_t users, std::chrono::nanoseconds deadline)
    {
        const char* const what = "NCCL: the communicator";
        check_nccl(ncclCommUserRank(users, &rank), users, what, deadline);
        check_nccl(ncclCommCount(users, &size), users, what, deadline);
        check_nccl(ncclCommCuDevice(users, &device), users, what, deadline);
        int current = 0;
        cuda::check(cudaGetDevice(&current), "CUDA: the current device");
        if (current != device) {
            throw error({"NCCL: the communicator is of device ", device, ", and the current one is ", current,
                         "; call cudaSetDevice(", device, ") before"});
        }
        in_one_domain = size == 1 || ncclTeamLsa(users).nRanks == size;
    }
    int rank = 0;
    int size = 1;
    int device = 0;
    bool in_one_domain = true;  // of loads and stores; then NCCL has symmetric memory for them
};

/// What tells devices apart, also those of different hosts.
struct device_name {
    char uuid[16]{};
    char bus[32]{};
    bool operator==(const device_name&) const = default;
};
inline device_name name_of_device(int device)
{
    device_name name;
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, device), "CUDA: the device");
    static_assert(sizeof name.uuid == sizeof properties.uuid);
    std::memcpy(name.uuid, &properties.uuid, sizeof name.uuid);
    cuda::check(cudaDeviceGetPCIBusId(name.bus, sizeof name.bus, device), "CUDA: the device");
    return name;
}

}  // namespace plait::detail
#endif
