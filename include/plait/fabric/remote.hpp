// What a fabric adds when ranks may lie on different hosts: messages between ranks that share no memory.
#pragma once

#include <plait/fabric/communicator.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace plait {

/// A communicator some of whose ranks may not share memory with this one (`shares(rank)` is false), and which sends
/// them messages instead.
///
/// - `start_send(p, bytes, to, tag)`, `start_receive(p, bytes, from, tag)`: begin a message of exactly `bytes` bytes and
///   return a ticket, which is not negative. Messages between two ranks with the same tag arrive in the order in which
///   they were sent. The memory belongs to the fabric until the message is done. Messages may also go to ranks that
///   share memory, and to oneself. Tags lie in [0, 32000].
/// - `done(ticket)`: whether that message is done; then a received one can be read and a sent one overwritten.
/// - `finish(where)`: waits until all messages that this rank has started are done.
/// - `bytes_sent()`: the bytes that this rank has begun to send, in all.
/// - `reachable(h)`: whether the buffer that `h` names lies in symmetric memory, so that the ranks that share it can
///   touch it. `resolve` returns null for a buffer that is not reachable, and for any of a rank that shares none with
///   this one; a rank's own buffers it always finds.
///
/// Messages advance in every wait of this rank and in `done`, not by themselves. When the group fails, the waits throw,
/// and messages that are not done are abandoned.
template <class C>
concept remote_communicator = communicator<C> && requires(C& comm, const C& const_comm, void* memory, const void* data,
                                                          std::size_t bytes, int rank, int tag, int ticket,
                                                          const char* where, buffer_handle handle)
{
    {
        comm.start_send(data, bytes, rank, tag)
        } -> std::same_as<int>;
    {
        comm.start_receive(memory, bytes, rank, tag)
        } -> std::same_as<int>;
    {
        comm.done(ticket)
        } -> std::same_as<bool>;
    comm.finish(where);
    {
        const_comm.bytes_sent()
        } -> std::same_as<std::uint64_t>;
    {
        C::reachable(handle)
        } -> std::same_as<bool>;
};

}  // namespace plait
