// How ranks of NCCL meet on the host: over boards in symmetric memory. A wait can be given up at any time, as nothing that
// waits is put on a device.
#pragma once

#include <plait/fabric/nccl_board.cuh>
#include <plait/fabric/nccl_check.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/error.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/fabric/poll.hpp>
#include <plait/target/cuda/mapped_memory.cuh>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace plait::detail {

class nccl_meetings {
  public:
    std::chrono::nanoseconds deadline = default_deadline;

    /// On the current device. `kernels` are this rank's, which a failure ends.
    nccl_meetings(ncclComm_t comm, int rank, int ranks, cuda::kernel_meetings& kernels)
        : comm_(comm),
          kernels_(kernels),
          rank_(rank),
          ranks_(ranks),
          shown_(board_layout::slot_words * word),
          seen_((head() + size() * board_layout::slot_words) * word),
          heard_(head() * word),
          text_(board_layout::text_words * word)
    {
        cuda::check(cudaGetDevice(&device_), "CUDA: the current device");
    }
    /// `boards`: by rank, in a table on this device.
    void connect(std::uint32_t* const* boards) { board_ = {boards, rank_, ranks_, board_layout(ranks_)}; }

    /// Shows a record to all ranks after all that is on stream `after` has run, and returns theirs.
    std::span<const void* const> exchange(const void* record, std::size_t bytes, const char* where, cudaStream_t after)
    {
        begin(where, after);
        records_.resize(size() * bytes);
        for (std::size_t first = 0; first == 0 || first < bytes; first += payload) {
            const std::size_t part = std::min(payload, bytes - first);
            meet({bytes, 0}, {static_cast<const std::byte*>(record) + first, part}, where);
            for (std::size_t r = 0; r < size(); ++r) { std::memcpy(records_.data() + r * bytes + first, record_of(r, part), part); }
        }
        views_.clear();
        for (std::size_t r = 0; r < size(); ++r) { views_.push_back(records_.data() + r * bytes); }
        return views_;
    }
    void barrier(const char* where, cudaStream_t after)
    {
        begin(where, after);
        meet({0, 1}, {}, where);
    }
    template <class Ready>
    void wait(Ready ready, const char* where)
    {
        const auto look = [&] { listen(); };
        if (polled(waits_, deadline, ready, look)) { return; }
        fail(joined({"waited ", text_of(deadline), " at '", where, "'"}));
        throw error(failure_);
    }
    /// Waits for all that is on a stream. Throws plait::error if something has failed.
    void drain(cudaStream_t stream)
    {
        for (auto pause = shortest_pause; !idle(stream); std::this_thread::sleep_for(pause = longer(pause))) { check_nccl_state(); }
        check_kernels();
    }

    /// Gives what this rank's kernels are at, after a failure, time to end.
    static void settle(cudaStream_t stream) { static_cast<void>(idle_soon(stream)); }

    [[nodiscard]] bool failed() const noexcept { return !failure_.empty(); }
    void throw_if_failed() const
    {
        if (failed()) { throw error(failure_); }
    }
    /// Throws plait::error if this rank's kernels have reported something.
    void check_kernels()
    {
        throw_if_failed();
        const std::string problem = kernels_.problem();
        if (problem.empty()) { return; }
        fail(problem);
        throw error(failure_);
    }
    /// Tells all ranks that this one has failed, unless another had before. Throws nothing.
    void fail(std::string_view what) noexcept
    {
        if (failed()) { return; }
        kernels_.abandon();
        try {
            const cuda::on_device here(device_);
            if (hear()) { return; }
            failure_ = joined({"rank ", rank_, " failed: ", what});
            char* const text = text_.here<char>();
            text[what.copy(text, board_layout::text_words * word - 1)] = '\0';
            tell_kernel<><<<1, threads, 0, aside_.get()>>>(board_, text_.there<const std::uint32_t>());
            static_cast<void>(idle_soon(aside_.get()));
        } catch (...) {  // the device is lost: the others learn of it at their deadlines
            if (failure_.empty()) { failure_ = "a device is lost"; }
        }
    }

  private:
    static constexpr std::size_t word = sizeof(std::uint32_t);
    static constexpr int threads = 128;
    static constexpr std::chrono::nanoseconds shortest_pause = std::chrono::microseconds(5);

    /// What every record begins with, so that ranks that make different meetings all see it.
    struct heading {
        std::uint64_t bytes = 0;  // of the whole record
        std::uint64_t kind = 0;
        bool operator==(const heading&) const = default;
    };
    static constexpr std::size_t payload = board_layout::slot_words * word - sizeof(heading);

    class side_stream {
      public:
        side_stream() { cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "CUDA: a stream"); }
        side_stream(const side_stream&) = delete;
        side_stream& operator=(const side_stream&) = delete;
        ~side_stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
        [[nodiscard]] cudaStream_t get() const { return stream_; }

