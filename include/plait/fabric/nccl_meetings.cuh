// How ranks of NCCL meet on the host. A wait can be given up at any time.
#pragma once

#include <plait/fabric/nccl_carrier.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/fabric/idle_stream.cuh>
#include <plait/fabric/kernel_meetings.cuh>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace plait::detail {

class nccl_meetings {
  public:
    std::chrono::nanoseconds deadline = default_deadline;

    /// On the current device. `kernels` are this rank's, `carrier` brings the records.
    nccl_meetings(ncclComm_t comm, int rank, int ranks, nccl_carrier& carrier, cuda::kernel_meetings& kernels)
        : comm_(comm), carrier_(carrier), kernels_(kernels), rank_(rank), ranks_(ranks)
    {
        cuda::check(cudaGetDevice(&device_), "CUDA: the current device");
    }

    /// Shows a record to all ranks after all that is on stream `after` has run, and returns theirs.
    view<const void* const> exchange(const void* record, std::size_t bytes, const char* where, cudaStream_t after)
    {
        begin(where, after);
        const auto n = static_cast<std::size_t>(ranks_);
        records_.resize(n * bytes);
        for (std::size_t first = 0; first == 0 || first < bytes; first += payload) {
            const std::size_t part = std::min(payload, bytes - first);
            meet({bytes, 0}, {static_cast<const std::byte*>(record) + first, part}, where);
            for (std::size_t r = 0; r < n; ++r) {
                std::memcpy(records_.data() + r * bytes + first, carrier_.record_of(static_cast<int>(r)) + sizeof(heading), part);
            }
        }
        views_.clear();
        for (std::size_t r = 0; r < n; ++r) { views_.push_back(records_.data() + r * bytes); }
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
        const auto look = [&] {
            throw_if_failed();
            const cuda::on_device here(device_);
            carrier_.listen();
            throw_if_heard();
            check_nccl_state();
        };
        if (polled(waits_, deadline, ready, look)) { return; }
        fail(joined({"waited ", text_of(deadline), " at '", where, "'"}));
        throw error(failure_);
    }
    /// Waits for all that is on a stream. Throws plait::error if something has failed.
    void drain(cudaStream_t stream)
    {
        for (auto pause = shortest_pause; !is_idle(stream); std::this_thread::sleep_for(pause = longer(pause))) {
            throw_if_failed();
            check_nccl_state();
            carrier_.listen_to_stream();
            throw_if_heard();
            const std::string stage = carrier_.overdue(deadline);
            if (stage.empty()) { continue; }
            fail(joined({"waited ", text_of(deadline), " in '", stage, "' for what other ranks send or receive"}));
            throw error(failure_);
        }
        check_kernels();
    }

    /// Gives what this rank's kernels are at, after a failure, time to end.
    static void settle(cudaStream_t stream) { static_cast<void>(is_idle_within(stream, std::chrono::seconds(1))); }

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
        carrier_.abandon();
        try {
            const cuda::on_device here(device_);
            carrier_.look();
            failure_ = carrier_.heard();
            if (failed()) { return; }
            failure_ = joined({"rank ", rank_, " failed: ", what});
            carrier_.tell(what, deadline);
        } catch (...) {  // the device is lost: the others learn of it at their deadlines
            if (failure_.empty()) { failure_ = "a device is lost"; }
        }
    }

  private:
    static constexpr std::chrono::nanoseconds shortest_pause = std::chrono::microseconds(5);

    /// What every record begins with, so that ranks that make different meetings all see it.
    struct heading {
        std::uint64_t bytes = 0;  // of the whole record
        std::uint64_t kind = 0;
        bool operator==(const heading&) const = default;
    };
    static constexpr std::size_t payload = nccl_carrier::record_bytes - sizeof(heading);

    static std::chrono::nanoseconds longer(std::chrono::nanoseconds pause)
    {
        return std::min<std::chrono::nanoseconds>(pause + pause / 8, std::chrono::milliseconds(1));
    }
    [[nodiscard]] heading heading_of(int r) const
    {
        heading h;
        std::memcpy(&h, carrier_.record_of(r), sizeof h);
        return h;
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
    void meet(heading mine, view<const std::byte> part, const char* where)
    {
        const cuda::on_device here(device_);
        std::byte record[nccl_carrier::record_bytes];
        std::memcpy(record, &mine, sizeof mine);
        if (!part.empty()) { std::memcpy(record + sizeof mine, part.data(), part.size()); }
        carrier_.show({record, sizeof mine + part.size()});
        const auto start = std::chrono::steady_clock::now();
        for (auto pause = shortest_pause; !carrier_.has_all(); std::this_thread::sleep_for(pause = longer(pause))) {
            throw_if_heard();
            check_nccl_state();
            if (deadline.count() > 0 && std::chrono::steady_clock::now() - start > deadline) {
                fail(joined({"waited ", text_of(deadline), " at '", where, "'; not arrived: ", carrier_.missing()}));
                throw error(failure_);
            }
        }
        for (int r = 0; r < ranks_; ++r) {
            if (heading_of(r) != heading_of(0)) { refuse(r, where); }
        }
    }
    /// All ranks see the same, and throw together.
    [[noreturn]] void refuse(int r, const char* where)
    {
        const heading first = heading_of(0);
        const heading other = heading_of(r);
        const std::string stage = joined({"'", where, "': rank ", r});
        fail(first.kind != other.kind
                 ? joined({stage, " came to another meeting; all ranks must make the same calls in the same order"})
                 : joined({stage, " shows ", other.bytes, " bytes, rank 0 ", first.bytes, "; records must have one size"}));
        throw error(failure_);
    }
    void throw_if_heard()
    {
        if (carrier_.heard().empty()) { return; }
        carrier_.abandon();
        failure_ = carrier_.heard();
        throw error(failure_);
    }
    /// Throws plait::error if NCCL has noticed a failure of its own.
    void check_nccl_state()
    {
        ncclResult_t state = ncclSuccess;
        const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
        if (asked != ncclSuccess) { state = asked; }
        if (state == ncclSuccess || state == ncclInProgress) { state = carrier_.state(); }
        if (state == ncclSuccess || state == ncclInProgress) { return; }
        fail(joined({"NCCL: ", ncclGetErrorString(state)}));
        throw error(failure_);
    }

    ncclComm_t comm_;
    nccl_carrier& carrier_;
    cuda::kernel_meetings& kernels_;
    int rank_;
    int ranks_;
    int device_ = 0;
    std::vector<std::byte> records_;
    std::vector<const void*> views_;
    patience waits_;
    std::string failure_;
};

}  // namespace plait::detail
#endif
