// Records of ranks of NCCL that can load from each other: over boards in symmetric memory. Nothing that waits is put on a device.
#pragma once

#include <plait/fabric/nccl_carrier.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/idle_stream.cuh>
#include <plait/fabric/nccl_board.cuh>
#include <plait/target/cuda/mapped_memory.cuh>
#include <plait/target/cuda/stream.cuh>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace plait::detail {

class nccl_boards final : public nccl_carrier {
  public:
    /// On the current device. `kernels` are this rank's, which a failure ends.
    nccl_boards(int rank, int ranks, cuda::kernel_meetings& kernels)
        : kernels_(kernels),
          rank_(rank),
          ranks_(ranks),
          shown_(record_bytes),
          seen_(head() * word + static_cast<std::size_t>(ranks) * record_bytes),
          heard_at_(head() * word),
          text_(board_layout::text_words * word)
    {
    }
    /// `boards`: by rank, in a table on this device.
    void connect(std::uint32_t* const* boards) { board_ = {boards, rank_, ranks_, board_layout(ranks_)}; }

    void show(view<const std::byte> record) override
    {
        ++meeting_;
        words_ = (record.size() + word - 1) / word;
        std::memcpy(shown_.here<std::byte>(), record.data(), record.size());
        show_kernel<><<<1, threads, 0, main_.get()>>>(board_, meeting_, shown_.there<const std::uint32_t>(), words_);
        cuda::check(cudaGetLastError(), "NCCL: showing a record");
    }
    bool has_all() override
    {
        look_kernel<><<<1, threads, 0, main_.get()>>>(board_, meeting_, words_, seen_.there<std::uint32_t>());
        cuda::check(cudaGetLastError(), "NCCL: looking for records");
        cuda::check(cudaStreamSynchronize(main_.get()), "NCCL: looking for records");
        if (missing().empty()) { return true; }
        hear(seen_);
        return false;
    }
    [[nodiscard]] const std::byte* record_of(int rank) const override
    {
        return seen_.here<const std::byte>() + (head() + static_cast<std::size_t>(rank) * words_) * word;
    }
    [[nodiscard]] std::string missing() const override
    {
        std::string text;
        for (int r = 0; r < ranks_; ++r) {
            const bool here = static_cast<std::int32_t>(seen_.here<const std::uint32_t>()[r] - meeting_) >= 0;
            if (!here) { text += joined({text.empty() ? "rank " : ", ", r}); }
        }
        return text;
    }

    void look() override
    {
        if (board_.of == nullptr) { return; }
        look_kernel<><<<1, threads, 0, aside_.get()>>>(board_, meeting_ + 1, 0, heard_at_.there<std::uint32_t>());
        cuda::check(cudaGetLastError(), "NCCL: looking for failures");
        if (is_idle_within(aside_.get(), std::chrono::seconds(1))) { hear(heard_at_); }
    }
    void listen() override { look(); }
    void listen_to_stream() override {}  // kernels that wait look themselves
    [[nodiscard]] std::string overdue(std::chrono::nanoseconds /*limit*/) override { return {}; }

    void abandon() noexcept override { kernels_.abandon(); }
    void tell(std::string_view why, std::chrono::nanoseconds /*limit*/) override
    {
        char* const text = text_.here<char>();
        text[why.copy(text, board_layout::text_words * word - 1)] = '\0';
        tell_kernel<><<<1, threads, 0, aside_.get()>>>(board_, text_.there<const std::uint32_t>());
        static_cast<void>(is_idle_within(aside_.get(), std::chrono::seconds(1)));
    }
    [[nodiscard]] ncclResult_t state() override { return ncclSuccess; }

  private:
    static constexpr std::size_t word = sizeof(std::uint32_t);
    static constexpr int threads = 128;
    static_assert(record_bytes == board_layout::slot_words * word);

    /// Words before the records that a look at the board gives.
    [[nodiscard]] std::size_t head() const noexcept { return 2 * static_cast<std::size_t>(ranks_) + board_layout::text_words; }
    /// Takes note of a failure that a look at the board has shown.
    void hear(const cuda::mapped_memory& seen)
    {
        const auto* const words = seen.here<const std::uint32_t>();
        for (int r = 0; r < ranks_ && heard_.empty(); ++r) {
            if (words[ranks_ + r] != 0) { heard_ = joined({"rank ", r, " failed: ", reinterpret_cast<const char*>(words + 2 * ranks_)}); }
        }
    }

    cuda::kernel_meetings& kernels_;
    int rank_;
    int ranks_;
    std::uint32_t meeting_ = 0;
    std::size_t words_ = 0;  // of this meeting's records
    board board_;
    cuda::owned_stream main_;
    cuda::owned_stream aside_;  // for what must run while something waits on the first
    cuda::mapped_memory shown_;
    cuda::mapped_memory seen_;
    cuda::mapped_memory heard_at_;
    cuda::mapped_memory text_;
};

}  // namespace plait::detail
#endif
