// Whether the NCCL that is there has what plait needs, and its errors as plait::error.
#pragma once

#if __has_include(<nccl.h>) && __has_include(<nccl_device.h>)
#include <nccl.h>
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
#define PLAIT_HAS_NCCL 1
#endif
#endif

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/error.hpp>
#include <plait/fabric/poll.hpp>
#include <plait/fabric/spin.hpp>

#include <chrono>
#include <string_view>

namespace plait::detail {

/// Throws plait::error that names what failed and NCCL's reason, unless `result` is success. What a communicator that does
/// not block has only begun is waited for, for no longer than `deadline` (0: no limit).
inline void check_nccl(ncclResult_t result, ncclComm_t comm, std::string_view what, std::chrono::nanoseconds deadline = {})
{
    if (result == ncclInProgress) {
        patience waits;
        const auto done = [&] { return ncclCommGetAsyncError(comm, &result) != ncclSuccess || result != ncclInProgress; };
        if (!polled(waits, deadline, done, [] {})) {
            throw error({what, ": NCCL has not done it within ", text_of(deadline)});
        }
    }
    if (result == ncclSuccess) { return; }
    const char* const last = ncclGetLastError(comm);
    const std::string_view more = last == nullptr ? "" : last;
    throw error({what, ": ", ncclGetErrorString(result), more.empty() ? "" : "; ", more});
}

}  // namespace plait::detail
#endif
