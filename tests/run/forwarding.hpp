// A communicator that passes everything on to a thread's: the base of those that delay, count or fail.
#pragma once

#include <plait/fabric/threads.hpp>

#include <cstddef>
#include <string_view>

namespace harness {

class forwarding {
  public:
    explicit forwarding(plait::thread_communicator& comm) : comm_(comm) {}
    [[nodiscard]] int rank() const { return comm_.rank(); }
    [[nodiscard]] int size() const { return comm_.size(); }
    [[nodiscard]] bool shares(int r) const { return comm_.shares(r); }
    void barrier(const char* where) { comm_.barrier(where); }
    template <class Ready>
    void wait(Ready ready, const char* where)
    {
        comm_.wait(ready, where);
    }
    auto exchange(const void* record, std::size_t bytes, const char* where) { return comm_.exchange(record, bytes, where); }
    [[nodiscard]] auto handle_of(const void* at, std::size_t bytes) const { return comm_.handle_of(at, bytes); }
    [[nodiscard]] void* resolve(int r, plait::buffer_handle h) const { return comm_.resolve(r, h); }
    void* allocate(std::size_t bytes) { return comm_.allocate(bytes); }
    void deallocate(void* at, std::size_t bytes) noexcept { comm_.deallocate(at, bytes); }
    void fail(std::string_view what) { comm_.fail(what); }
    void enter_run() noexcept { comm_.enter_run(); }
    void leave_run(bool failed) noexcept { comm_.leave_run(failed); }

  private:
    plait::thread_communicator& comm_;
};

}  // namespace harness
