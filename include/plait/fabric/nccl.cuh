// The fabric of ranks with a communicator of NCCL: threads or processes, each with a device. Not part of cuda.cuh: link
// plait::nccl and include this; without NCCL 2.28 or newer it is empty, and PLAIT_HAS_NCCL is not defined.
#pragma once

#include <plait/fabric/nccl_check.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/allocated_by_all.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/fabric/device_blocks.cuh>
#include <plait/fabric/device_buffer.cuh>
#include <plait/fabric/device_name.cuh>
#include <plait/fabric/kernel_meetings.cuh>
#include <plait/fabric/nccl_boards.cuh>
#include <plait/fabric/nccl_meetings.cuh>
#include <plait/fabric/nccl_messages.cuh>
#include <plait/fabric/nccl_place.cuh>
#include <plait/fabric/nccl_rounds.cuh>
#include <plait/fabric/nccl_windows.cuh>
#include <plait/fabric/stream_messages.hpp>
#include <plait/fabric/thrown.hpp>
#include <plait/target/cuda/target.cuh>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

/// A rank of an NCCL communicator, which is yours, as is the stream that programs run on; models plait::communicator. Used by
/// one thread, stays where it was made.
/// ```
/// plait::nccl_communicator comm(your_communicator, your_stream);
/// ```
/// Making one and its end are collective; it must end before the communicator does. Where all ranks can load from each other (one
/// host, or hosts joined by NVLink), kernels work on symmetric memory: what `symmetric` or `allocate` gave is used where it lies;
/// other tensors that peers touch are copied into workspace before a run and, if they were updated, back after it. Where they
/// cannot, each with a device of its own, what a pass reads from others is sent to this rank before it, and what it writes for
/// others after it, by NCCL on the stream; results have the same bits. Programs take any memory of the device.
///
/// `allocate` is collective, and waits for what is on the stream, as do `exchange` and `barrier`. Registering a window at a
/// communicator that blocks, or splitting one, knows no deadline. Your communicator is neither changed nor aborted by failures; after one, symmetric
/// memory stays until your communicator ends, as peers may still touch it.
class nccl_communicator {
  public:
    using target = cuda::target;

    /// Programs run on `stream` of the communicator's device, which must be the current one. Throws plait::error if ranks that
    /// cannot load from each other share a device.
    explicit nccl_communicator(ncclComm_t users, cudaStream_t stream = cudaStreamPerThread,
                               std::chrono::nanoseconds deadline = default_deadline)
        : place_(users, deadline),
          stream_(stream),
          scratch_(stream, [](void* of) { static_cast<nccl_communicator*>(of)->settle(); }, this),
          windows_(users, place_.rank, place_.size),
          carrier_(new_carrier(users, deadline)),
          meetings_(users, place_.rank, place_.size, *carrier_, kernels_)
    {
        meetings_.deadline = deadline;
        is_apart() ? kernels_.stay_alone(rank(), size()) : connect();
        meet_neighbours();
    }
    nccl_communicator(const nccl_communicator&) = delete;
    nccl_communicator& operator=(const nccl_communicator&) = delete;

    /// Waits until all ranks come to their end, unless the group has failed.
    ~nccl_communicator()
    {
        try {
            const cuda::on_device here(device());
            if (std::uncaught_exceptions() > exceptions_before_) { fail("an exception ended its part"); }
            if (meetings_.failed()) {
                meetings_.settle(stream_);
                return;
            }
            barrier("the end of the communicator");
            if (is_apart()) { barrier("the end of the communicator"); }  // who was late at a meeting hears here who has given it up
            scratch_.deallocate(table_, 0);
            scratch_.collect();
            windows_.remove_all();
        } catch (...) {  // peers may still touch the memory: it stays
        }
    }

