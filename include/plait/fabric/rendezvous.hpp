// The meeting point of in-process ranks: a barrier with deadlines that can be declared failed.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/poll.hpp>
#include <plait/fabric/spin.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace plait::detail {

/// Keeps data of different ranks apart. Two cache lines of 64 bytes, because they are prefetched in pairs.
inline constexpr std::size_t separation = 128;

/// `size` ranks meet here any number of times. One word counts all arrivals since the start, so that it needs no reset:
/// meeting k is complete when the word reaches k * size. A failure sets its top bit, which ends every wait.
class rendezvous {
  public:
    /// @pre size >= 1
    rendezvous(int size, std::chrono::nanoseconds deadline) : seats_(static_cast<std::size_t>(size))
    {
        const bool cores_for_all = static_cast<unsigned>(size) <= std::thread::hardware_concurrency();
        for (seat& s : seats_) {
            s.deadline = deadline;
            s.waits = patience(cores_for_all);
        }
    }

    int size() const noexcept { return static_cast<int>(seats_.size()); }

    /// How many meetings `rank` has come to.
    std::uint64_t meetings(int rank) const noexcept { return at(rank).meetings.load(std::memory_order_relaxed); }

    std::chrono::nanoseconds deadline(int rank) const noexcept { return at(rank).deadline; }
    void set_deadline(int rank, std::chrono::nanoseconds limit) noexcept { at(rank).deadline = limit; }

    /// Waits until all ranks have come to this meeting. Throws plait::error if the group has failed or fails before.
    void meet(int rank, const char* where)
    {
        if (failed()) { throw error(failure_); }
        seat& mine = at(rank);
        const std::uint64_t meeting = meetings(rank) + 1;
        const std::uint64_t complete = meeting * seats_.size();
        mine.meetings.store(meeting, std::memory_order_relaxed);
        // Sequentially consistent, like all accesses to arrivals_ and sleepers_ in wake() and block(): either the last
        // rank to arrive sees the sleeper, or the sleeper sees the last arrival.
        if (arrivals_.fetch_add(1) + 1 >= complete) {
            wake();
        } else if (!mine.waits.outlasts([&] { return arrivals_.load(std::memory_order_acquire) >= complete; })) {
            block(rank, complete, where);
        }
        // A rank that fails after a meeting must not spoil it for peers that are still on their way out.
        if ((arrivals_.load(std::memory_order_acquire) & ~failed_bit) < complete) { throw error(failure_); }
    }

    /// Waits until `ready()`. Throws plait::error if it does not hold yet and the group has failed or fails before.
    template <class Ready>
    void wait(int rank, Ready ready, const char* where)
    {
        const std::chrono::nanoseconds limit = deadline(rank);
        const auto look = [&] {
            if (failed()) { throw error(failure_); }
        };
        if (polled(at(rank).waits, limit, ready, look)) { return; }
        fail(rank, joined({"waited ", text_of(limit), " at '", where, "'"}));
        throw error(failure_);
    }

    /// Marks the group failed and ends all waits. Only the first call has an effect.
    void fail(int rank, std::string_view what)
    {
        std::string text = joined({"rank ", rank, " failed: ", what});
        {
            const std::lock_guard lock(mutex_);
            if (failed()) { return; }
            first_failed_ = rank;
            failure_ = std::move(text);
            arrivals_.fetch_or(failed_bit);  // publishes the two members above
        }
        woken_.notify_all();
    }

    bool failed() const noexcept { return (arrivals_.load(std::memory_order_acquire) & failed_bit) != 0; }

    /// The first rank that failed and the text "rank R failed: what". @pre failed()
    int first_failed() const noexcept { return first_failed_; }
    const std::string& failure() const noexcept { return failure_; }

  private:
    static constexpr std::uint64_t failed_bit = std::uint64_t{1} << 63;

    struct alignas(separation) seat {
        std::atomic<std::uint64_t> meetings = 0;  // written by its rank, read by others to name who is missing
        std::chrono::nanoseconds deadline{};
        patience waits;
    };

    seat& at(int rank) noexcept { return seats_[static_cast<std::size_t>(rank)]; }
    const seat& at(int rank) const noexcept { return seats_[static_cast<std::size_t>(rank)]; }

    void wake()
    {
        if (sleepers_.load() == 0) { return; }
        {
            const std::lock_guard lock(mutex_);
        }  // a sleeper between its last look and its wait holds the lock
        woken_.notify_all();
    }

    void block(int rank, std::uint64_t complete, const char* where)
    {
        using namespace std::chrono_literals;
        const auto done = [&] { return arrivals_.load() >= complete; };
        const auto limit = std::min<std::chrono::nanoseconds>(at(rank).deadline, 24h * 365);  // now + limit must fit
        const auto end = std::chrono::steady_clock::now() + limit;
        bool in_time = true;
        {
            std::unique_lock lock(mutex_);
            sleepers_.fetch_add(1);
            // The condition variables of glibc before 2.41 can lose a wakeup (its bug 25847): look now and then.
            while (in_time && !woken_.wait_for(lock, 20ms, done)) {
                in_time = limit == 0ns || std::chrono::steady_clock::now() < end;
            }
            sleepers_.fetch_sub(1);
        }
        if (!in_time) { expire(rank, complete, where); }
    }

    void expire(int rank, std::uint64_t complete, const char* where)
    {
        std::string missing;
        for (int r = 0; r < size(); ++r) {
            if (meetings(r) < meetings(rank)) { missing += joined({missing.empty() ? "" : ", ", r}); }
        }
        if (!missing.empty()) {
            fail(rank,
                 joined({"waited ", text_of(at(rank).deadline), " at '", where, "'; not arrived: rank ", missing}));
        }
        while (arrivals_.load() < complete) { std::this_thread::yield(); }  // all have come, the last is just counting
    }

    std::vector<seat> seats_;
    alignas(separation) std::atomic<std::uint64_t> arrivals_ = 0;
    alignas(separation) std::atomic<int> sleepers_ = 0;
    std::mutex mutex_;
    std::condition_variable woken_;
    int first_failed_ = -1;
    std::string failure_;
};

}  // namespace plait::detail
