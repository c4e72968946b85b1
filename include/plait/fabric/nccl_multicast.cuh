// Ranks of NCCL whose kernels may add up and store by multicast. Empty, as nccl.cuh, without NCCL 2.28 or newer.
#pragma once

#include <plait/fabric/nccl.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/view.hpp>
#include <plait/target/cuda/multicast_launch.cuh>

#include <chrono>

namespace plait {

/// As nccl_communicator, and programs that run on it are compiled with further kernels: with `parameters::multicast` they add
/// up f32, f16 and bf16 of all ranks, and store to all ranks, by multicast (multimem), where NCCL offers that: devices of
/// compute capability 9.0 and newer, one for each rank, joined by NVLink with a switch that adds. Elsewhere, and without the
/// parameter, they do as they do on nccl_communicator.
/// ```
/// plait::nccl_multicast_communicator comm(your_communicator, your_stream);
/// plait::executable run{program, comm};
/// run.set_parameters({.multicast = true});
/// ```
class nccl_multicast_communicator : public nccl_communicator {
  public:
    explicit nccl_multicast_communicator(ncclComm_t users, cudaStream_t stream = cudaStreamPerThread,
                                         std::chrono::nanoseconds deadline = default_deadline)
        : nccl_communicator(users, stream, deadline)
    {
        if (size() == 1 || is_apart()) { return; }
        if (!on_all(windows_.may_have_multicast())) { return; }
        if (!on_all(windows_.open_multicast(deadline))) { windows_.close_multicast(); }
    }

    /// Whether NCCL offers multicast to this communicator. All ranks say the same. (Tensors must then lie in `symmetric` memory
    /// at the same place on all ranks, or be staged: a pass whose tensors do not is done without.)
    [[nodiscard]] bool has_multicast() const noexcept { return windows_.has_multicast(); }
    /// For the runner: null if it is not offered.
    [[nodiscard]] const cuda::multicast_memory* multicast() const noexcept { return has_multicast() ? &windows_ : nullptr; }
    /// For the runner: the code of a lowered program's passes.
    template <class Lowered>
    static view<const cuda::pass_code> passes_of()
    {
        return cuda::multicast_functions_of<Lowered>;
    }

  private:
    [[nodiscard]] bool on_all(bool mine)
    {
        bool all = true;
        for (const void* theirs : exchange(&mine, sizeof mine, "NCCL: multicast")) { all = all && *static_cast<const bool*>(theirs); }
        return all;
    }
};

}  // namespace plait
#endif
