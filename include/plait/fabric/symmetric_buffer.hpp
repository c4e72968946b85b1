// An array in memory that peers can touch, owned by one object.
#pragma once

#include <plait/core/error.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace plait {

/// `n` values of T, zeroed at first, in memory from a communicator's `allocate`. Movable, not copyable. The
/// communicator must outlive the buffer and stay where it is. Made by `comm.symmetric<T>(n)`; as a contiguous range it
/// converts to std::span<T>.
template <class T, class Communicator>
class symmetric_buffer {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "plait: peers copy the values of a symmetric buffer as bytes: T must be trivially copyable");
    static_assert(std::is_nothrow_default_constructible_v<T>,
                  "plait: the values of a symmetric buffer start as T(): give T a noexcept default constructor");
    static_assert(alignof(T) <= 64, "plait: symmetric buffers are aligned to 64 bytes, T asks for more");

  public:
    /// Allocates; on fabrics where `allocate` is a meeting, so is this. Throws plait::error if `n` values exceed the
    /// address space, and what `allocate` throws.
    symmetric_buffer(Communicator& comm, std::size_t n) : comm_(&comm), size_(checked(n))
    {
        data_ = static_cast<T*>(comm.allocate(n * sizeof(T)));
        std::uninitialized_value_construct_n(data_, n);
    }

    /// Takes the memory over; the other buffer has none then.
    symmetric_buffer(symmetric_buffer&& other) noexcept
        : comm_(std::exchange(other.comm_, nullptr)),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0))
    {
    }

    symmetric_buffer& operator=(symmetric_buffer&& other) noexcept
    {
        symmetric_buffer old(std::move(other));
        std::swap(comm_, old.comm_);
        std::swap(data_, old.data_);
        std::swap(size_, old.size_);
        return *this;
    }

    /// Gives the memory back to the communicator. Never waits.
    ~symmetric_buffer()
    {
        if (comm_ != nullptr) { comm_->deallocate(data_, size_ * sizeof(T)); }
    }

    /// A contiguous range of `size()` values.
    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T* begin() const noexcept { return data_; }
    T* end() const noexcept { return data_ + size_; }
    T& operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    static std::size_t checked(std::size_t n)
    {
        if (n > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T)) {
            throw error({"a symmetric buffer of ", n, " values does not fit into memory"});
        }
        return n;
    }

    Communicator* comm_;
    T* data_ = nullptr;
    std::size_t size_;
};

}  // namespace plait
