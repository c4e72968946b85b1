// The ranks that the harness runs programs on: threads, the processes that a test with MPI consists of, CUDA peers, or
// ranks of NCCL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#if defined(PLAIT_TEST_MPI)
#include "mpi/support.hpp"
#elif defined(PLAIT_TEST_NCCL)
#include "cuda/nccl_ranks.cuh"
#elif defined(PLAIT_TEST_CUDA)
#include "cuda/memory.cuh"

#include <plait/cuda.cuh>
#else
#include <plait/fabric/threads.hpp>
#endif

namespace harness {

using bytes = std::vector<std::byte>;

#if defined(PLAIT_TEST_MPI)

using communicator = plait::mpi_communicator;

/// Calls f(comm) on this process's rank of `n`, which must be all; returns what f gave on every rank, by rank.
template <class F>
std::vector<std::vector<bytes>> on_ranks(int n, F&& f)
{
    int size = 0;
    int rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (n != size) { throw std::logic_error("a test for another number of processes"); }
    std::vector<bytes> mine;
    support::run([&](communicator& comm) { mine = f(comm); });
    std::vector<std::vector<bytes>> all(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) {
        std::vector<bytes>& theirs = all[static_cast<std::size_t>(r)];
        if (r == rank) { theirs = mine; }
        auto parts = static_cast<std::uint64_t>(theirs.size());
        MPI_Bcast(&parts, 1, MPI_UINT64_T, r, MPI_COMM_WORLD);
        theirs.resize(parts);
        for (bytes& b : theirs) {
            auto length = static_cast<std::uint64_t>(b.size());
            MPI_Bcast(&length, 1, MPI_UINT64_T, r, MPI_COMM_WORLD);
            b.resize(length);
            MPI_Bcast(b.data(), static_cast<int>(length), MPI_BYTE, r, MPI_COMM_WORLD);
        }
    }
    return all;
}

#elif defined(PLAIT_TEST_NCCL)

using communicator = nccl_test::rank_type;
using memory = nccl_test::memory;

template <class F>
void start(int n, F&& f)
{
    nccl_test::run(n, [&](communicator& comm, ncclComm_t) { f(comm); });
}

#elif defined(PLAIT_TEST_CUDA)

using communicator = plait::cuda_communicator;
using memory = cuda_test::memory;

template <class F>
void start(int n, F&& f)
{
    plait::cuda_peers::run(n, f, cuda_test::devices());
}

#else

using communicator = plait::thread_communicator;

template <class F>
void start(int n, F&& f)
{
    plait::threads::run(n, f);
}

#endif

#if !defined(PLAIT_TEST_MPI)

/// Calls f(comm) on n ranks, with what `start` starts; returns what f gave on every rank, by rank.
template <class F>
std::vector<std::vector<bytes>> on_ranks(int n, F&& f)
{
    std::vector<std::vector<bytes>> all(static_cast<std::size_t>(n));
    start(n, [&](communicator& comm) { all[static_cast<std::size_t>(comm.rank())] = f(comm); });
    return all;
}

#endif

#if defined(PLAIT_TEST_CUDA) || defined(PLAIT_TEST_NCCL)

/// Waits until the rank's programs have run.
inline void settle(communicator& comm) { comm.synchronize(); }

#else

/// Memory that programs work on, as the test sees it: the same.
class memory {
  public:
    explicit memory(std::size_t bytes) : bytes_(bytes) {}
    [[nodiscard]] std::byte* here() { return bytes_.data(); }
    [[nodiscard]] std::byte* there() { return bytes_.data(); }
    void send() {}
    void fetch() {}

  private:
    bytes bytes_;
};
inline void settle(communicator&) {}

#endif

}  // namespace harness