      private:
        cudaStream_t stream_ = nullptr;
    };

    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(ranks_); }
    /// Words before the records that a look at the board gives.
    [[nodiscard]] std::size_t head() const noexcept { return 2 * size() + board_layout::text_words; }
    [[nodiscard]] const std::byte* record_of(std::size_t r, std::size_t bytes) const
    {
        return seen_.here<const std::byte>() + (head() + r * words_of(bytes)) * word + sizeof(heading);
    }
    [[nodiscard]] heading heading_of(std::size_t r, std::size_t bytes) const
    {
        heading h;
        std::memcpy(&h, record_of(r, bytes) - sizeof h, sizeof h);
        return h;
    }
    static constexpr std::size_t words_of(std::size_t bytes) { return (sizeof(heading) + bytes + word - 1) / word; }

    static bool idle(cudaStream_t stream)
    {
        const cudaError_t state = cudaStreamQuery(stream);
        if (state == cudaErrorNotReady) {
            static_cast<void>(cudaGetLastError());
            return false;
        }
        cuda::check(state, "CUDA: waiting for a stream");
        return true;
    }
    /// Of work that waits for nobody.
    static bool idle_soon(cudaStream_t stream)
    {
        patience waits;
        return polled(waits, std::chrono::seconds(1), [&] { return idle(stream); }, [] {});
    }
    static std::chrono::nanoseconds longer(std::chrono::nanoseconds pause)
    {
        return std::min<std::chrono::nanoseconds>(pause + pause / 8, std::chrono::milliseconds(1));
    }

    void begin(const char* where, cudaStream_t after)
    {
        throw_if_failed();
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        cuda::check(cudaStreamIsCapturing(after, &status), "CUDA: the stream");
        if (status != cudaStreamCaptureStatusNone) {
            throw error({"'", where, "': buffers or extents are new while the stream is captured; run once with them before"});
        }
        drain(after);
    }
    /// One record of each rank, of at most `payload` bytes.
    void meet(heading mine, std::span<const std::byte> part, const char* where)
    {
        const cuda::on_device here(device_);
        ++meeting_;
        auto* const to = shown_.here<std::byte>();
        std::memcpy(to, &mine, sizeof mine);
        if (!part.empty()) { std::memcpy(to + sizeof mine, part.data(), part.size()); }
        show_kernel<><<<1, threads, 0, main_.get()>>>(board_, meeting_, shown_.there<const std::uint32_t>(), words_of(part.size()));
        cuda::check(cudaGetLastError(), where);
        const auto start = std::chrono::steady_clock::now();
        for (auto pause = shortest_pause;; std::this_thread::sleep_for(pause = longer(pause))) {
            look_kernel<><<<1, threads, 0, main_.get()>>>(board_, meeting_, words_of(part.size()), seen_.there<std::uint32_t>());
            cuda::check(cudaGetLastError(), where);
            cuda::check(cudaStreamSynchronize(main_.get()), where);
            const std::string missing = missing_ranks();
            if (missing.empty()) { break; }
            throw_if_told(seen_);
            check_nccl_state();
            if (deadline.count() > 0 && std::chrono::steady_clock::now() - start > deadline) {
                fail(joined({"waited ", text_of(deadline), " at '", where, "'; not arrived: rank ", missing}));
                throw error(failure_);
            }
        }
        for (std::size_t r = 0; r < size(); ++r) {
            if (heading_of(r, part.size()) != heading_of(0, part.size())) { refuse(r, part.size(), where); }
        }
    }
    /// All ranks see the same, and throw together.
    [[noreturn]] void refuse(std::size_t r, std::size_t bytes, const char* where)
    {
        const heading first = heading_of(0, bytes);
        const heading other = heading_of(r, bytes);
        const std::string stage = joined({"'", where, "': rank ", r});
        fail(first.kind != other.kind
                 ? joined({stage, " came to another meeting; all ranks must make the same calls in the same order"})
                 : joined({stage, " shows ", other.bytes, " bytes, rank 0 ", first.bytes, "; records must have one size"}));
        throw error(failure_);
    }
    [[nodiscard]] std::string missing_ranks() const
    {
        std::string text;
        for (std::size_t r = 0; r < size(); ++r) {
            const bool here = static_cast<std::int32_t>(seen_.here<const std::uint32_t>()[r] - meeting_) >= 0;
            if (!here) { text += joined({text.empty() ? "" : ", ", r}); }
        }
        return text;
    }
    /// Takes note of a failure that a look at the board has shown.
    bool told(const cuda::mapped_memory& seen)
    {
        const auto* const words = seen.here<const std::uint32_t>();
        for (std::size_t r = 0; r < size() && !failed(); ++r) {
            if (words[size() + r] == 0) { continue; }
            kernels_.abandon();
            failure_ = joined({"rank ", r, " failed: ", reinterpret_cast<const char*>(words + 2 * size())});
        }
        return failed();
    }
    void throw_if_told(const cuda::mapped_memory& seen)
    {
        if (told(seen)) { throw error(failure_); }
    }
    /// Whether a rank has failed.
    bool hear()
    {
        if (board_.of == nullptr) { return false; }
        look_kernel<><<<1, threads, 0, aside_.get()>>>(board_, meeting_ + 1, 0, heard_.there<std::uint32_t>());
        cuda::check(cudaGetLastError(), "NCCL: looking for failures");
        return idle_soon(aside_.get()) && told(heard_);
    }
    void listen()
    {
        throw_if_failed();
        const cuda::on_device here(device_);
        if (hear()) { throw error(failure_); }
        check_nccl_state();
    }
    /// Throws plait::error if NCCL has noticed a failure of its own.
    void check_nccl_state()
    {
        ncclResult_t state = ncclSuccess;
        const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
        if (asked == ncclSuccess && (state == ncclSuccess || state == ncclInProgress)) { return; }
        fail(joined({"NCCL: ", ncclGetErrorString(asked == ncclSuccess ? state : asked)}));
        throw error(failure_);
    }

    ncclComm_t comm_;
    cuda::kernel_meetings& kernels_;
    int rank_;
    int ranks_;
    int device_ = 0;
    std::uint32_t meeting_ = 0;
    board board_;
    side_stream main_;
    side_stream aside_;  // for what must run while something waits on the first
    cuda::mapped_memory shown_;
    cuda::mapped_memory seen_;
    cuda::mapped_memory heard_;
    cuda::mapped_memory text_;
    std::vector<std::byte> records_;
    std::vector<const void*> views_;
    patience waits_;
    std::string failure_;
};

}  // namespace plait::detail
#endif
