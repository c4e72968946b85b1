// A communicator of NCCL that is plait's own, with the ranks of the user's.
#pragma once

#include <plait/fabric/nccl_check.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <chrono>
#include <utility>

namespace plait::detail {

/// It can be aborted without touching the user's, and never blocks, so that what waits for a rank that does not come can be given
/// up. Making one is collective.
class nccl_split {
  public:
    nccl_split(ncclComm_t users, int rank, std::chrono::nanoseconds deadline)
    {
        constexpr const char* what = "NCCL: a communicator for messages";
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        config.splitShare = 0;
        check_nccl(ncclCommSplit(users, 0, rank, &comm_, &config), users, what, deadline);
        check_nccl(ncclInProgress, comm_, what, deadline);
    }
    nccl_split(const nccl_split&) = delete;
    nccl_split& operator=(const nccl_split&) = delete;
    /// Waits for what the communicator has been given.
    ~nccl_split()
    {
        if (comm_ == nullptr) { return; }
        try {
            check_nccl(ncclCommFinalize(comm_), comm_, "NCCL: the end of a communicator", std::chrono::seconds(1));
            static_cast<void>(ncclCommDestroy(comm_));
        } catch (...) {
            abort();
        }
    }
    /// Null once it was aborted.
    [[nodiscard]] ncclComm_t get() const noexcept { return comm_; }
    /// Gives up all that waits in it.
    void abort() noexcept
    {
        if (comm_ != nullptr) { static_cast<void>(ncclCommAbort(std::exchange(comm_, nullptr))); }
    }
    /// A failure that NCCL has noticed.
    [[nodiscard]] ncclResult_t state() const
    {
        ncclResult_t state = ncclSuccess;
        if (comm_ == nullptr) { return state; }
        const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
        return asked != ncclSuccess ? asked : state;
    }

  private:
    ncclComm_t comm_ = nullptr;
};

}  // namespace plait::detail
#endif
