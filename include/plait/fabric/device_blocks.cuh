// Memory of one rank's device, freed when no other rank can be waiting for this one.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/target/cuda/check.cuh>
#include <plait/target/cuda/device_memory.cuh>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace plait::cuda {

/// Blocks from cudaMalloc on the current device, for work on one stream.
class device_blocks final : public memory_source {
  public:
    /// `wait(of)` waits for the stream, and throws nothing; without it CUDA does.
    explicit device_blocks(cudaStream_t stream, void (*wait)(void*) = nullptr, void* of = nullptr) : stream_(stream), wait_(wait), of_(of) {}
    device_blocks(const device_blocks&) = delete;
    device_blocks& operator=(const device_blocks&) = delete;

    void* allocate(std::size_t bytes) override
    {
        void* p = nullptr;
        check(cudaMalloc(&p, std::max<std::size_t>(bytes, 1)), joined({"CUDA: ", bytes, " bytes of device memory"}));
        return p;
    }
    /// Waits for the stream. The block is freed by `collect`, or by whoever takes over what was returned.
    void deallocate(void* p, std::size_t /*bytes*/) noexcept override
    {
        wait_ != nullptr ? wait_(of_) : static_cast<void>(cudaStreamSynchronize(stream_));
        try {
            returned_.push_back(p);
        } catch (...) {  // out of memory: leaking the block is better than pulling it from under a peer
        }
    }
    /// Frees what was given back. Called when no kernel can be waiting for this rank.
    void collect()
    {
        for (void* p : returned_) { check(cudaFree(p), "CUDA: freeing memory"); }
        returned_.clear();
    }
    /// What was given back and is not freed yet.
    [[nodiscard]] view<void* const> returned() const noexcept { return returned_; }

  private:
    cudaStream_t stream_;
    void (*wait_)(void*);
    void* of_;
    std::vector<void*> returned_;
};

}  // namespace plait::cuda
