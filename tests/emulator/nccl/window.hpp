// Windows: memory of all ranks that each rank's kernels see at addresses which are the same distance apart.
#pragma once

#include "communicator.hpp"

#include <nccl_device.h>

namespace emulator::nccl {

/// What a rank brings to a window.
struct window_part {
    std::shared_ptr<ncclComm> of;
    void* memory = nullptr;
    std::size_t size = 0;
    std::size_t offset = 0;  ///< in its allocation
    ncclWindow_t* out = nullptr;
    bool owned = false;
};

/// Makes the window, and writes each rank's handle.
ncclResult_t make_window(std::vector<window_part>& parts);
/// The first address at which kernels of a rank's team reach all windows of the team at once.
void* multicast_base(ncclComm& c);
void remove_window(ncclComm& c, ncclWindow_t w);
/// The table by which kernels find windows by address, in device memory.
ncclDevCommWindowTable* window_table(ncclComm& c);

}  // namespace emulator::nccl
