// What tests of ranks with devices do with buffers and with errors.
#pragma once

#include <plait/core/error.hpp>
#include <plait/target/cuda/check.cuh>

#include <string>
#include <vector>

namespace cuda_test {

/// Sets all values of a buffer.
template <class Communicator, class Buffer>
void set(Communicator& comm, const Buffer& to, float value)
{
    const std::vector<float> all(to.size(), value);
    plait::cuda::check(cudaMemcpyAsync(to.data(), all.data(), all.size() * sizeof(float), cudaMemcpyHostToDevice, comm.stream()), "set");
    comm.synchronize();
}
template <class Communicator, class Buffer>
std::vector<float> get(Communicator& comm, const Buffer& from)
{
    std::vector<float> all(from.size());
    plait::cuda::check(cudaMemcpyAsync(all.data(), from.data(), all.size() * sizeof(float), cudaMemcpyDeviceToHost, comm.stream()), "get");
    comm.synchronize();
    return all;
}

/// The text of the error that f throws, or "nothing".
template <class F>
std::string thrown_by(F&& f)
{
    try {
        f();
    } catch (const plait::error& e) {
        return e.what();
    }
    return "nothing";
}

}  // namespace cuda_test
