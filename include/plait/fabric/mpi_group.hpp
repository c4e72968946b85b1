// The meetings of ranks that are processes.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/mpi_place.hpp>
#include <plait/fabric/mpi_rounds.hpp>
#include <plait/fabric/mpi_watch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace plait::detail {

/// All ranks on one host meet at its board. Where there are several hosts, all ranks meet by messages, and those of a
/// host alone at its board when they allocate.
class mpi_group {
  public:
    mpi_group(MPI_Comm users, int host, std::chrono::nanoseconds limit, std::size_t longest_message)
        : place(users, host),
          watch(place, limit, longest_message),
          barriers_(place, meeting_tag),
          exchanges_(place, meeting_tag),
          long_exchanges_(place, record_tag),
          farewell_(place, farewell_tag),
          views_(static_cast<std::size_t>(place.size))
    {
    }

    void barrier(const char* where)
    {
        if (place.one_host()) {
            static_cast<void>(meet_here(where));
        } else {
            meet_all(barriers_, no_record, {}, where);
            watch.completed = watch.started;
        }
    }

    view<const void* const> exchange(const void* record, std::size_t bytes, const char* where)
    {
        const view bytes_of(static_cast<const std::byte*>(record), bytes);
        return place.one_host() ? show_here(bytes_of, where) : show_all(bytes_of, where);
    }

    /// What each rank of this host wants, by seat. Meet again before anybody wants something else.
    std::vector<std::size_t> gather_wants(std::size_t bytes, const char* where)
    {
        watch.board.want(bytes);
        const std::uint64_t meeting = meet_here(where);
        std::vector<std::size_t> wants;
        for (std::size_t s = 0; s < place.neighbours.size(); ++s) {
            const auto theirs = watch.board.wanted(static_cast<int>(s), meeting);
            if (!theirs) { differ(where, place.neighbours[s]); }
            wants.push_back(*theirs);
        }
        return wants;
    }

    /// Waits for the ranks of this host, and returns the number of this meeting of theirs.
    std::uint64_t meet_here(const char* where)
    {
        watch.stop_if_failed();
        const std::uint64_t meeting = watch.board.arrive();
        const auto complete = [&] { return watch.board.complete(meeting); };
        const auto failed = [&] { return watch.board.failed() && !complete(); };
        if (!watch.await(complete, failed, watch.deadline)) {
            const std::string missing = watch.board.missing(meeting);
            // If none, then all have come, and the last is just counting.
            if (!missing.empty() || !watch.await(complete, failed, watch.last_moments)) { watch.expire(where, missing); }
        }
        return meeting;
    }

    /// Comes to the last meeting: after it, and only after it, ranks free together what they share.
    void leave(const char* where)
    {
        watch.stop_if_failed();
        if (place.one_host()) {
            watch.board.leave();
            const auto all_left = [this] { return watch.board.all_left(); };
            const auto failed_before = [&] { return watch.board.failed() && !all_left(); };
            if (watch.await(all_left, failed_before, watch.deadline)) { return; }
            watch.fail(joined({"waited ", text_of(watch.deadline), " at '", where, "'"}));
            if (!all_left()) { watch.give_up(); }
        } else {
            *farewell_.begin(1) = {};
            farewell_.gather([&](auto ready) {
                if (!watch.await(ready)) { watch.expire(where); }
            });
        }
    }

    /// After leaving.
    void free() noexcept
    {
        watch.board.free();
        place.free();
    }

    mpi_place place;
    mpi_watch watch;

  private:
    enum : int { meeting_tag = mpi_mail::tag + 1, record_tag, farewell_tag };
    static constexpr std::uint64_t no_record = ~std::uint64_t{0};
    static constexpr std::chrono::nanoseconds time_to_answer = std::chrono::milliseconds(300);

    /// What a rank brings to a meeting of all hosts. Longer records follow in rounds of their own.
    struct card {
        std::uint64_t meeting;
        std::uint64_t bytes;
        std::byte record[112];
    };

