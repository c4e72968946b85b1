// Where the ranks' kernels wait for each other: counters in memory that all of them reach, and a limit to every wait.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace plait::cuda {

/// What went wrong on a device, in memory that the host reads while kernels run. The first report stays.
struct failure_report {
    std::uint32_t code = 0;    // 0: nothing; 1: a wait was too long; 2: an index of an embedding is out of range; 3: the peer failed
    std::int32_t rank = 0;     // that waited, in the world
    std::int32_t peer = 0;     // for whom; or of an index, 0
    std::int32_t stage = 0;    // the pass
    std::int64_t value = 0;    // of an index
    std::int64_t limit = 0;
    std::uint32_t abandon = 0;  // set by the host: waits end at once
};

/// Blocks of kernels that meet have at most this many on a rank.
inline constexpr int max_meeting_blocks = 2048;

/// Block b of a kernel meets the blocks b of the same kernel on all other ranks. Each rank has, for every block and rank, the
/// number of meetings with it and what it last told: `signals[block * ranks + rank]`. Numbers only grow (and wrap around).
struct meeting {
    std::uint32_t* const* signals = nullptr;  // by rank, in memory of this device; null: no meeting
    std::uint32_t* epochs = nullptr;          // of this rank: numbers of meetings, by block and rank
    failure_report* report = nullptr;
    const std::uint32_t* abandoned = nullptr;  // 1 + the rank that has failed, once one has; null: told by the report alone
    std::uint64_t limit = 0;  // nanoseconds; 0: none
    int rank = 0;
    int ranks = 0;            // 0: no meeting
    int stage = 0;

    /// As kernels take it, which look at `ranks` alone.
    [[nodiscard]] meeting as_argument() const
    {
        meeting m = *this;
        if (signals == nullptr) { m.ranks = 0; }
        return m;
    }
};

namespace detail {

__device__ inline void signal_peer(std::uint32_t* at, std::uint32_t value)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(at)), "r"(value) : "memory");
}
__device__ inline std::uint32_t read_signal(const std::uint32_t* at)
{
    std::uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(at)) : "memory");
    return value;
}
/// Counts one more of this rank's blocks; returns how many there were. The one that finds all others sees what they wrote.
__device__ inline std::uint32_t arrive(std::uint32_t* at)
{
    std::uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(__cvta_generic_to_global(at)) : "memory");
    return before;
}
__device__ inline std::uint64_t nanoseconds()
{
    std::uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/// Stores a report unless there is one.
__device__ inline void report_failure(failure_report* to, std::uint32_t code, int rank, int peer, int stage,
                                      std::int64_t value, std::int64_t limit)
{
    if (atomicCAS_system(&to->code, 0U, 0xffff'ffffU) != 0U) { return; }
    to->rank = rank;
    to->peer = peer;
    to->stage = stage;
    to->value = value;
    to->limit = limit;
    __threadfence_system();
    atomicExch_system(&to->code, code);
}

__device__ inline void wait_for_signal(const meeting& m, const std::uint32_t* at, std::uint32_t epoch, int peer)
{
    const auto arrived = [&] { return static_cast<std::int32_t>(read_signal(at) - epoch) >= 0; };
    if (arrived()) { return; }
    const std::uint64_t begin = nanoseconds();
    for (std::uint32_t turn = 1; !arrived(); ++turn) {
        if (turn % 256 != 0) { continue; }  // the report lies beyond the bus
        const volatile failure_report* r = m.report;
        if (r->code != 0 || r->abandon != 0) { return; }
        if (m.abandoned != nullptr) {
            const std::uint32_t failed = read_signal(m.abandoned);
            if (failed != 0) { return report_failure(m.report, 3, m.rank, static_cast<int>(failed) - 1, m.stage, 0, 0); }
        }
        if (m.limit != 0 && nanoseconds() - begin > m.limit) {
            return report_failure(m.report, 1, m.rank, peer, m.stage, 0, 0);
        }
    }
}

}  // namespace detail

/// All threads of a block call it. What any thread of the equal blocks of other ranks wrote before, all threads of this one
/// see after; and what kernels before theirs on their streams wrote.
__device__ inline void meet(const meeting& m)
{
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < m.ranks) {
        const std::size_t row = static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(m.ranks);
#pragma unroll 1
        for (int peer = static_cast<int>(threadIdx.x); peer < m.ranks; peer += static_cast<int>(blockDim.x)) {
            const std::uint32_t epoch = m.epochs[row + peer] + 1;
            m.epochs[row + peer] = epoch;
            if (peer != m.rank) { detail::signal_peer(m.signals[peer] + row + m.rank, epoch); }
        }
#pragma unroll 1
        for (int peer = static_cast<int>(threadIdx.x); peer < m.ranks; peer += static_cast<int>(blockDim.x)) {
            if (peer != m.rank) { detail::wait_for_signal(m, m.signals[m.rank] + row + peer, m.epochs[row + peer], peer); }
        }
    }
    __syncthreads();
}

/// A kernel that only meets.
template <class Tag = void>
__global__ void meet_kernel(const meeting m)
{
    meet(m);
}

}  // namespace plait::cuda
