// An array in device memory that peers can touch, owned by one object.
#pragma once

#include <plait/target/cuda/check.cuh>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace plait {

/// `n` values of T on a rank's device, zeroed at first, in memory from a communicator's `allocate`. Movable, not copyable.
/// The communicator must outlive the buffer and stay where it is. Made by `comm.symmetric<T>(n)`. As a contiguous range it
/// is bound to tensors and converts to std::span<T>; only kernels and copies of CUDA may touch its elements.
template <class T, class Communicator>
class device_buffer {
    static_assert(std::is_trivially_copyable_v<T>, "plait: the values of a device buffer are copied as bytes");

  public:
    /// Allocates. Throws plait::error when there is no room.
    device_buffer(Communicator& comm, std::size_t n) : comm_(&comm), size_(n)
    {
        data_ = static_cast<T*>(comm.allocate(n * sizeof(T)));
        if (n > 0) { cuda::check(cudaMemsetAsync(data_, 0, n * sizeof(T), comm.stream()), "CUDA: clearing a buffer"); }
    }
    device_buffer(device_buffer&& other) noexcept
        : comm_(std::exchange(other.comm_, nullptr)),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0))
    {
    }
    device_buffer& operator=(device_buffer&& other) noexcept
    {
        device_buffer old(std::move(other));
        std::swap(comm_, old.comm_);
        std::swap(data_, old.data_);
        std::swap(size_, old.size_);
        return *this;
    }
    ~device_buffer()
    {
        if (comm_ != nullptr) { comm_->deallocate(data_, size_ * sizeof(T)); }
    }

    [[nodiscard]] T* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T* begin() const noexcept { return data_; }
    [[nodiscard]] T* end() const noexcept { return data_ + size_; }

  private:
    Communicator* comm_;
    T* data_ = nullptr;
    std::size_t size_;
};

}  // namespace plait
