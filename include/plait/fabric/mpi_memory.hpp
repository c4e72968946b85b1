// The symmetric memory of a rank: blocks of shared windows, which stay and are used again.
#pragma once

#include <plait/core/view.hpp>
#include <plait/fabric/mpi_window.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace plait::detail {

/// Freeing a window takes all ranks of the host, and deallocating must not wait. So a deallocated block is marked free,
/// and once all ranks have done so, the next `allocate` of those sizes takes it. All ranks of a host have the same
/// windows in the same order.
class mpi_memory {
  public:
    explicit mpi_memory(const mpi_place& place) : place_(place) {}
    mpi_memory(const mpi_memory&) = delete;
    mpi_memory& operator=(const mpi_memory&) = delete;

    /// The size of the block that serves a request: at most an eighth more, so that sizes that differ little share one.
    static std::size_t rounded(std::size_t bytes) noexcept
    {
        const std::size_t step = std::max<std::size_t>(64, std::bit_floor(bytes) / 8);
        return std::max<std::size_t>(1, (bytes + step - 1) / step) * step;
    }

    /// A window that has these sizes, by seat, and is free on all ranks. Ranks agree on it if none of them frees a
    /// block while any looks.
    [[nodiscard]] std::optional<std::size_t> find(view<const std::size_t> sizes) const noexcept
    {
        for (std::size_t w = 0; w < blocks_.size(); ++w) {
            if (!std::ranges::equal(blocks_[w].sizes, sizes)) { continue; }
            bool is_free = true;
            for (std::size_t s = 0; s < sizes.size(); ++s) {
                is_free = is_free && flag(w, static_cast<int>(s)).load(std::memory_order_acquire) == 0;
            }
            if (is_free) { return w; }
        }
        return std::nullopt;
    }

    /// A new window. Collective over the ranks of the host. Some MPIs hang when a rank cannot have its part, so all ranks refuse
    /// together what the host does not have.
    std::size_t add(std::vector<std::size_t> sizes)
    {
        const std::size_t most = memory_of_host();
        std::size_t left = most;
        for (const std::size_t s : sizes) {
            if (s > left) { throw error({"allocate: the ranks of this host ask for more shared memory than its ", most, " bytes"}); }
            left -= s;
        }
        const std::size_t bytes = sizes[static_cast<std::size_t>(place_.seat)];
        blocks_.emplace_back(place_, header + bytes, std::move(sizes));
        new (blocks_.back().window.part(place_.seat)) std::atomic<std::uint32_t>(0);
        return blocks_.size() - 1;
    }

    /// Marks a free window used by this rank and returns where its block begins.
    void* take(std::size_t w) noexcept
    {
        flag(w, place_.seat).store(1, std::memory_order_relaxed);
        return start(w, place_.seat);
    }

    void give_back(const void* p) noexcept
    {
        for (std::size_t w = 0; w < blocks_.size(); ++w) {
            if (start(w, place_.seat) == p) { flag(w, place_.seat).store(0, std::memory_order_release); }
        }
    }

    /// The window, counted from 1, and the offset of a range in this rank's blocks; {0, address} if it lies elsewhere.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> find_range(const void* p, std::size_t bytes) const noexcept
    {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        for (std::size_t w = 0; w < blocks_.size(); ++w) {
            const auto first = reinterpret_cast<std::uintptr_t>(start(w, place_.seat));
            const std::size_t size = blocks_[w].sizes[static_cast<std::size_t>(place_.seat)];
            if (address >= first && bytes <= size && address - first <= size - bytes) {
                return {w + 1, address - first};
            }
        }
        return {0, address};
    }

    /// Where a seat's block of a window, counted from 1, lies in this process; null if there is no such window.
    [[nodiscard]] std::byte* resolve(int seat, std::uint64_t window, std::uint64_t offset) const noexcept
    {
        return window - 1 < blocks_.size() ? start(window - 1, seat) + offset : nullptr;
    }

    /// Collective over the ranks of the host.
    void free() noexcept
    {
        for (block& b : blocks_) { b.window.free(); }
        blocks_.clear();
    }

  private:
    static std::size_t memory_of_host() noexcept
    {
        const long pages = sysconf(_SC_PHYS_PAGES);
        const long bytes = sysconf(_SC_PAGESIZE);
        return pages > 0 && bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes) : static_cast<std::size_t>(-1);
    }

    static constexpr std::size_t header = 64;  // holds the flag: whether the rank uses its block

    struct block {
        block(const mpi_place& place, std::size_t bytes, std::vector<std::size_t>&& by_seat)
            : window(place, bytes), sizes(std::move(by_seat))
        {
        }
        mpi_window window;
        std::vector<std::size_t> sizes;
    };

    [[nodiscard]] std::atomic<std::uint32_t>& flag(std::size_t w, int seat) const noexcept
    {
        return *std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(blocks_[w].window.part(seat)));
    }
    [[nodiscard]] std::byte* start(std::size_t w, int seat) const noexcept
    {
        return blocks_[w].window.part(seat) + header;
    }

    const mpi_place& place_;
    std::deque<block> blocks_;
};

}  // namespace plait::detail
