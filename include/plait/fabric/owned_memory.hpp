// Memory from a communicator, owned by one object.
#pragma once

#include <plait/core/error.hpp>

#include <cstddef>
#include <limits>
#include <utility>

namespace plait::detail {

/// Room for `n` values of T from a communicator's `allocate`, given back at the end. Movable, not copyable. The communicator
/// must outlive it and stay where it is. A contiguous range of `size()` values.
template <class T, class Communicator>
class owned_memory {
  public:
    /// Takes the memory over; the other one has none then.
    owned_memory(owned_memory&& other) noexcept
        : comm_(std::exchange(other.comm_, nullptr)),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0))
    {
    }
    owned_memory& operator=(owned_memory&& other) noexcept
    {
        owned_memory old(std::move(other));
        std::swap(comm_, old.comm_);
        std::swap(data_, old.data_);
        std::swap(size_, old.size_);
        return *this;
    }
    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T* begin() const noexcept { return data_; }
    T* end() const noexcept { return data_ + size_; }

  protected:
    /// Allocates; on fabrics where `allocate` is a meeting, so is this. Throws plait::error if `n` values exceed the
    /// address space, and what `allocate` throws.
    owned_memory(Communicator& comm, std::size_t n) : comm_(&comm), size_(checked(n))
    {
        data_ = static_cast<T*>(comm.allocate(n * sizeof(T)));
    }
    /// Gives the memory back to the communicator.
    ~owned_memory()
    {
        if (comm_ != nullptr) { comm_->deallocate(data_, size_ * sizeof(T)); }
    }

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

}  // namespace plait::detail
