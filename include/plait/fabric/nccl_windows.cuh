// The symmetric memory of a rank: windows of NCCL, numbered alike on all ranks.
#pragma once

#include <plait/fabric/nccl_check.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/fabric/communicator.hpp>
#include <plait/target/cuda/mapped_memory.cuh>

#include <nccl_device.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace plait::detail {

/// Where kernels of this device find the window of each rank. Only kernels can ask.
template <class Tag = void>
__global__ void find_window_kernel(ncclWindow_t window, int ranks, void** found)
{
    for (int r = static_cast<int>(threadIdx.x); r < ranks; r += static_cast<int>(blockDim.x)) {
        found[r] = ncclGetLsaPointer(window, 0, r);
    }
}

/// All ranks add and remove the same windows in the same order, but for what a failed group leaves behind.
/// @pre all ranks can load from each other
class nccl_windows {
  public:
    nccl_windows(ncclComm_t comm, int rank, int ranks) : comm_(comm), rank_(rank), ranks_(ranks) {}
    nccl_windows(const nccl_windows&) = delete;
    nccl_windows& operator=(const nccl_windows&) = delete;

    /// Memory that can become a window.
    [[nodiscard]] std::byte* allocate(std::size_t bytes) const
    {
        void* p = nullptr;
        check_nccl(ncclMemAlloc(&p, bytes), comm_, joined({"NCCL: ", bytes, " bytes of symmetric memory"}));
        return static_cast<std::byte*>(p);
    }
    static void free(void* p) noexcept { static_cast<void>(ncclMemFree(p)); }

    /// Makes a window of memory from `allocate`, which it owns then. Collective; all ranks give the same size. Returns where
    /// kernels find it, by rank. The stream must be this rank's, with nothing on it that waits for others.
    const std::vector<std::byte*>& add(std::byte* memory, std::size_t bytes, cudaStream_t stream, std::chrono::nanoseconds deadline)
    {
        window w{++newest_, memory, bytes, nullptr, {}};
        if (ranks_ == 1) {
            w.at = {memory};
        } else {
            register_window(w, stream, deadline);
        }
        windows_.push_back(std::move(w));
        return windows_.back().at;
    }
    /// The window and offset of a range; {0, address} if it lies elsewhere.
    [[nodiscard]] buffer_handle find(const void* p, std::size_t bytes) const noexcept
    {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        for (const window& w : windows_) {
            const auto first = reinterpret_cast<std::uintptr_t>(w.memory);
            if (address >= first && bytes <= w.bytes && address - first <= w.bytes - bytes) { return {w.number, address - first}; }
        }
        return {0, address};
    }
    /// Where this rank finds what a rank has named; null if there is no such window.
    [[nodiscard]] std::byte* resolve(int rank, buffer_handle h) const noexcept
    {
        const auto w = std::ranges::find(windows_, h.space, &window::number);
        return w == windows_.end() ? nullptr : w->at[static_cast<std::size_t>(rank)] + h.offset;
    }
    /// Takes a window away. No kernel of any rank may touch it any more.
    void remove(std::uint64_t number)
    {
        const auto w = std::ranges::find(windows_, number, &window::number);
        if (w == windows_.end()) { return; }
        if (w->handle != nullptr) {
            check_nccl(ncclCommWindowDeregister(comm_, w->handle), comm_, "NCCL: giving back symmetric memory");
        }
        free(w->memory);
        windows_.erase(w);
    }
    void remove_all()
    {
        while (!windows_.empty()) { remove(windows_.front().number); }
    }

  private:
    struct window {
        std::uint64_t number = 0;  // counted from 1
        std::byte* memory = nullptr;
        std::size_t bytes = 0;
        ncclWindow_t handle = nullptr;
        std::vector<std::byte*> at;  // by rank
    };

    void register_window(window& w, cudaStream_t stream, std::chrono::nanoseconds deadline) const
    {
        constexpr std::string_view what = "NCCL: registering symmetric memory";
        check_nccl(ncclCommWindowRegister(comm_, w.memory, w.bytes, &w.handle, NCCL_WIN_COLL_SYMMETRIC), comm_, what, deadline);
        if (w.handle == nullptr) {
            throw error({what, ": this communicator has none; it takes devices that reach each other, and CUDA's virtual memory "
                         "(NCCL_CUMEM_ENABLE and NCCL_WIN_ENABLE must not be 0)"});
        }
        const auto n = static_cast<std::size_t>(ranks_);
        const cuda::mapped_memory found(n * sizeof(void*));
        find_window_kernel<><<<1, 32, 0, stream>>>(w.handle, ranks_, found.there<void*>());
        cuda::check(cudaGetLastError(), what);
        cuda::check(cudaStreamSynchronize(stream), what);
        for (std::size_t r = 0; r < n; ++r) { w.at.push_back(static_cast<std::byte*>(found.here<void*>()[r])); }
        w.at[static_cast<std::size_t>(rank_)] = w.memory;
    }

    ncclComm_t comm_;
    int rank_;
    int ranks_;
    std::uint64_t newest_ = 0;
    std::vector<window> windows_;
};

}  // namespace plait::detail
#endif
