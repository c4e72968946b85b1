// What a fabric offers to the rest of plait: the `communicator` concept, one object per rank.
#pragma once

#include <plait/core/view.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plait {

/// How long a rank waits for its peers before it gives up, unless set otherwise.
inline constexpr std::chrono::nanoseconds default_deadline = std::chrono::seconds(60);

/// Names a buffer to other ranks. Plain data of 16 bytes, so that it can travel in a record; only the fabric that made
/// it knows what the words mean.
struct buffer_handle {
    std::uint64_t space = 0;   ///< which address space or window
    std::uint64_t offset = 0;  ///< where in it
};

/// One rank's view of the group: who it is, how it meets its peers, and how it reaches their memory.
///
/// All ranks of a group must make the same meetings (`barrier`, `exchange`) in the same order. `where` names the stage
/// in error texts. Only the thread or process of a rank uses that rank's communicator.
///
/// - `rank()`, `size()`: this rank, in [0, size), and the number of ranks, at least 1.
/// - `barrier(where)`: waits for all ranks; what any rank wrote before, every rank sees after.
/// - `exchange(record, bytes, where)`: publishes this rank's record, waits for all ranks and returns the addresses of
///   all records, by rank. Costs one barrier.
/// - `handle_of(p, bytes)`: names this rank's buffer for peers. `resolve(rank, h)`: where this rank finds the buffer
///   that `rank` named `h`.
/// - `allocate(bytes)`, `deallocate(p, bytes)`: memory that peers can touch, aligned to 64 bytes; 0 bytes have an
///   address too. A fabric may make `allocate` a meeting: call it on all ranks in the same order. `deallocate` never
///   waits, so that it can run while a failed rank unwinds.
/// - `symmetric<T>(n)`: such memory for `n` values of T, zeroed, owned by the result; converts to plait::view<T>.
/// - `wait(ready, where)`: waits until `ready()`, a cheap bool callable such as an acquire load of a counter in symmetric
///   memory, returns true; a condition that holds already is not waited for. Not a meeting.
/// - `shares(rank)`: whether this rank can touch the symmetric memory of that one, as it always can its own.
/// - `fail(what)`: marks the group failed, see below.
/// - `set_deadline(d)`, `deadline()`: the longest wait of this rank; 0 is no limit.
///
/// In one exchange all records have the same size. They are copied: a rank may change its own as soon as the exchange has
/// returned, and may read its peers' until it enters its own next exchange.
///
/// Failure: after `fail` every rank that waits, or comes to wait, throws plait::error "rank R failed: what" with the
/// FIRST rank that failed. Later failures change nothing; a meeting to which all have come before is not undone. A wait
/// that lasts longer than the deadline fails the group with a text that names the waiting rank, the stage and the ranks
/// that had not arrived (of a `wait`, only the rank and the stage). A failed group stays failed.
template <class C>
concept communicator = requires(C& comm, const C& const_comm, void* memory, const void* record, std::size_t count, int rank,
                                const char* where, buffer_handle handle, std::string_view what,
                                std::chrono::nanoseconds limit, bool (*ready)())
{
    {
        const_comm.rank()
        } -> std::same_as<int>;
    {
        const_comm.size()
        } -> std::same_as<int>;
    comm.barrier(where);
    {
        comm.exchange(record, count, where)
        } -> std::same_as<view<const void* const>>;
    {
        comm.handle_of(record, count)
        } -> std::same_as<buffer_handle>;
    {
        comm.resolve(rank, handle)
        } -> std::same_as<void*>;
    {
        comm.allocate(count)
        } -> std::same_as<void*>;
    {
        comm.deallocate(memory, count)
    }
    noexcept;
    requires std::convertible_to<decltype(comm.template symmetric<float>(count))&, view<float>>;
    comm.wait(ready, where);
    {
        const_comm.shares(rank)
        } -> std::same_as<bool>;
    comm.fail(what);
    comm.set_deadline(limit);
    {
        const_comm.deadline()
        } -> std::same_as<std::chrono::nanoseconds>;
};

}  // namespace plait
