// The fabric of ranks that are processes, over MPI. Not part of plait.hpp: link plait::mpi and include this.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/fabric/mpi_group.hpp>
#include <plait/fabric/mpi_memory.hpp>
#include <plait/fabric/remote.hpp>
#include <plait/fabric/symmetric_buffer.hpp>
#include <plait/fabric/thrown.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

/// All ranks of a group must be given the same, except for `host`.
struct mpi_options {
    /// Ranks with one number are treated as sharing a host, if MPI says that they can share memory; negative: as MPI
    /// says. To try out on one host how a program does on several.
    int host = -1;
    std::chrono::nanoseconds deadline = default_deadline;  ///< the longest wait of a rank; 0 is no limit
    std::size_t longest_message = std::size_t{1} << 30;  ///< what travels in one piece
};

/// A rank that is a process; models plait::communicator and plait::remote_communicator. Used by one thread, stays where
/// it was made:
/// ```
/// MPI_Init(&argc, &argv);
/// plait::mpi::run(MPI_COMM_WORLD, [](plait::mpi_communicator& comm) { ... });
/// MPI_Finalize();
/// ```
/// Making one and its end are collective over the MPI communicator that it is made over, which it copies. It must end
/// before MPI does.
///
/// Ranks on one host share memory; with PLAIT_MPI_SHARED=0 in the environment each rank is treated as a host of its own.
/// `allocate` is a meeting of the ranks of a host. Memory that has been deallocated serves later calls for about the
/// same sizes, and is given back at the end.
///
/// Failure reaches ranks of other hosts by message. If ranks of several hosts fail at the same time, each host reports
/// the first of which it learns. A rank whose part is left by an exception fails. A process that dies is noticed at a
/// deadline, if MPI does not end the others first. Collective calls of MPI itself, when a communicator is made and in
/// `allocate` after the ranks have met, know no deadline.
class mpi_communicator {
  public:
    /// Throws plait::error if MPI is not running, or one of its functions fails.
    explicit mpi_communicator(MPI_Comm users, mpi_options options = {})
        : group_(users, options.host, options.deadline, options.longest_message), memory_(group_.place)
    {
    }

    mpi_communicator(const mpi_communicator&) = delete;
    mpi_communicator& operator=(const mpi_communicator&) = delete;

    /// Waits until all ranks come to their end, unless the group has failed.
    ~mpi_communicator()
    {
        if (!detail::mpi_is_running()) { return; }
        try {
            if (std::uncaught_exceptions() > exceptions_before_) { fail("an exception ended its part"); }
            end();
        } catch (...) {
            group_.watch.abandon();
        }
    }

    /// This rank, in [0, size), and the number of ranks.
    int rank() const noexcept { return group_.place.rank; }
    int size() const noexcept { return group_.place.size; }

    /// Waits for all ranks. Throws plait::error if the group fails.
    void barrier(const char* where) { group_.barrier(where); }

    /// Shows `record` to all ranks and returns theirs, by rank. Throws plait::error if the group fails, which it does
    /// if a peer makes another kind of meeting here or shows a record of another size.
    view<const void* const> exchange(const void* record, std::size_t bytes, const char* where)
    {
        return group_.exchange(record, bytes, where);
    }

    /// Waits until `ready()`, while messages advance. Throws plait::error if the group fails before.
    template <class Ready>
    void wait(Ready ready, const char* where)
    {
        if (!ready() && !group_.watch.await(ready)) { group_.watch.expire(where); }
    }

    /// What measurements hold for.
    [[nodiscard]] std::string fabric_name() const
    {
        int here = 0;
        for (int r = 0; r < size(); ++r) { here += shares(r) ? 1 : 0; }
        return joined({"mpi, ", here, " on a host"});
    }
    /// Whether that rank is on this host.
    bool shares(int rank) const noexcept { return group_.place.seat_of(rank) >= 0; }

    /// Of a buffer in symmetric memory; of another one, a handle that is not reachable.
    buffer_handle handle_of(const void* p, std::size_t bytes) const noexcept
    {
        const auto [window, offset] = memory_.find_range(p, bytes);
        return {window, offset};
    }
    /// Whether the ranks of its host can touch a buffer.
    static constexpr bool reachable(buffer_handle h) noexcept { return h.space != 0; }

