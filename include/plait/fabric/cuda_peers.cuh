// The fabric of CUDA peers: ranks are threads of one process, each with a device and a stream; several may share a device.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/device_blocks.cuh>
#include <plait/fabric/device_buffer.cuh>
#include <plait/fabric/device_name.cuh>
#include <plait/fabric/kernel_meetings.cuh>
#include <plait/fabric/threads.hpp>
#include <plait/target/cuda/device_memory.cuh>
#include <plait/target/cuda/meeting.cuh>
#include <plait/target/cuda/stream.cuh>
#include <plait/target/cuda/target.cuh>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

class cuda_communicator;

/// What the ranks of one group share: where they meet, and what must live until all of them are done.
/// ```
/// plait::cuda_group group{n};
/// // in the thread of rank r, which has chosen its device:
/// plait::cuda_communicator comm(group, r, stream);
/// ```
/// The group must outlive its communicators. `plait::cuda_peers::run` does all this when the threads are not yours.
class cuda_group {
  public:
    /// A group of `size` ranks whose waits, on the host and on devices, last `deadline` at most (0: no limit).
    explicit cuda_group(int size, std::chrono::nanoseconds deadline = default_deadline)
        : host_(size, deadline), kernels_(static_cast<std::size_t>(size))
    {
    }
    cuda_group(const cuda_group&) = delete;
    cuda_group& operator=(const cuda_group&) = delete;
    ~cuda_group()
    {
        for (void* p : kept_) { static_cast<void>(cudaFree(p)); }
    }
    [[nodiscard]] int size() const noexcept { return host_.size(); }
    /// The ranks' threads.
    [[nodiscard]] thread_group& host() noexcept { return host_; }

  private:
    friend cuda_communicator;

    /// Frees memory when the group ends: peers may still touch it.
    void keep(view<void* const> blocks) noexcept
    {
        try {
            const std::lock_guard lock(mutex_);
            kept_.insert(kept_.end(), blocks.begin(), blocks.end());
        } catch (...) {  // out of memory: they leak
        }
    }
    /// Ends the waits of all kernels.
    void abandon() noexcept
    {
        for (cuda::kernel_meetings& k : kernels_) { k.abandon(); }
    }

    thread_group host_;
    std::vector<cuda::kernel_meetings> kernels_;  // by rank: each uses its own, and all are abandoned together
    std::mutex mutex_;
    std::vector<void*> kept_;
};

/// A rank of a cuda_group, on the device that is current when it is made; models plait::communicator. Programs run on its
/// stream, in order with all else there, and return before they have run: `synchronize` waits for them and tells of failures.
/// Used by one thread, stays where it was made.
class cuda_communicator {
  public:
    using target = cuda::target;

    /// Rank `rank` of a group, whose programs run on `stream` of the current device. Waits for all ranks.
    /// Throws plait::error if there is no such rank, or if two devices cannot reach each other's memory.
    cuda_communicator(cuda_group& group, int rank, cudaStream_t stream = cudaStreamPerThread)
        : group_(group), host_(group.host().communicator(rank)), stream_(stream), blocks_(stream)
    {
        cuda::check(cudaGetDevice(&device_), "CUDA: the current device");
        connect();
    }
    cuda_communicator(const cuda_communicator&) = delete;
    cuda_communicator& operator=(const cuda_communicator&) = delete;
    ~cuda_communicator()
    {
        static_cast<void>(cudaStreamSynchronize(stream_));
        group_.keep(blocks_.returned());
    }

