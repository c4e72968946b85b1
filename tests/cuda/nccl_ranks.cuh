// Ranks of NCCL for tests: a thread each, with a device and a communicator; and memory of theirs that peers can touch.
#pragma once

#include "cuda/memory.cuh"

#include <plait/cuda.cuh>
#include <plait/fabric/nccl.cuh>
#if defined(PLAIT_TEST_NCCL_MULTICAST)
#include <plait/fabric/nccl_multicast.cuh>
#endif

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace nccl_test {

#if defined(PLAIT_TEST_NCCL_MULTICAST)
using rank_type = plait::nccl_multicast_communicator;
#else
using rank_type = plait::nccl_communicator;
#endif
/// Whether the harness's buffers lie in symmetric memory, or are plain ones, which must be staged.
inline bool symmetric_buffers = false;
/// The rank of this thread while it has one.
inline thread_local plait::nccl_communicator* mine = nullptr;

inline void check(ncclResult_t result)
{
    if (result != ncclSuccess) { throw plait::error({"test: ", ncclGetErrorString(result), " ", ncclGetLastError(nullptr)}); }
}

/// Calls f(comm, nccl) on n ranks; throws what the first rank to do so threw. Communicators of NCCL end when all ranks are done.
template <class F>
void run(int n, F&& f, std::chrono::nanoseconds deadline = plait::default_deadline)
{
    const std::vector<int> devices = cuda_test::devices();
    ::setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    ncclUniqueId id;
    check(ncclGetUniqueId(&id));
    const auto ranks = static_cast<std::size_t>(n);
    std::vector<ncclComm_t> comms(ranks);
    std::vector<cudaStream_t> streams(ranks);
    std::vector<std::exception_ptr> thrown(ranks);
    const auto each = [&](auto&& g) {
        std::vector<std::thread> threads;
        for (std::size_t r = 0; r < ranks; ++r) {
            threads.emplace_back([&, r] {
                try {
                    plait::cuda::check(cudaSetDevice(devices[r % devices.size()]), "test: device");
                    g(r);
                } catch (...) {
                    if (!thrown[r]) { thrown[r] = std::current_exception(); }
                }
            });
        }
        for (std::thread& t : threads) { t.join(); }
    };
    each([&](std::size_t r) {
        check(ncclCommInitRank(&comms[r], n, id, static_cast<int>(r)));
        plait::cuda::check(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking), "test: stream");
        rank_type comm(comms[r], streams[r], deadline);
        mine = &comm;
        try {
            f(comm, comms[r]);
            comm.synchronize();
        } catch (...) {
            thrown[r] = std::current_exception();
            comm.fail(plait::detail::text_of_current_exception());
        }
        mine = nullptr;
    });
    each([&](std::size_t r) {
        if (comms[r] != nullptr) { check(thrown[r] ? ncclCommAbort(comms[r]) : ncclCommDestroy(comms[r])); }
        plait::cuda::check(cudaStreamDestroy(streams[r]), "test: stream");
    });
    for (const std::exception_ptr& e : thrown) {
        if (e) { std::rethrow_exception(e); }
    }
}

/// As cuda_test::memory, but from the thread's rank where buffers are to be symmetric.
class memory {
  public:
    explicit memory(std::size_t bytes) : copy_(bytes), from_(symmetric_buffers ? mine : nullptr)
    {
        void* p = nullptr;
        if (from_ != nullptr) {
            p = from_->allocate(bytes);
        } else {
            plait::cuda::check(cudaMalloc(&p, bytes), "test: memory");
        }
        device_ = static_cast<std::byte*>(p);
    }
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory()
    {
        if (from_ != nullptr) {
            from_->deallocate(device_, copy_.size());
        } else {
            static_cast<void>(cudaFree(device_));
        }
    }
    [[nodiscard]] std::byte* here() { return copy_.data(); }
    [[nodiscard]] std::byte* there() { return device_; }
    void send() { copy(device_, copy_.data(), cudaMemcpyHostToDevice); }
    void fetch() { copy(copy_.data(), device_, cudaMemcpyDeviceToHost); }

  private:
    /// In the rank's stream, so that it waits for no other rank's kernels.
    void copy(void* to, const void* from, cudaMemcpyKind kind)
    {
        if (mine == nullptr) { return plait::cuda::check(cudaMemcpy(to, from, copy_.size(), kind), "test: copy"); }
        plait::cuda::check(cudaMemcpyAsync(to, from, copy_.size(), kind, mine->stream()), "test: copy");
        mine->synchronize();
    }
    std::vector<std::byte> copy_;
    plait::nccl_communicator* from_;
    std::byte* device_ = nullptr;
};

}  // namespace nccl_test
