// An array in memory that peers can touch, owned by one object.
#pragma once

#include <plait/fabric/owned_memory.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

namespace plait {

/// `n` values of T, zeroed at first, in memory from a communicator's `allocate`. Movable, not copyable. The
/// communicator must outlive the buffer and stay where it is. Made by `comm.symmetric<T>(n)`; as a contiguous range it
/// converts to std::span<T>.
template <class T, class Communicator>
class symmetric_buffer : public detail::owned_memory<T, Communicator> {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "plait: peers copy the values of a symmetric buffer as bytes: T must be trivially copyable");
    static_assert(std::is_nothrow_default_constructible_v<T>,
                  "plait: the values of a symmetric buffer start as T(): give T a noexcept default constructor");
    static_assert(alignof(T) <= 64, "plait: symmetric buffers are aligned to 64 bytes, T asks for more");

  public:
    /// Allocates; on fabrics where `allocate` is a meeting, so is this. Throws plait::error if `n` values exceed the
    /// address space, and what `allocate` throws.
    symmetric_buffer(Communicator& comm, std::size_t n) : detail::owned_memory<T, Communicator>(comm, n)
    {
        std::uninitialized_value_construct_n(this->data(), n);
    }

    T& operator[](std::size_t i) const noexcept { return this->data()[i]; }
};

}  // namespace plait
