// Signals between the passes of a pipeline: a rank tells that it has finished a chunk of a pass, another one waits for that.
#pragma once

#include <plait/target/cuda/launch.cuh>

#include <memory>

namespace plait::cuda {

/// Tells all ranks that one more chunk of a pass is finished. What the stream wrote before is seen by those who wait for it.
struct post_arguments {
    std::uint32_t* const* signals = nullptr;  // by rank of the world: its area
    std::uint32_t* count = nullptr;           // of this rank, so far
    std::int64_t at = 0;                      // this rank's word in an area
    int ranks = 1;                            // of the world
    std::uint32_t* waited = nullptr;          // what later passes of the same launch have waited for, which they need not do
    int n_waited = 0;
    int waited_step = 0;
};
template <class Tag = void>
__global__ void post_kernel(const post_arguments a)
{
    const std::uint32_t count = *a.count + 1;
    __syncthreads();
    for (int r = static_cast<int>(threadIdx.x); r < a.ranks; r += static_cast<int>(blockDim.x)) {
        detail::signal_peer(a.signals[r] + a.at, count);
    }
    if (threadIdx.x == 0) {
        *a.count = count;
        for (int i = 0; i < a.n_waited; ++i) { ++a.waited[i * a.waited_step]; }
    }
}

/// Waits until some ranks have finished one more chunk of a pass than was waited for so far.
struct await_arguments {
    meeting limits;                          // for reports
    const std::uint32_t* words = nullptr;    // of the first rank that is waited for, in this rank's area
    std::uint32_t* count = nullptr;          // of this rank, so far
    int first_rank = 0;
    int ranks = 1;
};
template <class Tag = void>
__global__ void await_kernel(const await_arguments a)
{
    const std::uint32_t count = *a.count + 1;
    __syncthreads();
    for (int r = static_cast<int>(threadIdx.x); r < a.ranks; r += static_cast<int>(blockDim.x)) {
        detail::wait_for_signal(a.limits, a.words + r, count, a.first_rank + r);
    }
    __syncthreads();
    if (threadIdx.x == 0) { *a.count = count; }
}

/// How a product that is launched once for all chunks of a pipeline tells of each: the block that finishes the last tile of a
/// chunk tells the ranks how often that chunk was finished. Every chunk has words of its own, as chunks may end in any order.
struct chunk_signals {
    std::uint32_t* arrived = nullptr;         // by chunk: tiles that are finished in this run; 0 between runs
    std::uint32_t* posted = nullptr;          // by chunk: how often it was finished, in all runs
    std::uint32_t* const* areas = nullptr;    // by rank of the world
    std::int64_t at = 0;                      // of this rank's word for chunk 0 in an area
    std::int64_t step = 0;                    // from a chunk's word to that of the next one
    int first_rank = 0;                       // of those that are told
    int ranks = 0;

    /// All threads of a block call it when the block has finished one of the `tiles` tiles of a chunk.
    __device__ void tile_is_done(int chunk, std::uint32_t tiles) const
    {
        __syncthreads();
        if (threadIdx.x != 0 || detail::arrive(arrived + chunk) + 1 != tiles) { return; }
        arrived[chunk] = 0;
        const std::uint32_t count = posted[chunk] + 1;
        posted[chunk] = count;
        for (int r = first_rank; r < first_rank + ranks; ++r) { detail::signal_peer(areas[r] + at + chunk * step, count); }
    }
};

/// An order between two streams, which a captured graph keeps.
class stream_event {
  public:
    stream_event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "CUDA: an event"); }
    stream_event(const stream_event&) = delete;
    stream_event& operator=(const stream_event&) = delete;
    ~stream_event() { static_cast<void>(cudaEventDestroy(event_)); }
    [[nodiscard]] cudaEvent_t get() const { return event_; }

  private:
    cudaEvent_t event_ = nullptr;
};
class recording : public launch {
  public:
    explicit recording(std::shared_ptr<stream_event> e) : event_(std::move(e)) {}
    void enqueue(cudaStream_t stream) override { check(cudaEventRecord(event_->get(), stream), "CUDA: recording an event"); }

  private:
    std::shared_ptr<stream_event> event_;
};
class waiting : public launch {
  public:
    explicit waiting(std::shared_ptr<stream_event> e) : event_(std::move(e)) {}
    void enqueue(cudaStream_t stream) override { check(cudaStreamWaitEvent(stream, event_->get(), 0), "CUDA: waiting for an event"); }

  private:
    std::shared_ptr<stream_event> event_;
};

}  // namespace plait::cuda