    view<const void* const> show_here(view<const std::byte> record, const char* where)
    {
        watch.stop_if_failed();
        const std::size_t pieces = record.size() <= mpi_board::room ? 1 : (record.size() - 1) / mpi_board::room + 1;
        if (pieces > 1) { long_records_.resize(record.size() * views_.size()); }
        for (std::size_t i = 0; i < pieces; ++i, ++turn_) {
            const std::size_t offset = i * mpi_board::room;
            const std::size_t bytes = std::min(mpi_board::room, record.size() - offset);
            mpi_board::posting& mine = watch.board.posted(place.seat, turn_);
            mine.meeting = watch.board.next_meeting();
            mine.bytes = record.size();
            if (bytes > 0) { std::memcpy(mine.record, record.data() + offset, bytes); }
            const std::uint64_t meeting = meet_here(where);
            for (std::size_t r = 0; r < views_.size(); ++r) {
                const mpi_board::posting& theirs = watch.board.posted(place.seat_of(static_cast<int>(r)), turn_);
                compare(r, theirs.meeting == meeting, theirs.bytes, record.size(), where);
                views_[r] = theirs.record;
                if (pieces == 1) { continue; }
                std::byte* whole = long_records_.data() + r * record.size();
                std::memcpy(whole + offset, theirs.record, bytes);
                views_[r] = whole;
            }
        }
        return views_;
    }

    view<const void* const> show_all(view<const std::byte> record, const char* where)
    {
        meet_all(exchanges_, record.size(), record, where);
        for (std::size_t r = 0; r < views_.size(); ++r) {
            const card& theirs = *reinterpret_cast<const card*>(exchanges_.of(static_cast<int>(r)));
            const bool same_meeting = theirs.meeting == watch.started && theirs.bytes != no_record;
            compare(r, same_meeting, theirs.bytes, record.size(), where);
            views_[r] = theirs.record;
        }
        if (record.size() > sizeof(card::record)) {
            std::memcpy(long_exchanges_.begin(record.size()), record.data(), record.size());
            make_rounds(long_exchanges_, where);
            for (std::size_t r = 0; r < views_.size(); ++r) { views_[r] = long_exchanges_.of(static_cast<int>(r)); }
        }
        watch.completed = watch.started;
        return views_;
    }

    void compare(std::size_t peer, bool same_meeting, std::uint64_t theirs, std::size_t mine, const char* where)
    {
        if (same_meeting && theirs == mine) { return; }
        const std::string stage = joined({"exchange '", where, "'"});
        if (!same_meeting) { differ(stage.c_str(), static_cast<int>(peer)); }
        watch.end(joined({stage, ": rank ", peer, " shows ", theirs, " bytes, rank ", place.rank, " ", mine,
                          "; records must have one size"}));
    }
    [[noreturn]] void differ(const char* stage, int peer)
    {
        watch.end(joined({stage, ": rank ", peer,
                          " came to another meeting; all ranks must make the same calls in the same order"}));
    }

    /// A meeting of all ranks on all hosts.
    void meet_all(mpi_rounds& rounds, std::uint64_t bytes, view<const std::byte> record, const char* where)
    {
        watch.stop_if_failed();
        ++watch.started;
        card& mine = *reinterpret_cast<card*>(rounds.begin(sizeof(card)));
        mine.meeting = watch.started;
        mine.bytes = bytes;
        if (!record.empty() && record.size() <= sizeof mine.record) {
            std::memcpy(mine.record, record.data(), record.size());
        }
        make_rounds(rounds, where);
    }

    /// MPI's messages order this rank's accesses to memory that it shares with some of the others.
    void make_rounds(mpi_rounds& rounds, const char* where)
    {
        using std::chrono::nanoseconds;
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const auto start = std::chrono::steady_clock::now();
        rounds.gather([&](auto ready) {
            // A rank that fails after this meeting must not spoil it for those that are still on their way out.
            const auto failed = [this] {
                return watch.board.failed() && watch.board.completed_by_failed() < watch.started;
            };
            const nanoseconds waited = std::chrono::steady_clock::now() - start;
            const nanoseconds left = watch.deadline == nanoseconds(0)
                                         ? nanoseconds(0)
                                         : std::max(watch.deadline - waited, nanoseconds(1));
            if (watch.await(ready, failed, left)) { return; }
            watch.ask_who_has_come();
            if (watch.await(ready, failed, time_to_answer)) { return; }
            const std::string missing = watch.missing();
            if (!missing.empty() || !watch.await(ready, failed, watch.last_moments)) { watch.expire(where, missing); }
        });
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }

    mpi_rounds barriers_;
    mpi_rounds exchanges_;
    mpi_rounds long_exchanges_;
    mpi_rounds farewell_;
    std::size_t turn_ = 0;  // of this host's postings
    std::vector<std::byte> long_records_;
    std::vector<const void*> views_;  // by rank: the records of the last exchange
};

}  // namespace plait::detail
