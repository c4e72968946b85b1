// Records of ranks of NCCL that cannot load from each other: gathered by NCCL, in rounds to which all ranks come.
#pragma once

#include <plait/fabric/nccl_carrier.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/idle_stream.cuh>
#include <plait/fabric/kernel_meetings.cuh>
#include <plait/fabric/nccl_messages.cuh>
#include <plait/fabric/nccl_split.cuh>
#include <plait/fabric/poll.hpp>
#include <plait/target/cuda/mapped_memory.cuh>
#include <plait/target/cuda/stream.cuh>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace plait::detail {

/// A round is an all_gather on a stream and a communicator of their own. A rank comes to one with the record of a meeting, or with
/// the failure it has to tell, or only to listen: then the round is void, and those who brought records come to the next with the
/// same. So a rank whose stream waits for others hears of their failures, and misses no meeting.
class nccl_rounds final : public nccl_carrier {
  public:
    /// On the current device; collective. `messages` and `kernels` are this rank's, which a failure ends.
    nccl_rounds(ncclComm_t users, int rank, int ranks, std::chrono::nanoseconds deadline, nccl_messages& messages,
                cuda::kernel_meetings& kernels)
        : messages_(messages),
          kernels_(kernels),
          ranks_(ranks),
          sent_(new_memory(slot_bytes)),
          received_(new_memory(static_cast<std::size_t>(ranks) * slot_bytes)),
          shown_(slot_bytes),
          last_(slot_bytes),
          seen_(static_cast<std::size_t>(ranks) * slot_bytes),
          split_(users, rank, deadline)
    {
    }
    /// Gives the others time to hear of this rank's failure.
    ~nccl_rounds() override
    {
        try {
            if (has_failed_) { static_cast<void>(polled(waits_, linger_, [&] { return has_ended(); }, [] {})); }
        } catch (...) {  // the device is lost
        }
        if (has_failed_ || !heard_.empty()) { split_.abort(); }
    }

    void show(view<const std::byte> record) override
    {
        record_.assign(record.begin(), record.end());
        next();
    }
    bool has_all() override
    {
        while (came_) {
            if (!has_ended()) { return false; }
            const bool with_record = came_with_ == purpose::meeting;
            came_ = false;
            if (hear()) { return false; }
            if (with_record && nobody_listens()) { return true; }
            next();
        }
        next();
        return false;
    }
    [[nodiscard]] const std::byte* record_of(int rank) const override { return slot_of(rank) + sizeof(purpose); }
    [[nodiscard]] std::string missing() const override { return "some rank"; }

    void look() override
    {
        if (!came_ || !has_ended()) { return; }
        came_ = false;
        static_cast<void>(hear());
    }
    void listen() override
    {
        look();
        if (came_ || !heard_.empty() || std::chrono::steady_clock::now() - listened_ < pause) { return; }
        come(purpose::listening, {}, shown_);
        listened_ = std::chrono::steady_clock::now();
    }
    void listen_to_stream() override
    {
        if (messages_.waited() > patience_with_messages) { listen(); }
    }
    [[nodiscard]] std::string overdue(std::chrono::nanoseconds limit) override
    {
        return limit.count() > 0 && messages_.waited() > limit ? messages_.stage() : std::string();
    }

    void abandon() noexcept override
    {
        messages_.abort();
        kernels_.abandon();
    }
    void tell(std::string_view why, std::chrono::nanoseconds limit) override
    {
        linger_ = limit;
        has_failed_ = true;
        std::byte text[record_bytes]{};
        const std::size_t length = std::min(why.size(), record_bytes - 1);
        std::memcpy(text, why.data(), length);
        const auto begun = [&] { return !came_ || is_begun(); };  // a round that this rank is at; the next one comes after it
        if (polled(waits_, std::chrono::seconds(1), begun, [] {})) { come(purpose::failing, {text, length + 1}, last_); }
    }
    [[nodiscard]] ncclResult_t state() override
    {
        const ncclResult_t messages = messages_.state();
        return messages != ncclSuccess && messages != ncclInProgress ? messages : split_.state();
    }

