// The least that models plait::communicator: one rank that meets nobody, with nothing beyond the concept.
#pragma once

#include <plait/fabric/communicator.hpp>
#include <plait/fabric/symmetric_buffer.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace archetype {

class solo {
  public:
    solo() = default;
    solo(solo&&) = delete;

    int rank() const { return 0; }
    int size() const { return 1; }
    void barrier(const char*) { throw_if_failed(); }
    plait::view<const void* const> exchange(const void* record, std::size_t, const char*)
    {
        throw_if_failed();
        record_ = record;
        return {&record_, 1};
    }
    template <class Ready>
    void wait(Ready ready, const char*)
    {
        while (!ready()) { throw_if_failed(); }
    }
    bool shares(int) const { return true; }
    plait::buffer_handle handle_of(const void* p, std::size_t) { return {1, reinterpret_cast<std::uintptr_t>(p)}; }
    void* resolve(int, plait::buffer_handle h) { return reinterpret_cast<void*>(h.offset); }
    void* allocate(std::size_t bytes)
    {
        ++blocks;
        return ::operator new(bytes, std::align_val_t{64});
    }
    void deallocate(void* p, std::size_t) noexcept
    {
        --blocks;
        ::operator delete(p, std::align_val_t{64});
    }
    template <class T>
    plait::symmetric_buffer<T, solo> symmetric(std::size_t n)
    {
        return {*this, n};
    }
    void fail(std::string_view what) { failure_ = what; }
    void set_deadline(std::chrono::nanoseconds limit) { deadline_ = limit; }
    std::chrono::nanoseconds deadline() const { return deadline_; }

    int blocks = 0;  // allocated and not yet deallocated

  private:
    void throw_if_failed() const
    {
        if (!failure_.empty()) { throw std::runtime_error(failure_); }
    }

    const void* record_ = nullptr;
    std::string failure_;
    std::chrono::nanoseconds deadline_ = plait::default_deadline;
};

}  // namespace archetype
