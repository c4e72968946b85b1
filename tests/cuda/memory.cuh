// Device memory with a copy on the host, and which devices the ranks of a test have.
#pragma once

#include <plait/target/cuda/check.cuh>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace cuda_test {

/// PLAIT_TEST_DEVICES: how many devices the ranks take turns on; all on one device unless set.
inline std::vector<int> devices()
{
    const char* text = std::getenv("PLAIT_TEST_DEVICES");
    const int count = text == nullptr ? 1 : std::stoi(text);
    std::vector<int> all;
    for (int d = 0; d < count; ++d) { all.push_back(d); }
    return all;
}

/// Memory on the current device and what the test sees of it.
class memory {
  public:
    explicit memory(std::size_t bytes) : copy_(bytes)
    {
        void* p = nullptr;
        plait::cuda::check(cudaMalloc(&p, bytes), "test: memory");
        device_ = static_cast<std::byte*>(p);
    }
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory() { static_cast<void>(cudaFree(device_)); }
    [[nodiscard]] std::byte* here() { return copy_.data(); }
    [[nodiscard]] std::byte* there() { return device_; }
    void send() { copy(device_, copy_.data(), cudaMemcpyHostToDevice); }
    void fetch() { copy(copy_.data(), device_, cudaMemcpyDeviceToHost); }

  private:
    void copy(void* to, const void* from, cudaMemcpyKind kind)
    {
        plait::cuda::check(cudaMemcpy(to, from, copy_.size(), kind), "test: copy");
        plait::cuda::check(cudaDeviceSynchronize(), "test: copy");
    }
    std::vector<std::byte> copy_;
    std::byte* device_ = nullptr;
};

}  // namespace cuda_test
