// ncclGroupStart and ncclGroupEnd: what is called between them begins together.
#pragma once

#include "communicator.hpp"

namespace emulator::nccl {

/// Takes the rank's call for the stream: now, or at the end of the group. The lock must be held.
ncclResult_t take(const std::shared_ptr<ncclComm>& c, const call& what, cudaStream_t stream);
/// Takes a call that waits for all ranks on the host. The lock must not be held.
ncclResult_t take(const std::shared_ptr<ncclComm>& c, const std::shared_ptr<meeting>& m);
/// A wrong call inside of a group makes the group's end fail as well.
ncclResult_t refuse(ncclResult_t why);

}  // namespace emulator::nccl
