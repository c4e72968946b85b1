// Refuses what two threads do at once and only one may.
#pragma once

#include <plait/core/error.hpp>

#include <atomic>
#include <string_view>

namespace plait::detail {

/// Holds `busy` for a scope. @throws plait::error if it is held already.
class one_at_a_time {
  public:
    one_at_a_time(std::atomic<bool>& busy, std::string_view program) : busy_(busy)
    {
        if (busy_.exchange(true, std::memory_order_acquire)) {
            throw error({"program \"", program, "\": called by two threads at once; make an executable for each"});
        }
    }
    one_at_a_time(const one_at_a_time&) = delete;
    one_at_a_time& operator=(const one_at_a_time&) = delete;
    ~one_at_a_time() { busy_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool>& busy_;
};

}  // namespace plait::detail