    /// Null if the buffer is not reachable or that rank is on another host; its own buffers a rank always finds.
    void* resolve(int rank, buffer_handle h) const noexcept
    {
        if (reachable(h)) { return shares(rank) ? memory_.resolve(group_.place.seat_of(rank), h.space, h.offset) : nullptr; }
        return rank == this->rank() ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(h.offset)) : nullptr;
    }

    /// Memory that the ranks of this host share, aligned to 64 bytes. A meeting of those ranks, which may ask for
    /// different sizes. Throws plait::error if the group fails or MPI has no such memory.
    void* allocate(std::size_t bytes)
    {
        const char* const where = "allocate";
        const bool alone = group_.place.alone();
        const std::size_t size = memory_.rounded(bytes);
        std::vector<std::size_t> sizes = alone ? std::vector{size} : group_.gather_wants(size, where);
        std::optional<std::size_t> window = memory_.find(sizes);
        if (!alone) { static_cast<void>(group_.meet_here(where)); }  // nobody frees a block while others look
        if (!window) {
            try {
                window = memory_.add(std::move(sizes));
            } catch (...) {
                fail(detail::text_of_current_exception());
                throw;
            }
        }
        return memory_.take(*window);
    }
    /// Gives back what `allocate` gave. Never waits.
    void deallocate(void* p, std::size_t /*bytes*/) noexcept { memory_.give_back(p); }

    /// `n` zeroed values that peers of this host can touch; see symmetric_buffer.
    template <class T>
    symmetric_buffer<T, mpi_communicator> symmetric(std::size_t n)
    {
        return {*this, n};
    }

    /// Marks the group failed: all ranks throw from their current or next wait. Only the group's first failure counts.
    void fail(std::string_view what) { group_.watch.fail(what); }

    /// The longest wait of this rank; 0 is no limit.
    std::chrono::nanoseconds deadline() const noexcept { return group_.watch.deadline; }
    /// The longest wait of this rank from now on; 0 is no limit.
    void set_deadline(std::chrono::nanoseconds limit) noexcept { group_.watch.deadline = limit; }

    /// Begin a message and return its ticket; see remote_communicator. Throw plait::error if there is no such rank or
    /// tag.
    int start_send(const void* p, std::size_t bytes, int to, int tag) { return group_.watch.traffic.send(p, bytes, to, tag); }
    int start_receive(void* p, std::size_t bytes, int from, int tag)
    {
        return group_.watch.traffic.receive(p, bytes, from, tag);
    }

    /// Whether a message is done. Throws plait::error if one has failed, as has the group then.
    bool done(int ticket)
    {
        if (!group_.watch.traffic.done(ticket)) { group_.watch.advance(); }
        return group_.watch.traffic.done(ticket);
    }

    /// Waits until all messages that this rank has started are done. Throws plait::error if the group fails before.
    void finish(const char* where)
    {
        detail::mpi_watch& watch = group_.watch;
        if (watch.await([&] { return watch.traffic.all_done(); })) { return; }
        const std::string limit = detail::text_of(watch.deadline);
        watch.end(joined({"waited ", limit, " at '", where, "' for ", watch.traffic.underway()}));
    }

    /// The bytes that this rank has begun to send, in all.
    std::uint64_t bytes_sent() const noexcept { return group_.watch.traffic.bytes_sent(); }

    /// The end, for who wants to know how it went: the destructor says nothing. Throws plait::error if the group has
    /// failed or does so before all ranks come to their end. Nothing else may be called after.
    void end()
    {
        if (ended_) { return; }
        const char* const where = "the end of the communicator";
        finish(where);
        group_.leave(where);
        ended_ = true;
        memory_.free();
        group_.free();
    }

  private:
    int exceptions_before_ = std::uncaught_exceptions();
    bool ended_ = false;
    detail::mpi_group group_;
    detail::mpi_memory memory_;
};

namespace mpi {

/// Calls `f(comm)` with this process's rank of a communicator over `users`. All processes of `users` do the same.
///
/// If a rank throws, its exception is rethrown there, and the others stop at their current or next wait, with
/// plait::error "rank R failed: what". Throws that also if a rank called `fail` without throwing.
template <class F>
requires std::invocable<F&, mpi_communicator&>
void run(MPI_Comm users, F&& f, mpi_options options = {})
{
    mpi_communicator comm(users, options);
    try {
        f(comm);
    } catch (...) {
        comm.fail(detail::text_of_current_exception());
        throw;
    }
    comm.end();
}

}  // namespace mpi
}  // namespace plait
