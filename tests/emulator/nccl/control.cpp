#include "control.h"

#include "exchange.hpp"

using namespace emulator::nccl;
using emulator::extension::lock;

extern "C" {

ncclResult_t emulator_nccl_lose_rank(ncclComm_t comm)
{
    const lock hold;
    const auto c = find(comm);
    if (!c) { return ncclInvalidArgument; }
    c->lost = true;
    return ncclSuccess;
}

ncclResult_t emulator_nccl_async_error(ncclComm_t comm, ncclResult_t error)
{
    const lock hold;
    const auto c = find(comm);
    if (!c || !c->all) { return ncclInvalidArgument; }
    break_clique(*c->all, error);
    return ncclSuccess;
}

ncclResult_t emulator_nccl_pending(ncclComm_t comm, int* count)
{
    const lock hold;
    const auto c = find(comm);
    if (!c || count == nullptr) { return ncclInvalidArgument; }
    *count = static_cast<int>(c->open.size());
    return ncclSuccess;
}
}
