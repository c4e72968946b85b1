// Messages between ranks of NCCL on their streams, and for how long a stream has been waiting in them.
#pragma once

#include <plait/fabric/nccl_split.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/stream_messages.hpp>
#include <plait/target/cuda/mapped_memory.cuh>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace plait::detail {

/// Tells the host that the stream has come to messages of a stage, or past them (0).
template <class Tag = void>
__global__ void mark_kernel(volatile std::uint32_t* marks, std::uint32_t stage)
{
    marks[1] = stage;
    marks[0] = marks[0] + 1;
}

/// This rank's messages, over a communicator of their own.
class nccl_messages {
  public:
    nccl_messages(ncclComm_t users, int rank, std::chrono::nanoseconds deadline)
        : rank_(rank), split_(users, rank, deadline), marks_(2 * sizeof(std::uint32_t))
    {
    }

    /// Throws plait::error if NCCL refuses, or has not begun within the deadline: peers come to the first message by hand.
    void put(view<const stream_message> all, const std::string& stage, cudaStream_t stream, std::chrono::nanoseconds deadline)
    {
        if (all.empty()) { return; }
        const ncclComm_t comm = split_.get();
        if (comm == nullptr) { throw error({stage, ": the group has failed"}); }
        mark(number_of(stage), stream);
        check_begun(ncclGroupStart(), stage);
        for (const stream_message& m : all) { check_begun(begin(m, comm, stream), stage); }
        check_nccl(ncclGroupEnd(), comm, stage, deadline);
        mark(0, stream);
    }

    /// For how long, as far as this was asked, the stream has been in the same messages; 0 if it is in none.
    [[nodiscard]] std::chrono::nanoseconds waited()
    {
        const auto* const marks = marks_.here<const volatile std::uint32_t>();
        const std::uint32_t count = marks[0];
        const auto now = std::chrono::steady_clock::now();
        in_stage_ = marks[1];
        if (count != seen_ || in_stage_ == 0) {
            seen_ = count;
            since_ = now;
        }
        return now - since_;
    }
    /// The stage of those messages. @pre waited() > 0
    [[nodiscard]] const std::string& stage() const { return stages_[in_stage_ - 1]; }

    /// Ends what the stream waits for.
    void abort() noexcept { split_.abort(); }
    [[nodiscard]] ncclResult_t state() const { return split_.state(); }

  private:
    [[nodiscard]] ncclResult_t begin(const stream_message& m, ncclComm_t comm, cudaStream_t stream) const
    {
        switch (m.what) {
        case stream_message::kind::send: return ncclSend(m.data, m.bytes, ncclInt8, m.peer, comm, stream);
        case stream_message::kind::receive: return ncclRecv(m.data, m.bytes, ncclInt8, m.peer, comm, stream);
        case stream_message::kind::broadcast: return ncclBroadcast(m.data, m.data, m.bytes, ncclInt8, m.peer, comm, stream);
        default: return ncclAllGather(m.data + static_cast<std::size_t>(rank_) * m.bytes, m.data, m.bytes, ncclInt8, comm, stream);
        }
    }
    [[nodiscard]] std::uint32_t number_of(const std::string& stage)
    {
        const auto at = std::ranges::find(stages_, stage) - stages_.begin();
        if (at == static_cast<std::ptrdiff_t>(stages_.size())) { stages_.push_back(stage); }
        return static_cast<std::uint32_t>(at) + 1;
    }
    void mark(std::uint32_t stage, cudaStream_t stream) const
    {
        mark_kernel<><<<1, 1, 0, stream>>>(marks_.there<volatile std::uint32_t>(), stage);
        cuda::check(cudaGetLastError(), "NCCL: messages");
    }
    /// Within a group what does not block may be in progress.
    void check_begun(ncclResult_t result, const std::string& stage) const
    {
        if (result != ncclInProgress) { check_nccl(result, split_.get(), stage); }
    }

    int rank_;
    nccl_split split_;
    cuda::mapped_memory marks_;  // how often the stream came to or past messages, and to those of which stage (0: none)
    std::vector<std::string> stages_;
    std::uint32_t seen_ = 0;
    std::uint32_t in_stage_ = 0;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace plait::detail
#endif
