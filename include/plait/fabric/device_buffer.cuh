// An array in device memory that peers can touch, owned by one object.
#pragma once

#include <plait/fabric/owned_memory.hpp>
#include <plait/target/cuda/check.cuh>

#include <cstddef>
#include <type_traits>

namespace plait {

/// `n` values of T on a rank's device, zeroed at first, in memory from a communicator's `allocate`. Movable, not copyable.
/// The communicator must outlive the buffer and stay where it is. Made by `comm.symmetric<T>(n)`. As a contiguous range it
/// is bound to tensors and converts to std::span<T>; only kernels and copies of CUDA may touch its elements.
template <class T, class Communicator>
class device_buffer : public detail::owned_memory<T, Communicator> {
    static_assert(std::is_trivially_copyable_v<T>, "plait: the values of a device buffer are copied as bytes");

  public:
    /// Allocates. Throws plait::error if `n` values exceed the address space, or there is no room.
    device_buffer(Communicator& comm, std::size_t n) : detail::owned_memory<T, Communicator>(comm, n)
    {
        if (n > 0) { cuda::check(cudaMemsetAsync(this->data(), 0, n * sizeof(T), comm.stream()), "CUDA: clearing a buffer"); }
    }
};

}  // namespace plait