    /// This rank, in [0, size), and the number of ranks.
    [[nodiscard]] int rank() const noexcept { return place_.rank; }
    [[nodiscard]] int size() const noexcept { return place_.size; }
    [[nodiscard]] int device() const noexcept { return place_.device; }
    [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
    /// What measurements hold for.
    [[nodiscard]] std::string fabric_name() const { return joined({"nccl, ", sharing_, " on a device"}); }
    [[nodiscard]] std::string device_name() const { return cuda::device_name(device()); }
    /// Ranks on the device that has most of them: their kernels must fit beside each other.
    [[nodiscard]] int ranks_on_a_device() const noexcept { return sharing_; }

    /// Waits until all that was put on the stream has run. Throws plait::error if something went wrong on a device. (Calls of
    /// NCCL that you put there know no deadline; who watches them may abort your communicator.)
    void synchronize()
    {
        if (is_apart()) { return meetings_.drain(stream_); }
        const cudaError_t result = cudaStreamSynchronize(stream_);
        meetings_.check_kernels();
        cuda::check(result, "CUDA: waiting for the stream");
    }
    /// The same at ends: throws nothing, and waits for others no longer than the deadline.
    void settle() noexcept
    {
        if (!is_apart()) { return static_cast<void>(cudaStreamSynchronize(stream_)); }
        try {
            meetings_.drain(stream_);
        } catch (...) {  // the group has failed, and the stream waits for nobody any more
        }
    }
    /// Throws plait::error if a kernel of this rank has reported a failure, or the group is known to have failed.
    void check() { meetings_.check_kernels(); }

    /// Waits for all ranks. Throws plait::error if the group fails.
    void barrier(const char* where) { meetings_.barrier(where, stream_); }
    /// Shows `record` to all ranks and returns theirs, by rank. Throws plait::error if the group fails, which it does if a peer
    /// makes another kind of meeting here or shows a record of another size.
    view<const void* const> exchange(const void* record, std::size_t bytes, const char* where)
    {
        return meetings_.exchange(record, bytes, where, stream_);
    }
    /// Waits until `ready()`. Throws plait::error if the group fails before.
    template <class Ready>
    void wait(Ready ready, const char* where)
    {
        meetings_.wait(ready, where);
    }

    /// Whether this rank's kernels can touch the symmetric memory of that one: all or none of the others.
    [[nodiscard]] bool shares(int other) const noexcept { return !is_apart() || other == rank(); }
    /// Of a buffer in symmetric memory; of another one, a handle that is not reachable.
    [[nodiscard]] buffer_handle handle_of(const void* p, std::size_t bytes) const noexcept { return windows_.find(p, bytes); }
    /// Whether other ranks can touch a buffer.
    static constexpr bool reachable(buffer_handle h) noexcept { return h.space != 0; }
    /// Null if the buffer is not reachable; its own a rank always finds.
    [[nodiscard]] void* resolve(int rank, buffer_handle h) const noexcept
    {
        if (reachable(h)) { return windows_.resolve(rank, h); }
        return rank == this->rank() || size() == 1 ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(h.offset)) : nullptr;
    }

    /// Memory that all ranks' kernels can touch, or, where they cannot, only this one's. Collective; ranks may ask for different
    /// sizes. Throws plait::error on all ranks if one of them has no room.
    void* allocate(std::size_t bytes)
    {
        const cuda::on_device here(device());
        std::size_t most = 1;
        for (const void* theirs : exchange(&bytes, sizeof bytes, "allocate")) { most = std::max(most, *static_cast<const std::size_t*>(theirs)); }
        if (is_apart()) { return detail::allocated_by_all(*this, [&] { return scratch_.allocate(bytes); }, [&](void* p) { scratch_.deallocate(p, bytes); }); }
        return add_window(most);
    }
    /// Waits for this rank's stream. The memory is freed by `collect` after all ranks have given it back, or at the end.
    void deallocate(void* p, std::size_t bytes) noexcept
    {
        if (p == nullptr || meetings_.failed()) { return; }
        if (is_apart()) { return scratch_.deallocate(p, bytes); }
        settle();
        try {
            returned_.push_back(handle_of(p, 1).space);
        } catch (...) {  // out of memory: it stays until the end
        }
    }
    /// Frees what all ranks have given back. Collective.
    void collect()
    {
        const cuda::on_device here(device());
        if (is_apart()) {  // freeing waits for the device, where nothing may wait for others
            meetings_.drain(stream_);
            return scratch_.collect();
        }
        returned_list mine;
        std::ranges::sort(returned_);
        std::copy_n(returned_.begin(), std::min(returned_.size(), std::size(mine.windows)), mine.windows);
        std::vector<std::uint64_t> common(std::begin(mine.windows), std::end(mine.windows));
        for (const void* theirs : exchange(&mine, sizeof mine, "collect")) {
            const auto& other = *static_cast<const returned_list*>(theirs);
            std::erase_if(common, [&](std::uint64_t w) { return w == 0 || std::ranges::count(other.windows, w) == 0; });
        }
        scratch_.collect();
        for (const std::uint64_t w : common) {
            windows_.remove(w);
            std::erase(returned_, w);
        }
    }
    /// Where memory comes from that only this rank's kernels touch.
    [[nodiscard]] cuda::memory_source& scratch() noexcept { return scratch_; }
    /// `n` zeroed values on this rank's device that peers' kernels can touch; see device_buffer. Collective.
    template <class T>
    device_buffer<T, nccl_communicator> symmetric(std::size_t n)
    {
        return {*this, n};
    }

