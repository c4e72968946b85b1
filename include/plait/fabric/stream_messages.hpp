// What a fabric of ranks with devices adds when some of them cannot load from each other: messages on streams.
#pragma once

#include <plait/core/view.hpp>

#include <cstddef>
#include <string>

namespace plait {

/// What a rank does on a stream: one end of a message between two ranks, or its part of a collective of all ranks, in memory of its
/// device.
struct stream_message {
    /// broadcast: from `peer` to all. all_gather: of as many bytes from each rank, which lie one after the other by rank, this
    /// rank's in their place.
    enum class kind : unsigned char { send, receive, broadcast, all_gather };
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    int peer = 0;
    kind what = kind::send;
};

/// A communicator some of whose ranks may not load from this one (`shares(rank)` is false).
///
/// - `put_messages(all, stage, stream)`: puts messages on a stream, which go at the same time; what comes after them on the stream
///   finds them received, and may overwrite what was sent. Two ranks name the messages between them in the same order, and all
///   ranks the collectives. Each rank puts its messages on one stream at a time. `stage` is their name in errors.
template <class C, class Stream>
concept stream_messenger = requires(C& comm, view<const stream_message> all, const std::string& stage, Stream stream) {
    comm.put_messages(all, stage, stream);
};

}  // namespace plait
