// The in-process fabric: a group of ranks that are threads, and each rank's communicator.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/fabric/link.hpp>
#include <plait/fabric/rendezvous.hpp>
#include <plait/fabric/symmetric_buffer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace plait {

class thread_communicator;

/// What the threads of one group share. Make one, then let each thread ask for its own communicator:
/// ```
/// plait::thread_group group{n};
/// // in the thread of rank r:
/// auto comm = group.communicator(r);
/// ```
/// The group must outlive its communicators. `plait::threads::run` does all this when the threads are not yours.
class thread_group {
  public:
    /// A group of `size` ranks whose waits last `deadline` at most (0: no limit). `simulated`: what programs move between
    /// ranks takes as long as on that link. Throws plait::error if size < 1.
    explicit thread_group(int size, std::chrono::nanoseconds deadline = default_deadline, const link& simulated = {})
        : meeting_(checked(size), deadline), desks_(static_cast<std::size_t>(size)), link_(simulated)
    {
    }

    /// The number of ranks.
    int size() const noexcept { return meeting_.size(); }

    /// The communicator of one rank. Throws plait::error if there is no such rank or the group has failed before.
    thread_communicator communicator(int rank);

    /// Marks the group failed on behalf of a rank, for instance of one whose thread ended early.
    void fail(int rank, std::string_view what) { meeting_.fail(rank, what); }

    /// Whether some rank has failed; it stays so.
    bool failed() const noexcept { return meeting_.failed(); }

    /// The first rank that failed, and "rank R failed: what". @pre failed()
    int first_failed() const noexcept { return meeting_.first_failed(); }
    const std::string& failure() const noexcept { return meeting_.failure(); }

  private:
    friend thread_communicator;

    static constexpr std::align_val_t alignment{64};

    struct aligned_delete {
        void operator()(void* p) const noexcept { ::operator delete(p, alignment); }
    };

    /// A record on show, and the meeting at which it may be read.
    struct posting {
        std::vector<std::byte> record;
        std::uint64_t meeting = 0;
    };

    /// One rank's postings, used in turn: while peers still read one, the rank may fill in the other.
    struct alignas(detail::separation) desk {
        posting postings[2];
        std::uint64_t exchanges = 0;
    };

    static int checked(int size)
    {
        if (size < 1) { throw error({"a group needs at least 1 rank, not ", size}); }
        return size;
    }

    /// Frees memory that peers could touch. A rank that fails unwinds while its peers may still be reading; then the
    /// memory stays until the group ends.
    void release(void* p) noexcept
    {
        if (!failed() && std::uncaught_exceptions() == 0) { return aligned_delete{}(p); }
        try {
            const std::lock_guard lock(kept_mutex_);
            kept_.emplace_back(p);
        } catch (...) {  // out of memory: leaking the block is better than pulling it from under a peer
        }
    }

    detail::rendezvous meeting_;
    std::vector<desk> desks_;
    link link_;
    std::atomic<int> running_ = 0;  // ranks inside a run of a program
    std::mutex kept_mutex_;
    std::vector<std::unique_ptr<void, aligned_delete>> kept_;
};

/// A rank of a thread_group; models plait::communicator. Used by one thread, stays where it was made.
class thread_communicator {
  public:
    thread_communicator(const thread_communicator&) = delete;
    thread_communicator& operator=(const thread_communicator&) = delete;

    /// This rank, in [0, size), and the number of ranks.
    int rank() const noexcept { return rank_; }
    int size() const noexcept { return group_.size(); }

    /// Waits for all ranks. Throws plait::error if the group fails.
    void barrier(const char* where) { group_.meeting_.meet(rank_, where); }

    /// Waits until `ready()`. Throws plait::error if the group fails before.
    template <class Ready>
    void wait(Ready ready, const char* where)
    {
        group_.meeting_.wait(rank_, ready, where);
    }

    /// Ranks that are threads touch each other's memory.
    bool shares(int /*rank*/) const noexcept { return true; }

    /// A rank is about to meet its peers for a run, in which they touch each other's buffers, or has left it. One that fails
    /// stays until all others have left: they may still be at work on its buffers, which its exception is about to take
    /// away. Throws nothing; waits no longer than the deadline.
    void enter_run() noexcept { group_.running_.fetch_add(1); }
    void leave_run(bool failed) noexcept
    {
        group_.running_.fetch_sub(1);
        const auto limit = std::min<std::chrono::nanoseconds>(deadline(), default_deadline);
        const auto end = std::chrono::steady_clock::now() + limit;
        while (failed && group_.running_.load() > 0 && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
        }
    }