    /// Marks the group failed: all ranks throw from their current or next wait, and waits of kernels end. Of several ranks that
    /// fail at the same time, each tells the first of which it learns.
    void fail(std::string_view what) noexcept { meetings_.fail(what); }
    /// The longest wait of this rank; 0 is no limit.
    [[nodiscard]] std::chrono::nanoseconds deadline() const noexcept { return meetings_.deadline; }
    void set_deadline(std::chrono::nanoseconds limit) noexcept { meetings_.deadline = limit; }

    /// How kernels of this rank meet those of all others, in what is called `stage` in errors.
    [[nodiscard]] cuda::meeting meeting_in(std::string stage) { return kernels_.in(std::move(stage), deadline()); }
    /// Puts messages to and from ranks that cannot load from this one on a stream. (See stream_messenger.)
    void put_messages(view<const stream_message> all, const std::string& stage, cudaStream_t stream)
    {
        messages_->put(all, stage, stream, deadline());
    }

  private:
    friend class nccl_multicast_communicator;
    struct returned_list {
        std::uint64_t windows[64]{};
    };

    [[nodiscard]] bool is_apart() const noexcept { return !place_.in_one_domain; }
    std::unique_ptr<detail::nccl_carrier> new_carrier(ncclComm_t users, std::chrono::nanoseconds deadline)
    {
        if (is_apart()) {
            messages_.emplace(users, rank(), deadline);
            return std::make_unique<detail::nccl_rounds>(users, rank(), size(), deadline, *messages_, kernels_);
        }
        auto boards = std::make_unique<detail::nccl_boards>(rank(), size(), kernels_);
        boards_ = boards.get();
        return boards;
    }
    void connect()
    {
        const detail::board_layout layout(size());
        const std::size_t bytes = layout.words * sizeof(std::uint32_t);
        std::byte* const memory = windows_.allocate(bytes);
        cuda::check(cudaMemsetAsync(memory, 0, bytes, stream_), "CUDA: clearing signals");
        cuda::check(cudaStreamSynchronize(stream_), "CUDA: clearing signals");  // before others can reach it
        const auto& all = windows_.add(memory, bytes, stream_, deadline());
        table_ = scratch_.allocate(all.size() * sizeof(void*));
        cuda::check(cudaMemcpyAsync(table_, all.data(), all.size() * sizeof(void*), cudaMemcpyHostToDevice, stream_),
                    "CUDA: copying addresses");
        cuda::check(cudaStreamSynchronize(stream_), "CUDA: copying addresses");
        auto* const boards = static_cast<std::uint32_t* const*>(table_);
        auto* const mine = reinterpret_cast<std::uint32_t*>(memory);
        kernels_.connect(rank(), size(), mine, boards, mine + layout.abandoned);
        boards_->connect(boards);
    }
    void meet_neighbours()
    {
        const detail::device_name mine = detail::name_of_device(device());
        std::vector<detail::device_name> all;
        for (const void* theirs : exchange(&mine, sizeof mine, "NCCL: introduction")) {
            all.push_back(*static_cast<const detail::device_name*>(theirs));
        }
        for (const detail::device_name& d : all) { sharing_ = std::max(sharing_, static_cast<int>(std::ranges::count(all, d))); }
        if (is_apart() && sharing_ > 1) {  // one's memory is freed when a device is idle, on which another one may wait for the first
            throw error({"NCCL: the ranks cannot all load from each other, and ", sharing_, " of them share a device; give each one of its own"});
        }
    }
    std::byte* add_window(std::size_t bytes)
    {
        auto* const memory = detail::allocated_by_all(*this, [&] { return windows_.allocate(bytes); }, [](std::byte* p) { detail::nccl_windows::free(p); });
        try {
            windows_.add(memory, bytes, stream_, deadline());
        } catch (const error&) {
            fail(detail::text_of_current_exception());
            throw;
        }
        return memory;
    }

    int exceptions_before_ = std::uncaught_exceptions();
    detail::nccl_place place_;
    cudaStream_t stream_;
    int sharing_ = 1;
    cuda::kernel_meetings kernels_;
    cuda::device_blocks scratch_;
    detail::nccl_windows windows_;
    std::optional<detail::nccl_messages> messages_;  // where ranks are apart
    detail::nccl_boards* boards_ = nullptr;          // where they are not
    std::unique_ptr<detail::nccl_carrier> carrier_;
    detail::nccl_meetings meetings_;
    void* table_ = nullptr;  // where kernels find the boards
    std::vector<std::uint64_t> returned_;
};

}  // namespace plait
#endif
