// Looking whether a stream has run out of work.
#pragma once

#include <plait/fabric/poll.hpp>
#include <plait/target/cuda/check.cuh>

#include <chrono>

namespace plait::detail {

/// Whether all that was put on a stream has run. Throws plait::error if it failed.
inline bool is_idle(cudaStream_t stream)
{
    const cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaErrorNotReady) {
        static_cast<void>(cudaGetLastError());
        return false;
    }
    cuda::check(state, "CUDA: waiting for a stream");
    return true;
}
/// Waits for that, but not for long.
inline bool is_idle_within(cudaStream_t stream, std::chrono::nanoseconds limit)
{
    patience waits;
    return polled(waits, limit, [&] { return is_idle(stream); }, [] {});
}

}  // namespace plait::detail
