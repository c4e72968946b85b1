// Short letters between ranks of different hosts: that the group has failed, and who has come to a meeting.
#pragma once

#include <plait/fabric/mpi_place.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace plait::detail {

/// What a rank has to say to one that waits. Letters are read while waiting, by mpi_communicator.
struct mpi_letter {
    enum kind_type : std::uint32_t { failure, question, answer };

    kind_type kind = failure;
    int rank = 0;               // who failed, asks or answers
    std::uint64_t meeting = 0;  // failure: the last one that the rank had been through; else: the one in question
    std::uint32_t length = 0;
    char text[1000];

    void say(std::string_view what)
    {
        length = static_cast<std::uint32_t>(std::min(what.size(), sizeof text));
        std::memcpy(text, what.data(), length);
    }
    [[nodiscard]] std::string_view said() const { return {text, length}; }
};

/// Sends letters without waiting, and keeps them until MPI has taken them.
class mpi_mail {
  public:
    explicit mpi_mail(MPI_Comm comm) : comm_(comm) {}
    mpi_mail(const mpi_mail&) = delete;
    mpi_mail& operator=(const mpi_mail&) = delete;
    ~mpi_mail()
    {
        for (sent& s : underway_) { static_cast<void>(s.letter.release()); }  // MPI may still read it
    }

    void send(int to, const mpi_letter& letter)
    {
        static_cast<void>(all_gone());
        sent s{std::make_unique<mpi_letter>(letter), MPI_REQUEST_NULL};
        const auto bytes = static_cast<int>(offsetof(mpi_letter, text) + letter.length);
        mpi_check(MPI_Isend(s.letter.get(), bytes, MPI_BYTE, to, tag, comm_, &s.request), "MPI_Isend");
        underway_.push_back(std::move(s));
    }

    /// Reads a letter if one has come.
    bool receive(mpi_letter& letter)
    {
        int is_there = 0;
        MPI_Status status;
        mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &is_there, &status), "MPI_Iprobe");
        if (is_there == 0) { return false; }
        mpi_check(MPI_Recv(&letter, sizeof letter, MPI_BYTE, status.MPI_SOURCE, tag, comm_, MPI_STATUS_IGNORE),
                  "MPI_Recv");
        return true;
    }

    /// Gives MPI a little time to take what is underway, and takes what has come: nobody reads this rank's letters after.
    void close() noexcept
    {
        try {
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
            while (!all_gone() && std::chrono::steady_clock::now() < end) { std::this_thread::yield(); }
            for (mpi_letter unread; receive(unread);) {}
        } catch (...) {  // MPI fails too: there is nothing more to try
        }
    }

    static constexpr int tag = 32001;

  private:
    struct sent {
        std::unique_ptr<mpi_letter> letter;
        MPI_Request request;
    };

    bool all_gone() noexcept
    {
        std::erase_if(underway_, [](sent& s) {
            int gone = 0;
            return MPI_Test(&s.request, &gone, MPI_STATUS_IGNORE) != MPI_SUCCESS || gone != 0;
        });
        return underway_.empty();
    }

    MPI_Comm comm_;
    std::vector<sent> underway_;
};

}  // namespace plait::detail
