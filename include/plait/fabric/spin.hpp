// Waiting a short time without blocking: spin when each rank has a core, else yield.
#pragma once

#include <chrono>
#include <thread>

namespace plait::detail {

/// Tells the core that this thread polls: saves power and leaves the pipeline to a sibling hardware thread.
inline void pause_core() noexcept
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    asm volatile("yield");
#endif
}

/// One rank's patience before it blocks. Blocking and being woken costs tens of microseconds, a spin or a yield between
/// ranks that share a core well below one; but where foreign threads want the core, a yield may cost a whole time slice
/// (milliseconds). So a slow yield switches yielding off for a while.
class patience {
  public:
    /// `core_of_its_own`: there are at least as many hardware threads as ranks, so that spinning does not keep a peer
    /// from running.
    explicit patience(bool core_of_its_own = false) noexcept
        : pauses_(core_of_its_own ? 1000 : 0), awake_(core_of_its_own ? std::chrono::microseconds(300) : std::chrono::microseconds(0))
    {
    }

    /// Polls `ready` for a bounded time. Returns whether it came true; if not, the caller should block.
    template <class Ready>
    bool outlasts(Ready ready)
    {
        for (int i = 0; i < pauses_; ++i) {
            if (ready()) { return true; }
            pause_core();
        }
        if (waits_without_yield_ > 0) {
            --waits_without_yield_;
            return ready();
        }
        const auto start = std::chrono::steady_clock::now();
        auto before = start;
        for (int i = 0; i < few_yields || before - start < awake_; ++i) {
            if (ready()) { return true; }
            std::this_thread::yield();
            const auto now = std::chrono::steady_clock::now();
            if (now - before > slow_yield) {
                waits_without_yield_ = 1000;
                break;
            }
            before = now;
        }
        return ready();
    }

  private:
    static constexpr int few_yields = 32;
    static constexpr std::chrono::microseconds slow_yield{500};

    int pauses_;
    std::chrono::microseconds awake_;  // yields so long, if nobody else wants the core: being woken is late by a good part of it
    int waits_without_yield_ = 0;
};

}  // namespace plait::detail