  private:
    /// What a rank came to a round for. Before its record, whose alignment it keeps.
    enum class purpose : std::uint64_t { meeting, listening, failing };
    static constexpr const char* where = "NCCL: a meeting";
    static constexpr std::size_t slot_bytes = sizeof(purpose) + record_bytes;
    static constexpr std::chrono::nanoseconds pause = std::chrono::milliseconds(20);
    static constexpr std::chrono::nanoseconds patience_with_messages = std::chrono::milliseconds(200);

    [[nodiscard]] const std::byte* slot_of(int rank) const
    {
        return seen_.here<const std::byte>() + static_cast<std::size_t>(rank) * slot_bytes;
    }
    [[nodiscard]] purpose purpose_of(int rank) const
    {
        purpose p{};
        std::memcpy(&p, slot_of(rank), sizeof p);
        return p;
    }
    /// Whether some rank has failed, in the round that has ended.
    bool hear()
    {
        for (int r = 0; r < ranks_ && heard_.empty(); ++r) {
            if (purpose_of(r) != purpose::failing) { continue; }
            heard_ = joined({"rank ", r, " failed: ", reinterpret_cast<const char*>(slot_of(r) + sizeof(purpose))});
        }
        return !heard_.empty();
    }
    [[nodiscard]] bool nobody_listens() const
    {
        for (int r = 0; r < ranks_; ++r) {
            if (purpose_of(r) == purpose::listening) { return false; }
        }
        return true;
    }
    /// Comes to the next round with the record, unless this rank is at one.
    void next()
    {
        if (!came_ && heard_.empty()) { come(purpose::meeting, record_, shown_); }
    }
    void come(purpose what, view<const std::byte> record, const cuda::mapped_memory& shown)
    {
        auto* const slot = shown.here<std::byte>();
        std::memcpy(slot, &what, sizeof what);
        if (!record.empty()) { std::memcpy(slot + sizeof what, record.data(), record.size()); }
        cuda::check(cudaMemcpyAsync(sent_.get(), slot, slot_bytes, cudaMemcpyHostToDevice, main_.get()), where);
        const ncclResult_t result = ncclAllGather(sent_.get(), received_.get(), slot_bytes, ncclInt8, split_.get(), main_.get());
        if (result != ncclInProgress) { check_nccl(result, split_.get(), where); }
        came_ = true;
        came_with_ = what;
        is_begun_ = false;
    }
    /// Whether NCCL has put the round on the stream; then its records follow.
    bool is_begun()
    {
        if (is_begun_ || split_.state() == ncclInProgress) { return is_begun_; }
        const std::size_t all = static_cast<std::size_t>(ranks_) * slot_bytes;
        cuda::check(cudaMemcpyAsync(seen_.here<std::byte>(), received_.get(), all, cudaMemcpyDeviceToHost, main_.get()), where);
        return is_begun_ = true;
    }
    bool has_ended() { return is_begun() && is_idle(main_.get()); }

    struct freed {
        void operator()(std::byte* p) const noexcept { static_cast<void>(cudaFree(p)); }
    };
    using device_memory = std::unique_ptr<std::byte, freed>;
    static device_memory new_memory(std::size_t bytes)
    {
        void* p = nullptr;
        cuda::check(cudaMalloc(&p, bytes), where);
        return device_memory(static_cast<std::byte*>(p));
    }

    nccl_messages& messages_;
    cuda::kernel_meetings& kernels_;
    int ranks_;
    cuda::owned_stream main_;
    device_memory sent_;
    device_memory received_;
    cuda::mapped_memory shown_;
    cuda::mapped_memory last_;  // with which this rank fails, while another one may be under way
    cuda::mapped_memory seen_;
    nccl_split split_;
    std::vector<std::byte> record_;
    bool came_ = false;  // to a round that has not ended, as far as this rank knows
    purpose came_with_ = purpose::meeting;
    bool is_begun_ = false;
    bool has_failed_ = false;
    std::chrono::nanoseconds linger_{};  // to be heard
    std::chrono::steady_clock::time_point listened_{};
    patience waits_;
};

}  // namespace plait::detail
#endif
