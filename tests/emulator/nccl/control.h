// Faults that a test may ask of the NCCL stand-in. Link with the stand-in's library, or use weak symbols.
#pragma once

#include <nccl.h>

#ifdef __cplusplus
extern "C" {
#endif

/// From now on nothing that this rank calls on its streams ever begins: it is a rank that never arrives.
ncclResult_t emulator_nccl_lose_rank(ncclComm_t comm);
/// All ranks of the communicator get an asynchronous error, which ncclCommGetAsyncError returns; what is on their
/// streams waits until ncclCommAbort.
ncclResult_t emulator_nccl_async_error(ncclComm_t comm, ncclResult_t error);
/// How many calls of the rank's are on streams and have not ended.
ncclResult_t emulator_nccl_pending(ncclComm_t comm, int* count);

#ifdef __cplusplus
}
#endif
