// Messages that are underway between ranks, by ticket.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/mpi_place.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

namespace plait::detail {

/// A message longer than `longest` travels in pieces: MPI counts bytes with int. Pieces of a pair of ranks with one tag
/// stay in order, so that both ends cut alike and need not talk about it.
class mpi_traffic {
  public:
    static constexpr int max_tag = 32000;  // every MPI has tags up to 32767; the fabric's own lie above this one

    mpi_traffic(const mpi_place& place, std::size_t longest)
        : place_(place),
          longest_(std::clamp<std::size_t>(longest, 1, static_cast<std::size_t>(std::numeric_limits<int>::max())))
    {
    }
    mpi_traffic(const mpi_traffic&) = delete;
    mpi_traffic& operator=(const mpi_traffic&) = delete;
    ~mpi_traffic() { abandon(); }

    int send(const void* p, std::size_t bytes, int to, int tag)
    {
        const int ticket = open(bytes, to, tag, true);
        const auto* at = static_cast<const std::byte*>(p);
        in_pieces(bytes, [&](std::size_t offset, int count, MPI_Request* request) {
            mpi_check(MPI_Isend(at + offset, count, MPI_BYTE, to, tag, place_.all, request), "MPI_Isend");
        });
        bytes_sent_ += bytes;
        return ticket;
    }

    int receive(void* p, std::size_t bytes, int from, int tag)
    {
        const int ticket = open(bytes, from, tag, false);
        auto* at = static_cast<std::byte*>(p);
        in_pieces(bytes, [&](std::size_t offset, int count, MPI_Request* request) {
            mpi_check(MPI_Irecv(at + offset, count, MPI_BYTE, from, tag, place_.all, request), "MPI_Irecv");
        });
        return ticket;
    }

    [[nodiscard]] bool done(int ticket) const noexcept
    {
        const std::uint32_t at = (static_cast<std::uint32_t>(ticket) - first_) & ticket_mask;
        return at >= messages_.size() || messages_[at].pieces_left == 0;
    }

    [[nodiscard]] bool all_done() const noexcept { return requests_.empty(); }
    [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

    /// Lets MPI work on all messages, without waiting. Throws plait::error if one has failed.
    void advance()
    {
        if (requests_.empty()) { return; }
        completed_.resize(requests_.size());
        statuses_.resize(requests_.size());
        int count = 0;
        const int result = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, completed_.data(),
                                        statuses_.data());
        if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) { mpi_check(result, "MPI_Testsome"); }
        if (count <= 0) { return; }  // nothing yet, or MPI_UNDEFINED: nothing underway
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
            settle(pieces_[at], statuses_[static_cast<std::size_t>(i)], result == MPI_ERR_IN_STATUS);
        }
        drop_settled();
    }

    /// The messages that are not done, for an error text: "a message of 8 bytes from rank 2 (tag 5)".
    [[nodiscard]] std::string underway() const
    {
        std::string text;
        int named = 0;
        for (const message& m : messages_) {
            if (m.pieces_left == 0) { continue; }
            if (++named > 4) { return text + ", ..."; }
            text += joined({text.empty() ? "" : ", ", name_of(m)});
        }
        return text;
    }

    /// Takes back what a failure has interrupted, so that MPI does not write into memory that may be gone soon.
    void abandon() noexcept
    {
        if (!mpi_is_running()) { requests_.clear(); }
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i] == MPI_REQUEST_NULL) { continue; }
            if (!messages_[(pieces_[i].ticket - first_) & ticket_mask].is_send) { MPI_Cancel(&requests_[i]); }
            MPI_Request_free(&requests_[i]);
        }
        requests_.clear();
        pieces_.clear();
        first_ = (first_ + static_cast<std::uint32_t>(messages_.size())) & ticket_mask;
        messages_.clear();
    }

  private:
    static constexpr std::uint32_t ticket_mask = 0x7fffffff;

    struct message {
        std::size_t bytes;
        std::size_t pieces_left;
        int peer;
        int tag;
        bool is_send;
    };
    struct piece {
        std::uint32_t ticket;
        int bytes;
    };

    int open(std::size_t bytes, int peer, int tag, bool is_send)
    {
        const char* const verb = is_send ? "send to" : "receive from";
        if (peer < 0 || peer >= place_.size) {
            throw error({"cannot ", verb, " rank ", peer, " in a group of ", place_.size});
        }
        if (tag < 0 || tag > max_tag) {
            throw error({"cannot ", verb, " rank ", peer, " with tag ", tag, "; tags lie in [0, ", max_tag, "]"});
        }
        messages_.push_back({bytes, 0, peer, tag, is_send});
        return static_cast<int>((first_ + static_cast<std::uint32_t>(messages_.size()) - 1) & ticket_mask);
    }

    template <class Start>
    void in_pieces(std::size_t bytes, Start start)
    {
        const std::uint32_t ticket = (first_ + static_cast<std::uint32_t>(messages_.size()) - 1) & ticket_mask;
        std::size_t offset = 0;
        do {  // an empty message is one empty piece
            const int count = static_cast<int>(std::min(longest_, bytes - offset));
            requests_.push_back(MPI_REQUEST_NULL);
            pieces_.push_back({ticket, count});
            start(offset, count, &requests_.back());
            ++messages_.back().pieces_left;
            offset += static_cast<std::size_t>(count);
        } while (offset < bytes);
    }

    void settle(const piece& p, const MPI_Status& status, bool may_have_failed)
    {
        message& m = messages_[(p.ticket - first_) & ticket_mask];
        if (may_have_failed && status.MPI_ERROR != MPI_SUCCESS) {
            mpi_check(status.MPI_ERROR, joined({"MPI, ", name_of(m), ":"}).c_str());
        }
        int count = p.bytes;
        if (!m.is_send) { mpi_check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count"); }
        if (count != p.bytes) { throw error({name_of(m), " has another length: ", count, " bytes came of ", p.bytes}); }
        --m.pieces_left;
    }

    /// MPI has set what has settled to MPI_REQUEST_NULL.
    void drop_settled()
    {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i] == MPI_REQUEST_NULL) { continue; }
            requests_[kept] = requests_[i];
            pieces_[kept++] = pieces_[i];
        }
        requests_.resize(kept);
        pieces_.resize(kept);
        while (!messages_.empty() && messages_.front().pieces_left == 0) {
            messages_.pop_front();
            first_ = (first_ + 1) & ticket_mask;
        }
    }

    static std::string name_of(const message& m)
    {
        return joined({"a message of ", m.bytes, " bytes ", m.is_send ? "to" : "from", " rank ", m.peer, " (tag ",
                       m.tag, ")"});
    }

    const mpi_place& place_;
    std::size_t longest_;
    std::uint64_t bytes_sent_ = 0;
    std::uint32_t first_ = 0;       // the ticket of messages_[0]
    std::deque<message> messages_;  // by ticket
    std::vector<MPI_Request> requests_;
    std::vector<piece> pieces_;  // of each request
    std::vector<int> completed_;
    std::vector<MPI_Status> statuses_;
};

}  // namespace plait::detail
