// The symmetric memory of a rank: windows of NCCL, numbered alike on all ranks.
#pragma once

#include <plait/fabric/nccl_check.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/view.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/target/cuda/mapped_memory.cuh>
#include <plait/target/cuda/multicast_memory.cuh>

#include <nccl_device.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace plait::detail {

/// Where kernels of this device find the window of each rank, and, if there is multicast, of all at once. Only kernels can ask.
template <class Tag = void>
__global__ void find_window_kernel(ncclWindow_t window, int ranks, ncclMultimemHandle multicast, void** found)
{
    if (threadIdx.x == 0) { found[ranks] = multicast.mcBasePtr == nullptr ? nullptr : ncclGetMultimemPointer(window, 0, multicast); }
    for (int r = static_cast<int>(threadIdx.x); r < ranks; r += static_cast<int>(blockDim.x)) {
        found[r] = ncclGetLsaPointer(window, 0, r);
    }
}

/// All ranks add and remove the same windows in the same order, but for what a failed group leaves behind.
/// @pre all ranks can load from each other
class nccl_windows : public cuda::multicast_memory {
  public:
    nccl_windows(ncclComm_t comm, int rank, int ranks) : comm_(comm), rank_(rank), ranks_(ranks) {}

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
        window w{++newest_, memory, bytes, nullptr, {}, nullptr};
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
        close_multicast();
    }

    /// Whether this rank's NCCL says that it has multicast. Those that cannot tell say so, and refuse when they are asked for it.
    [[nodiscard]] bool may_have_multicast() const
    {
#if defined(NCCL_COMM_PROPERTIES_INITIALIZER)
        ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
        return ncclCommQueryProperties(comm_, &properties) == ncclSuccess && properties.multimemSupport;
#else
        return true;
#endif
    }
    /// Asks NCCL for multicast addresses of the windows that are added from now on; returns whether it has them. Collective: on
    /// all ranks, or on none.
    [[nodiscard]] bool open_multicast(std::chrono::nanoseconds deadline)
    {
#if defined(NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER)
        ncclDevCommRequirements wanted = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
        ncclDevCommRequirements wanted{};
#endif
        wanted.lsaMultimem = true;
        ncclDevComm made{};
        try {
            check_nccl(ncclDevCommCreate(comm_, &wanted, &made), comm_, "NCCL: multicast", deadline);
        } catch (const error&) {
            return false;
        }
        multicast_ = made;
        return has_multicast();
    }
    void close_multicast() noexcept
    {
        if (multicast_) { static_cast<void>(ncclDevCommDestroy(comm_, &*multicast_)); }
        multicast_.reset();
    }
    [[nodiscard]] bool has_multicast() const noexcept { return multicast_ && multicast_->lsaMultimem.mcBasePtr != nullptr; }
    [[nodiscard]] std::byte* find(view<std::byte* const> by_rank) const override
    {
        const buffer_handle h = find(by_rank[static_cast<std::size_t>(rank_)], 1);
        const auto w = std::ranges::find(windows_, h.space, &window::number);
        if (w == windows_.end() || w->multicast == nullptr) { return nullptr; }
        for (std::size_t r = 0; r < by_rank.size(); ++r) {
            if (by_rank[r] != w->at[r] + h.offset) { return nullptr; }
        }
        return w->multicast + h.offset;
    }

  private:
    struct window {
        std::uint64_t number = 0;  // counted from 1
        std::byte* memory = nullptr;
        std::size_t bytes = 0;
        ncclWindow_t handle = nullptr;
        std::vector<std::byte*> at;  // by rank
        std::byte* multicast = nullptr;
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
        const cuda::mapped_memory found((n + 1) * sizeof(void*));
        const ncclMultimemHandle multicast = multicast_ ? multicast_->lsaMultimem : ncclMultimemHandle{};
        find_window_kernel<><<<1, 32, 0, stream>>>(w.handle, ranks_, multicast, found.there<void*>());
        cuda::check(cudaGetLastError(), what);
        cuda::check(cudaStreamSynchronize(stream), what);
        for (std::size_t r = 0; r < n; ++r) { w.at.push_back(static_cast<std::byte*>(found.here<void*>()[r])); }
        w.at[static_cast<std::size_t>(rank_)] = w.memory;
        w.multicast = static_cast<std::byte*>(found.here<void*>()[n]);
    }

    ncclComm_t comm_;
    int rank_;
    int ranks_;
    std::uint64_t newest_ = 0;
    std::vector<window> windows_;
    std::optional<ncclDevComm> multicast_;
};

}  // namespace plait::detail
#endif
