// How a rank that is a process waits: messages advance meanwhile, and the failure of any rank ends it.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/mpi_board.hpp>
#include <plait/fabric/mpi_mail.hpp>
#include <plait/fabric/mpi_place.hpp>
#include <plait/fabric/mpi_traffic.hpp>
#include <plait/fabric/poll.hpp>
#include <plait/fabric/thrown.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace plait::detail {

/// A failure is written on the board of the host and sent by letter to all ranks of other hosts, each of which writes it
/// on its own.
class mpi_watch {
  public:
    /// For what should come at once, before the group is given up.
    static constexpr std::chrono::nanoseconds last_moments = std::chrono::seconds(1);

    mpi_watch(const mpi_place& here, std::chrono::nanoseconds limit, std::size_t longest_message)
        : deadline(limit), traffic(here, longest_message), board(here), place_(here), waits_(here.core_each),
          mail_(here.all)
    {
    }

    /// Waits until `ready()` and returns true, or false when `limit` has passed. Throws the group's failure once
    /// `failed()`.
    template <class Ready, class Failed>
    [[nodiscard]] bool await(Ready ready, Failed failed, std::chrono::nanoseconds limit)
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
    template <class Ready>
    [[nodiscard]] bool await(Ready ready)
    {
        return await(ready, [this] { return board.failed(); }, deadline);
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

    void stop_if_failed()
    {
        read_letters();
        if (board.failed()) { give_up(); }
    }

    void fail(std::string_view what)
    {
        if (!board.fail(place_.rank, what, completed)) { return; }
        mpi_letter letter;
        letter.kind = mpi_letter::failure;
        letter.rank = place_.rank;
        letter.meeting = completed;
        letter.say(what);
        for (int r = 0; r < place_.size; ++r) {
            if (place_.seat_of(r) < 0) { mail_.send(r, letter); }
        }
    }

    /// Fails the group and throws.
    [[noreturn]] void end(const std::string& what)
    {
        fail(what);
        give_up(what);
    }

    /// Fails the group because a wait took too long, and throws. `missing`: the ranks that had not arrived, if known.
    [[noreturn]] void expire(const char* where, const std::string& missing = {})
    {
        end(joined({"waited ", text_of(deadline), " at '", where, missing.empty() ? "'" : "'; not arrived: rank ",
                    missing}));
    }

    /// Throws the group's failure; `own` if it is not known.
    [[noreturn]] void give_up(const std::string& own = "the group had failed before")
    {
        traffic.abandon();
        // The first rank to fail may still be writing down why.
        const auto end = std::chrono::steady_clock::now() + last_moments;
        while (!board.failed() && std::chrono::steady_clock::now() < end) { std::this_thread::yield(); }
        throw error(board.failed() ? board.failure() : joined({"rank ", place_.rank, " failed: ", own}));
    }

    /// Asks all ranks whether they have come to the meeting that this one has come to. Those that wait will answer.
    void ask_who_has_come()
    {
        answered_.assign(static_cast<std::size_t>(place_.size), false);
        answered_[static_cast<std::size_t>(place_.rank)] = true;
        mpi_letter letter;
        letter.kind = mpi_letter::question;
        letter.rank = place_.rank;
        letter.meeting = started;
        for (int r = 0; r < place_.size; ++r) {
            if (r != place_.rank) { mail_.send(r, letter); }
        }
    }
    /// The ranks that have not answered: "1, 3".
    [[nodiscard]] std::string missing() const
    {
        std::string ranks;
        for (int r = 0; r < place_.size; ++r) {
            if (answered_[static_cast<std::size_t>(r)]) { continue; }
            ranks += joined({ranks.empty() ? "" : ", ", r});
        }
        return ranks;
    }

    /// After a failure: leaves MPI nothing that could touch this rank's memory or keep the others from learning of it.
    void abandon() noexcept
    {
        traffic.abandon();
        if (!place_.one_host()) { mail_.close(); }
    }

    std::chrono::nanoseconds deadline;
    mpi_traffic traffic;
    mpi_board board;
    std::uint64_t started = 0;    // meetings of all hosts
    std::uint64_t completed = 0;  // those of them that this rank has been through

  private:
    void read_letters()
    {
        if (place_.one_host()) { return; }
        mpi_letter letter;
        while (mail_.receive(letter)) {
            if (letter.kind == mpi_letter::failure) {
                board.fail(letter.rank, letter.said(), letter.meeting);
            } else if (letter.kind == mpi_letter::answer) {
                if (letter.meeting == started) { answered_[static_cast<std::size_t>(letter.rank)] = true; }
            } else if (letter.meeting <= started) {
                const int asker = std::exchange(letter.rank, place_.rank);
                letter.kind = mpi_letter::answer;
                mail_.send(asker, letter);
            }
        }
    }

    const mpi_place& place_;
    patience waits_;
    mpi_mail mail_;
    std::vector<bool> answered_;
};

}  // namespace plait::detail
