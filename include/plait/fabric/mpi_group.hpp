// One process's part in a group of ranks: meetings, waits, and failure that reaches every rank.
#pragma once

#include <plait/fabric/mpi_board.hpp>
#include <plait/fabric/mpi_mail.hpp>
#include <plait/fabric/mpi_place.hpp>
#include <plait/fabric/mpi_rounds.hpp>
#include <plait/fabric/mpi_traffic.hpp>
#include <plait/fabric/poll.hpp>
#include <plait/fabric/thrown.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace plait::detail {

/// All ranks on one host meet at its board. Where there are several hosts, all ranks meet by messages, and those of a
/// host alone at its board when they allocate.
class mpi_group {
  public:
    mpi_group(MPI_Comm users, int host, std::chrono::nanoseconds limit, std::size_t longest_message)
        : deadline(limit),
          place(users, host),
          traffic(place, longest_message),
          board(place),
          waits_(place.core_each),
          mail_(place.all),
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
            completed_ = started_;
        }
    }

    std::span<const void* const> exchange(const void* record, std::size_t bytes, const char* where)
    {
        const std::span bytes_of(static_cast<const std::byte*>(record), bytes);
        return place.one_host() ? show_here(bytes_of, where) : show_all(bytes_of, where);
    }

    /// What each rank of this host wants, by seat. Meet again before anybody wants something else.
    std::vector<std::size_t> gather_wants(std::size_t bytes, const char* where)
    {
        board.want(bytes);
        const std::uint64_t meeting = meet_here(where);
        std::vector<std::size_t> wants;
        for (std::size_t s = 0; s < place.neighbours.size(); ++s) {
            const auto theirs = board.wanted(static_cast<int>(s), meeting);
            if (!theirs) { differ(where, place.neighbours[s]); }
            wants.push_back(*theirs);
        }
        return wants;
    }

    /// Waits for the ranks of this host, and returns the number of this meeting of theirs.
    std::uint64_t meet_here(const char* where)
    {
        stop_if_failed();
        const std::uint64_t meeting = board.arrive();
        const auto complete = [&] { return board.complete(meeting); };
        const auto failed = [&] { return board.failed() && !complete(); };
        if (!await(complete, failed, deadline)) {
            const std::string missing = board.missing(meeting);
            // All have come, the last is just counting.
            if (!missing.empty() || !await(complete, failed, last_moments)) { expire(where, missing); }
        }
        return meeting;
    }

    template <class Ready>
    void wait(Ready ready, const char* where)
    {
        if (ready()) { return; }
        if (!await(ready, [this] { return board.failed(); }, deadline)) { expire(where, {}); }
    }

    void finish(const char* where)
    {
        if (await([this] { return traffic.all_done(); }, [this] { return board.failed(); }, deadline)) { return; }
        end(joined({"waited ", text_of(deadline), " at '", where, "' for ", traffic.underway()}));
    }

    /// Lets messages advance; if one has failed, so has the group.
    void advance()
    {
        try {
            traffic.advance();
        } catch (...) {
            end(text_of_current_exception());
        }
    }

    void fail(std::string_view what)
    {
        if (!board.fail(place.rank, what, completed_) || place.one_host()) { return; }
        mpi_letter letter;
        letter.kind = mpi_letter::failure;
        letter.rank = place.rank;
        letter.meeting = completed_;
        letter.say(what);
        for (int r = 0; r < place.size; ++r) {
            if (place.seat_of(r) < 0) { mail_.send(r, letter); }
        }
    }

    /// Comes to the last meeting: after it, and only after it, ranks free together what they share.
    void leave()
    {
        const char* const where = "the end of the communicator";
        stop_if_failed();
        finish(where);
        const auto failed = [this] { return board.failed(); };
        if (place.one_host()) {
            board.leave();
            const auto all_left = [this] { return board.all_left(); };
            const auto failed_before = [&] { return failed() && !all_left(); };
            if (await(all_left, failed_before, deadline)) { return; }
            fail(joined({"waited ", text_of(deadline), " at '", where, "'"}));
            if (!all_left()) { give_up(); }
            return;
        }
        *farewell_.begin(1) = {};
        farewell_.gather([&](auto ready) {
            if (!await(ready, failed, deadline)) { expire(where, {}); }
        });
    }

    /// After leaving.
    void free() noexcept
    {
        board.free();
        place.free();
    }

    /// After a failure: leaves MPI nothing that could touch this rank's memory or keep the others from learning of it.
    void abandon() noexcept
    {
        traffic.abandon();
        if (!place.one_host()) { mail_.close(); }
    }

    /// Throws the group's failure; `own` if nothing else is known.
    [[noreturn]] void give_up(const std::string& own = "its group is in no state to go on")
    {
        for (mpi_rounds* r : {&barriers_, &exchanges_, &long_exchanges_, &farewell_}) { r->abandon(); }
        traffic.abandon();
        // The first rank to fail may still be writing down why.
        const auto end = std::chrono::steady_clock::now() + last_moments;
        while (!board.failed() && std::chrono::steady_clock::now() < end) { std::this_thread::yield(); }
        throw error(board.failed() ? board.failure() : joined({"rank ", place.rank, " failed: ", own}));
    }

    std::chrono::nanoseconds deadline;
    mpi_place place;
    mpi_traffic traffic;
    mpi_board board;

  private:
    enum : int { meeting_tag = mpi_mail::tag + 1, record_tag, farewell_tag };
    static constexpr std::uint64_t no_record = ~std::uint64_t{0};
    static constexpr std::chrono::nanoseconds last_moments = std::chrono::seconds(1);
    static constexpr std::chrono::nanoseconds time_to_answer = std::chrono::milliseconds(300);

    /// What a rank brings to a meeting of all hosts. Longer records follow in rounds of their own.
    struct card {
        std::uint64_t meeting;
        std::uint64_t bytes;
        std::byte record[112];
    };

    /// Waits until `ready()`, for `limit` at most. Meanwhile lets messages advance and reads letters.
    template <class Ready, class Failed>
    bool await(Ready ready, Failed failed, std::chrono::nanoseconds limit)
    {
        const auto advanced = [&] {
            advance();
            return ready();
        };
        return polled(waits_, limit, advanced, [&] {
            read_letters();
            if (failed()) { give_up(); }
        });
    }

    [[noreturn]] void end(const std::string& what)
    {
        fail(what);
        give_up(what);
    }
    [[noreturn]] void expire(const char* where, const std::string& missing)
    {
        end(joined({"waited ", text_of(deadline), " at '", where, missing.empty() ? "'" : "'; not arrived: rank ",
                    missing}));
    }
    [[noreturn]] void differ(const char* stage, int peer)
    {
        end(joined({stage, ": rank ", peer,
                    " came to another meeting; all ranks must make the same calls in the same order"}));
    }

    void stop_if_failed()
    {
        read_letters();
        if (board.failed()) { give_up(); }
    }

    void read_letters()
    {
        if (place.one_host()) { return; }
        mpi_letter letter;
        while (mail_.receive(letter)) {
            if (letter.kind == mpi_letter::failure) {
                board.fail(letter.rank, letter.said(), letter.meeting);
            } else if (letter.kind == mpi_letter::answer) {
                if (letter.meeting == started_) { answered_[static_cast<std::size_t>(letter.rank)] = true; }
            } else if (letter.meeting <= started_) {
                const int asker = std::exchange(letter.rank, place.rank);
                letter.kind = mpi_letter::answer;
                mail_.send(asker, letter);
            }
        }
    }

    std::span<const void* const> show_here(std::span<const std::byte> record, const char* where)
    {
        stop_if_failed();
        const std::size_t pieces = record.size() <= mpi_board::room ? 1 : (record.size() - 1) / mpi_board::room + 1;
        if (pieces > 1) { long_records_.resize(record.size() * views_.size()); }
        for (std::size_t i = 0; i < pieces; ++i, ++turn_) {
            const std::size_t offset = i * mpi_board::room;
            const std::size_t bytes = std::min(mpi_board::room, record.size() - offset);
            mpi_board::posting& mine = board.posted(place.seat, turn_);
            mine.meeting = board.next_meeting();
            mine.bytes = record.size();
            if (bytes > 0) { std::memcpy(mine.record, record.data() + offset, bytes); }
            const std::uint64_t meeting = meet_here(where);
            for (std::size_t r = 0; r < views_.size(); ++r) {
                const mpi_board::posting& theirs = board.posted(place.seat_of(static_cast<int>(r)), turn_);
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

    std::span<const void* const> show_all(std::span<const std::byte> record, const char* where)
    {
        meet_all(exchanges_, record.size(), record, where);
        const auto card_of = [this](std::size_t r) {
            return reinterpret_cast<const card*>(exchanges_.of(static_cast<int>(r)));
        };
        for (std::size_t r = 0; r < views_.size(); ++r) {
            const card& theirs = *card_of(r);
            compare(r, theirs.meeting == started_ && theirs.bytes != no_record, theirs.bytes, record.size(), where);
            views_[r] = theirs.record;
        }
        if (record.size() > sizeof(card::record)) {
            std::memcpy(long_exchanges_.begin(record.size()), record.data(), record.size());
            make_rounds(long_exchanges_, where);
            for (std::size_t r = 0; r < views_.size(); ++r) { views_[r] = long_exchanges_.of(static_cast<int>(r)); }
        }
        completed_ = started_;
        return views_;
    }

    void compare(std::size_t peer, bool same_meeting, std::uint64_t theirs, std::size_t mine, const char* where)
    {
        if (same_meeting && theirs == mine) { return; }
        const std::string stage = joined({"exchange '", where, "'"});
        if (!same_meeting) { differ(stage.c_str(), static_cast<int>(peer)); }
        end(joined({stage, ": rank ", peer, " shows ", theirs, " bytes, rank ", place.rank, " ", mine,
                    "; records must have one size"}));
    }

    /// A meeting of all ranks on all hosts.
    void meet_all(mpi_rounds& rounds, std::uint64_t bytes, std::span<const std::byte> record, const char* where)
    {
        stop_if_failed();
        ++started_;
        card& mine = *reinterpret_cast<card*>(rounds.begin(sizeof(card)));
        mine.meeting = started_;
        mine.bytes = bytes;
        if (!record.empty() && record.size() <= sizeof mine.record) {
            std::memcpy(mine.record, record.data(), record.size());
        }
        make_rounds(rounds, where);
    }

    /// MPI's messages order this rank's accesses to memory that it shares with some of the others.
    void make_rounds(mpi_rounds& rounds, const char* where)
    {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const auto start = std::chrono::steady_clock::now();
        rounds.gather([&](auto ready) {
            // A rank that fails after this meeting must not spoil it for those that are still on their way out.
            const auto failed = [this] { return board.failed() && board.completed_by_failed() < started_; };
            using std::chrono::nanoseconds;
            const nanoseconds waited = std::chrono::steady_clock::now() - start;
            const nanoseconds left = deadline == nanoseconds(0) ? deadline : std::max(deadline - waited, nanoseconds(1));
            if (!await(ready, failed, left)) { find_missing(ready, failed, where); }
        });
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }

    /// Asks all ranks whether they have come. Those that wait answer.
    template <class Ready, class Failed>
    void find_missing(Ready ready, Failed failed, const char* where)
    {
        answered_.assign(views_.size(), false);
        mpi_letter letter;
        letter.kind = mpi_letter::question;
        letter.rank = place.rank;
        letter.meeting = started_;
        for (int r = 0; r < place.size; ++r) {
            if (r != place.rank) { mail_.send(r, letter); }
        }
        if (await(ready, failed, time_to_answer)) { return; }
        std::string missing;
        for (int r = 0; r < place.size; ++r) {
            if (r == place.rank || answered_[static_cast<std::size_t>(r)]) { continue; }
            missing += joined({missing.empty() ? "" : ", ", r});
        }
        if (missing.empty() && await(ready, failed, last_moments)) { return; }
        expire(where, missing);
    }

    patience waits_;
    mpi_mail mail_;
    mpi_rounds barriers_;
    mpi_rounds exchanges_;
    mpi_rounds long_exchanges_;
    mpi_rounds farewell_;
    std::uint64_t started_ = 0;    // meetings of all hosts
    std::uint64_t completed_ = 0;  // those of them that this rank has been through
    std::vector<bool> answered_;   // who has come to this meeting, as far as is known
    std::size_t turn_ = 0;         // of this host's postings
    std::vector<std::byte> long_records_;
    std::vector<const void*> views_;  // by rank: the records of the last exchange
};

}  // namespace plait::detail
