// A recursive mutex that threads get in the order in which they ask for it: a thread that gives it up for others and takes it
// again at once must not keep them out for ever.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace emulator {

class fair_mutex {
  public:
    void lock()
    {
        std::unique_lock guard(mutex_);
        const auto me = std::this_thread::get_id();
        if (depth_ > 0 && owner_ == me) {
            ++depth_;
            return;
        }
        const std::uint64_t ticket = next_++;
        turn_[ticket % turn_.size()].wait(guard, [&] { return ticket == serving_; });
        owner_ = me;
        depth_ = 1;
    }
    void unlock()
    {
        std::unique_lock guard(mutex_);
        if (--depth_ > 0) { return; }
        owner_ = std::thread::id();
        const std::uint64_t next = ++serving_;
        guard.unlock();
        turn_[next % turn_.size()].notify_all();
    }

  private:
    std::mutex mutex_;
    std::array<std::condition_variable, 64> turn_;  ///< by ticket, so that the next thread is woken and no other
    std::uint64_t next_ = 0;
    std::uint64_t serving_ = 0;
    std::thread::id owner_;
    unsigned depth_ = 0;
};

}  // namespace emulator
