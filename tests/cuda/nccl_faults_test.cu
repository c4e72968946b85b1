// Faults that only the stand-in for NCCL can be asked for.
#include "cuda/nccl_errors.cuh"
#include "emulator/nccl/control.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using nccl_test::has;

TEST_CASE("NCCL: what NCCL notices is told")
{
    const auto what = nccl_test::thrown_on(2, [](plait::nccl_communicator& comm, ncclComm_t nccl) {
        comm.barrier("before");
        if (comm.rank() == 1) { nccl_test::check(emulator_nccl_async_error(nccl, ncclRemoteError)); }
        comm.wait([] { return false; }, "a condition that never holds");
    });
    for (const std::string& w : what) { CHECK(has(w, "failed: NCCL: remote process exited or there was a network error")); }
}

}  // namespace
