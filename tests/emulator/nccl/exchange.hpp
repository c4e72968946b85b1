// How the calls of ranks meet on streams, and what happens then.
#pragma once

#include "communicator.hpp"

namespace emulator::nccl {

/// Puts the calls on the stream as one piece of work.
ncclResult_t enqueue(const std::shared_ptr<ncclComm>& c, const std::vector<call>& calls, cudaStream_t stream);
/// Ends all work of the rank that waits for others.
void abandon(ncclComm& c);
/// Gives all ranks an asynchronous error: nothing on their streams ends any more by itself.
void break_clique(clique& all, ncclResult_t error);
/// Moves the data of a collective whose calls have all begun.
void perform(const std::vector<arrival>& ranks);
/// Moves the data of a message.
void perform_message(const arrival& send, const arrival& receive);

}  // namespace emulator::nccl