    [[nodiscard]] int rank() const noexcept { return host_.rank(); }
    [[nodiscard]] int size() const noexcept { return host_.size(); }
    [[nodiscard]] int device() const noexcept { return device_; }
    [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
    /// What measurements hold for.
    [[nodiscard]] std::string fabric_name() const { return joined({"cuda_peers, ", sharing_, " on a device"}); }
    [[nodiscard]] std::string device_name() const { return cuda::device_name(device_); }
    /// Ranks on the device that has most of them: their kernels must fit beside each other.
    [[nodiscard]] int ranks_on_a_device() const noexcept { return sharing_; }

    /// Waits until all that was put on the stream has run. Throws plait::error if something went wrong on a device.
    void synchronize()
    {
        const cudaError_t result = cudaStreamSynchronize(stream_);
        check();
        cuda::check(result, "CUDA: waiting for the stream");
    }
    /// Throws plait::error if a kernel has reported a failure, or the group has failed.
    void check()
    {
        if (host_failed()) {
            group_.abandon();
            throw error(group_.host().failure());
        }
        const std::string what = mine().problem();
        if (what.empty()) { return; }
        fail(what);
        throw error({"rank ", rank(), ": ", what});
    }

    void barrier(const char* where) { host_.barrier(where); }
    template <class Ready>
    void wait(Ready ready, const char* where)
    {
        host_.wait(ready, where);
    }
    view<const void* const> exchange(const void* record, std::size_t bytes, const char* where)
    {
        return host_.exchange(record, bytes, where);
    }
    [[nodiscard]] bool shares(int r) const noexcept { return host_.shares(r); }
    [[nodiscard]] buffer_handle handle_of(const void* p, std::size_t bytes) const noexcept { return host_.handle_of(p, bytes); }
    [[nodiscard]] void* resolve(int r, buffer_handle h) const noexcept { return host_.resolve(r, h); }

    /// Memory of this rank's device that all ranks' kernels can touch.
    void* allocate(std::size_t bytes)
    {
        const cuda::on_device here(device_);
        return blocks_.allocate(bytes);
    }
    /// Waits for this rank's stream. The memory is freed by `collect`, or when the group ends.
    void deallocate(void* p, std::size_t bytes) noexcept { blocks_.deallocate(p, bytes); }
    /// Frees what was given back. Called when no kernel can be waiting for this rank.
    void collect() { blocks_.collect(); }
    /// Where memory comes from that only this rank's kernels touch: the same here.
    [[nodiscard]] cuda::memory_source& scratch() noexcept { return blocks_; }
    /// `n` zeroed values on this rank's device; see device_buffer.
    template <class T>
    device_buffer<T, cuda_communicator> symmetric(std::size_t n)
    {
        return {*this, n};
    }

    void fail(std::string_view what)
    {
        host_.fail(what);
        group_.abandon();
    }
    [[nodiscard]] std::chrono::nanoseconds deadline() const noexcept { return host_.deadline(); }
    void set_deadline(std::chrono::nanoseconds limit) noexcept { host_.set_deadline(limit); }

    /// How kernels of this rank meet those of all others, in what is called `stage` in errors.
    [[nodiscard]] cuda::meeting meeting_in(std::string stage)
    {
        return mine().in(std::move(stage), deadline());
    }

  private:
    struct introduction {
        std::uint32_t* signals = nullptr;
        int device = 0;
    };

    [[nodiscard]] bool host_failed() const noexcept { return group_.host().failed(); }
    [[nodiscard]] cuda::kernel_meetings& mine() noexcept { return group_.kernels_[static_cast<std::size_t>(rank())]; }

    void connect()
    {
        const auto ranks = static_cast<std::size_t>(size());
        const std::size_t words = cuda::kernel_meetings::words(size());
        void* memory = nullptr;
        cuda::check(cudaMalloc(&memory, words * sizeof(std::uint32_t) + ranks * sizeof(void*)), "CUDA: memory for signals");
        group_.keep(view(&memory, 1));
        cuda::check(cudaMemsetAsync(memory, 0, words * sizeof(std::uint32_t), stream_), "CUDA: clearing signals");
        auto* const signals = static_cast<std::uint32_t*>(memory);
        const introduction own{signals, device_};
        std::vector<std::uint32_t*> all;
        std::vector<int> devices;
        for (const void* theirs : host_.exchange(&own, sizeof own, "CUDA peers: introduction")) {
            const auto& i = *static_cast<const introduction*>(theirs);
            all.push_back(i.signals);
            devices.push_back(i.device);
        }
        for (int d : devices) {
            sharing_ = std::max(sharing_, static_cast<int>(detail::count(devices, d)));
            if (d != device_) { enable_peer(d); }
        }
        auto* const table = reinterpret_cast<std::uint32_t**>(signals + words);
        cuda::check(cudaMemcpyAsync(table, all.data(), ranks * sizeof(void*), cudaMemcpyHostToDevice, stream_), "CUDA: copying addresses");
        cuda::check(cudaStreamSynchronize(stream_), "CUDA: copying addresses");
        mine().connect(rank(), size(), signals, table);
        host_.barrier("CUDA peers: connected");
    }
    void enable_peer(int other) const
    {
        int can = 0;
        cuda::check(cudaDeviceCanAccessPeer(&can, device_, other), "CUDA: peer access");
        if (can == 0) {
            throw error({"CUDA peers: device ", device_, " cannot reach the memory of device ", other,
                         "; use devices that are connected, or one device for all ranks"});
        }
        const cudaError_t result = cudaDeviceEnablePeerAccess(other, 0);
        if (result == cudaErrorPeerAccessAlreadyEnabled) {
            static_cast<void>(cudaGetLastError());
        } else {
            cuda::check(result, "CUDA: peer access");
        }
    }

    cuda_group& group_;
    thread_communicator host_;
    cudaStream_t stream_;
    int device_ = 0;
    int sharing_ = 1;
    cuda::device_blocks blocks_;
};

namespace cuda_peers {

/// Calls `f(comm)` once per rank, at the same time, with each rank's cuda_communicator: rank r on device
/// devices[r % devices.size()], with a stream of its own. Returns when all have, and all their streams are done. Failures are
/// as in threads::run.
template <class F>
requires std::invocable<F&, cuda_communicator&>
void run(int n, F&& f, view<const int> devices, std::chrono::nanoseconds deadline = default_deadline)
{
    if (devices.empty()) { throw error("CUDA peers: no device; name at least one"); }
    cuda_group group(n, deadline);
    plait::detail::run_ranks(group.host(), [&](int rank) {
        cuda::check(cudaSetDevice(devices[static_cast<std::size_t>(rank) % devices.size()]), "CUDA: the device of a rank");
        const cuda::owned_stream stream;
        cuda_communicator comm(group, rank, stream.get());
        try {
            f(comm);
            comm.synchronize();
        } catch (...) {
            comm.fail(plait::detail::text_of_current_exception());  // ends the others' waits on devices, too
            throw;
        }
    });
}

}  // namespace cuda_peers
}  // namespace plait
