// Where the ranks of one host meet: arrivals, records on show and the group's failure, in memory that they share.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/mpi_window.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>

namespace plait::detail {

/// Like `rendezvous`, for processes: one word counts all arrivals at the meetings of this host, and its top bit says
/// that the group has failed. It does not wait; see mpi_communicator.
class mpi_board {
  public:
    /// What fits into a record on show. Longer ones are shown piece by piece.
    static constexpr std::size_t room = 4032;

    /// A record, or a piece of it, and the meeting at which it may be read.
    struct posting {
        std::uint64_t meeting;
        std::uint64_t bytes;  // of the whole record
        std::byte record[room];
    };

    /// Collective over the ranks of the host.
    explicit mpi_board(const mpi_place& place) : place_(place), window_(place, sizeof(desk))
    {
        new (window_.part(place.seat)) desk{};
        mpi_check(MPI_Barrier(place.node), "MPI_Barrier");
    }

    /// Comes to the next meeting of this host and returns its number.
    std::uint64_t arrive() noexcept
    {
        const std::uint64_t meeting = next_meeting();
        mine().meetings.store(meeting, std::memory_order_relaxed);
        host().arrivals.fetch_add(1);
        return meeting;
    }
    [[nodiscard]] std::uint64_t next_meeting() const noexcept
    {
        return mine().meetings.load(std::memory_order_relaxed) + 1;
    }

    /// Whether all ranks of this host have come to `meeting`; a failure after that does not undo it.
    [[nodiscard]] bool complete(std::uint64_t meeting) const noexcept
    {
        const std::uint64_t arrivals = host().arrivals.load(std::memory_order_acquire);
        return (arrivals & ~failed_bit) >= meeting * place_.neighbours.size();
    }

    /// The ranks of this host that have not come to `meeting`: "1, 3".
    [[nodiscard]] std::string missing(std::uint64_t meeting) const
    {
        std::string ranks;
        for (const int r : place_.neighbours) {
            if (at(place_.seat_of(r)).meetings.load(std::memory_order_relaxed) >= meeting) { continue; }
            ranks += joined({ranks.empty() ? "" : ", ", r});
        }
        return ranks;
    }

    /// The posting of a seat. Two are used in turn: while peers still read one, the rank may fill in the other.
    [[nodiscard]] posting& posted(int seat, std::size_t turn) const noexcept { return at(seat).postings[turn % 2]; }

    /// What this rank asks for at its next meeting, and what a seat has asked for at `meeting`, if it has.
    void want(std::size_t bytes) noexcept
    {
        mine().wanted = bytes;
        mine().wanted_at = next_meeting();
    }
    [[nodiscard]] std::optional<std::size_t> wanted(int seat, std::uint64_t meeting) const noexcept
    {
        const desk& d = at(seat);
        return d.wanted_at == meeting ? std::optional(d.wanted) : std::nullopt;
    }

    /// The last meeting: ranks come to it when they will not come to any other. All have left, or the group has failed
    /// before: not both, because then some would wait for others to free what is theirs together.
    void leave() noexcept
    {
        std::uint64_t leavers = host().leavers.load();
        while ((leavers & failed_bit) == 0 && !host().leavers.compare_exchange_weak(leavers, leavers + 1)) {}
    }
    [[nodiscard]] bool all_left() const noexcept
    {
        return (host().leavers.load(std::memory_order_acquire) & ~failed_bit) >= place_.neighbours.size();
    }

    /// Marks the group failed for the ranks of this host, and returns whether this was the first to do so. `completed`:
    /// how many meetings of all hosts the failed rank had been through.
    bool fail(int rank, std::string_view what, std::uint64_t completed) noexcept
    {
        desk& d = host();
        std::uint32_t expected = intact;
        if (!d.state.compare_exchange_strong(expected, being_written)) { return false; }
        d.first_failed = rank;
        d.completed = completed;
        d.length = static_cast<std::uint32_t>(std::min(what.size(), sizeof d.what));
        std::memcpy(d.what, what.data(), d.length);
        d.state.store(written);
        d.leavers.fetch_or(failed_bit);
        d.arrivals.fetch_or(failed_bit);  // publishes the members above
        return true;
    }

    [[nodiscard]] bool failed() const noexcept
    {
        return (host().arrivals.load(std::memory_order_acquire) & failed_bit) != 0;
    }

    /// The meetings that the first failed rank had been through. @pre failed()
    [[nodiscard]] std::uint64_t completed_by_failed() const noexcept { return host().completed; }

    /// "rank R failed: what". @pre failed()
    [[nodiscard]] std::string failure() const
    {
        const desk& d = host();
        return joined({"rank ", d.first_failed, " failed: ", std::string_view(d.what, d.length)});
    }

    /// Collective over the ranks of the host.
    void free() noexcept { window_.free(); }

    static constexpr std::size_t longest_text = 1000;

  private:
    static constexpr std::uint64_t failed_bit = std::uint64_t{1} << 63;
    enum : std::uint32_t { intact, being_written, written };

    /// A rank's part of the window. What is the host's is in that of seat 0.
    struct desk {
        alignas(64) std::atomic<std::uint64_t> arrivals;
        alignas(64) std::atomic<std::uint64_t> leavers;
        std::atomic<std::uint32_t> state;
        int first_failed;
        std::uint64_t completed;
        std::uint32_t length;
        char what[longest_text];
        alignas(64) std::atomic<std::uint64_t> meetings;  // of this rank
        std::size_t wanted;
        std::uint64_t wanted_at;  // which meeting
        posting postings[2];
        std::byte apart[128];
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free,
                  "plait: processes can share atomics only if they need no lock");

    [[nodiscard]] desk& at(int seat) const noexcept
    {
        return *std::launder(reinterpret_cast<desk*>(window_.part(seat)));
    }
    [[nodiscard]] desk& mine() const noexcept { return at(place_.seat); }
    [[nodiscard]] desk& host() const noexcept { return at(0); }

    const mpi_place& place_;
    mpi_window window_;
};

}  // namespace plait::detail