    /// What measurements hold for.
    [[nodiscard]] std::string fabric_name() const
    {
        const link& l = wire_.between();
        if (!l.is_simulated()) { return "threads"; }
        return joined({"threads, link of ", l.latency.count(), " ns and ", static_cast<std::int64_t>(std::min(l.bytes_per_second, 1e18)), " bytes/s"});
    }

    /// This rank's end of the link between the ranks, which counts what programs move.
    link_end& wire() noexcept { return wire_; }

    /// Shows `record` to all ranks and returns theirs, by rank. Throws plait::error if the group fails, which it does
    /// if a peer makes another kind of meeting here or shows a record of another size.
    view<const void* const> exchange(const void* record, std::size_t bytes, const char* where)
    {
        thread_group::desk& mine = group_.desks_[static_cast<std::size_t>(rank_)];
        const std::size_t parity = mine.exchanges++ % 2;
        const std::uint64_t meeting = group_.meeting_.meetings(rank_) + 1;
        const auto* first = static_cast<const std::byte*>(record);
        mine.postings[parity].record.assign(first, first + bytes);
        mine.postings[parity].meeting = meeting;
        barrier(where);

        const view records(views_.data() + parity * group_.desks_.size(), group_.desks_.size());
        for (std::size_t r = 0; r < records.size(); ++r) {
            const thread_group::posting& theirs = group_.desks_[r].postings[parity];
            if (theirs.meeting != meeting || theirs.record.size() != bytes) {
                refuse(r, theirs, bytes, meeting, where);
            }
            records[r] = theirs.record.data();
        }
        return records;
    }

    /// Names a buffer to other ranks; any one, as they are threads.
    buffer_handle handle_of(const void* p, std::size_t /*bytes*/) const noexcept
    {
        return {0, reinterpret_cast<std::uintptr_t>(p)};
    }
    /// Where the buffer is that a rank has named.
    void* resolve(int /*rank*/, buffer_handle h) const noexcept
    {
        return reinterpret_cast<void*>(static_cast<std::uintptr_t>(h.offset));
    }

    /// Memory of this process, aligned to 64 bytes. Never waits. Throws std::bad_alloc.
    void* allocate(std::size_t bytes) { return ::operator new(bytes, thread_group::alignment); }
    /// Frees what `allocate` gave. While this rank unwinds the memory stays, as peers may still be reading.
    void deallocate(void* p, std::size_t /*bytes*/) noexcept { group_.release(p); }

    /// `n` zeroed values that peers can touch; see symmetric_buffer.
    template <class T>
    symmetric_buffer<T, thread_communicator> symmetric(std::size_t n)
    {
        return {*this, n};
    }

    /// Marks the group failed: all ranks throw from their current or next wait. Only the group's first failure counts.
    void fail(std::string_view what) { group_.fail(rank_, what); }

    /// The longest wait of this rank; 0 is no limit.
    std::chrono::nanoseconds deadline() const noexcept { return group_.meeting_.deadline(rank_); }
    /// The longest wait of this rank from now on; 0 is no limit.
    void set_deadline(std::chrono::nanoseconds limit) noexcept { group_.meeting_.set_deadline(rank_, limit); }

  private:
    friend thread_group;

    thread_communicator(thread_group& group, int rank)
        : group_(group), rank_(rank), wire_(group.link_), views_(2 * static_cast<std::size_t>(group.size()))
    {
    }

    [[noreturn]] void refuse(std::size_t peer, const thread_group::posting& theirs, std::size_t bytes,
                             std::uint64_t meeting, const char* where)
    {
        const std::string stage = joined({"exchange '", where, "': rank ", peer});
        fail(theirs.meeting != meeting
                 ? joined({stage, " came to another meeting; all ranks must make the same calls in the same order"})
                 : joined({stage, " shows ", theirs.record.size(), " bytes, rank ", rank_, " ", bytes,
                           "; records must have one size"}));
        throw error(group_.failure());
    }

    thread_group& group_;
    int rank_;
    link_end wire_;
    std::vector<const void*> views_;  // two sets of records: the one being read and the one before
};

inline thread_communicator thread_group::communicator(int rank)
{
    if (rank < 0 || rank >= size()) { throw error({"there is no rank ", rank, " in a group of ", size()}); }
    if (failed()) { throw error({"this group cannot be used again, make a new one: ", failure()}); }
    return {*this, rank};
}

}  // namespace plait
