// Memory of the host that kernels reach as well.
#pragma once

#include <plait/target/cuda/check.cuh>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace plait::cuda {

/// A block of pinned host memory, zeroed, that every device can touch. Movable, not copyable.
class mapped_memory {
  public:
    explicit mapped_memory(std::size_t bytes)
    {
        check(cudaHostAlloc(&host_, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable | cudaHostAllocMapped),
              "CUDA: memory of the host for kernels");
        std::memset(host_, 0, bytes);
    }
    mapped_memory(mapped_memory&& other) noexcept : host_(std::exchange(other.host_, nullptr)) {}
    mapped_memory& operator=(mapped_memory&& other) noexcept
    {
        std::swap(host_, other.host_);
        return *this;
    }
    ~mapped_memory()
    {
        if (host_ != nullptr) { static_cast<void>(cudaFreeHost(host_)); }
    }

    /// Where the host finds it, and where kernels of the current device do.
    template <class T>
    [[nodiscard]] T* here() const noexcept
    {
        return static_cast<T*>(host_);
    }
    template <class T>
    [[nodiscard]] T* there() const
    {
        void* p = nullptr;
        check(cudaHostGetDevicePointer(&p, host_, 0), "CUDA: mapped memory");
        return static_cast<T*>(p);
    }

  private:
    void* host_ = nullptr;
};

}  // namespace plait::cuda
