// A stream of its own.
#pragma once

#include <plait/target/cuda/check.cuh>

namespace plait::cuda {

/// A stream of the current device that does not wait for the legacy one; `first`: its kernels come before others'.
class owned_stream {
  public:
    explicit owned_stream(bool first = false)
    {
        int least = 0;
        int greatest = 0;
        check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "CUDA: priorities");
        check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, first ? greatest : least), "CUDA: a stream");
    }
    owned_stream(const owned_stream&) = delete;
    owned_stream& operator=(const owned_stream&) = delete;
    ~owned_stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
    [[nodiscard]] cudaStream_t get() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

}  // namespace plait::cuda
