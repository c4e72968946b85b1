// Waiting for a condition that nobody announces: patience first, then looks between short sleeps.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/spin.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

namespace plait::detail {

/// "60 s", "50 ms" or "1500 ns".
inline std::string text_of(std::chrono::nanoseconds d)
{
    using namespace std::chrono_literals;
    if (d % 1s == 0ns) { return joined({d / 1s, " s"}); }
    if (d % 1ms == 0ns) { return joined({d / 1ms, " ms"}); }
    return joined({d.count(), " ns"});
}

/// Waits until `ready()` and returns true, or false when `limit` (0: none) has passed. Once patience has run out, calls
/// `look()` now and then, which may throw to end the wait. Sleeps grow with the time waited, so that a wait ends late
/// by an eighth or a millisecond at most, whichever is less.
template <class Ready, class Look>
[[nodiscard]] bool polled(patience& waits, std::chrono::nanoseconds limit, Ready ready, Look look)
{
    using namespace std::chrono_literals;
    if (waits.outlasts(ready)) { return true; }
    const auto start = std::chrono::steady_clock::now();
    while (!ready()) {
        look();
        const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - start;
        if (limit != 0ns && waited >= limit) { return ready(); }
        std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(waited / 8, 5us, 1ms));
    }
    return true;
}

}  // namespace plait::detail
