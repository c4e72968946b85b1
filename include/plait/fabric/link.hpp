// A simulated link between ranks: what a transfer would take on a given network, without burning the processor.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

namespace plait {

/// A link's latency and bandwidth. The default is the memory itself: nothing is delayed.
struct link {
    std::chrono::nanoseconds latency{0};  ///< from the end of sending to the arrival
    double bytes_per_second = std::numeric_limits<double>::infinity();  ///< of each rank, in and out together

    /// Whether anything is delayed.
    [[nodiscard]] bool is_simulated() const
    {
        return latency.count() != 0 || bytes_per_second < std::numeric_limits<double>::infinity();
    }
};

/// One rank's end of a link. A rank's transfers, in and out, follow each other: each takes bytes / bandwidth, and arrives
/// one latency later (the Hockney model). It also counts the bytes that the rank has moved.
class link_end {
  public:
    using time = std::chrono::steady_clock::time_point;

    /// An end of such a link, over which nothing has gone.
    explicit link_end(const link& l = {}) : link_(l) {}

    /// Takes on a transfer that can start at `from`; returns when it has arrived.
    time transfer(std::uint64_t bytes, time from)
    {
        bytes_ += bytes;
        if (!link_.is_simulated() || bytes == 0) { return from; }
        const std::chrono::duration<double> takes(static_cast<double>(bytes) / link_.bytes_per_second);
        free_ = std::max(free_, from) + std::chrono::duration_cast<std::chrono::nanoseconds>(takes);
        return free_ + link_.latency;
    }
    /// Transfers now, and sleeps until it has arrived.
    void transfer(std::uint64_t bytes)
    {
        if (!link_.is_simulated() || bytes == 0) {
            bytes_ += bytes;
            return;
        }
        sleep_until(transfer(bytes, std::chrono::steady_clock::now()));
    }
    /// Sleeps until all transfers have arrived.
    void settle() const
    {
        if (link_.is_simulated()) { sleep_until(free_ + link_.latency); }
    }

    /// Whether anything is delayed.
    [[nodiscard]] bool is_simulated() const { return link_.is_simulated(); }
    /// The link.
    [[nodiscard]] const link& between() const { return link_; }
    /// When the transfers so far have been sent; the last one arrives one latency later.
    [[nodiscard]] time busy_until() const { return free_; }
    /// Bytes of other ranks' memory that this rank has read or written in programs.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    /// Threads are woken up to a tenth of a millisecond late: the last of it is spent awake.
    static void sleep_until(time t)
    {
        std::this_thread::sleep_until(t - std::chrono::microseconds(100));
        while (std::chrono::steady_clock::now() < t) { std::this_thread::yield(); }
    }

    link link_;
    time free_{};
    std::uint64_t bytes_ = 0;
};

namespace detail {

/// A communicator's end of its link, or null if it has none.
template <class Communicator>
link_end* wire_of(Communicator& comm)
{
    if constexpr (requires { comm.wire(); }) {
        return &comm.wire();
    } else {
        return nullptr;
    }
}

}  // namespace detail
}  // namespace plait
