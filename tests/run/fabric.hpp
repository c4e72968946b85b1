// The ranks that the harness runs programs on: threads, or the processes that a test with MPI consists of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#if defined(PLAIT_TEST_MPI)
#include "mpi/support.hpp"
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

#else

using communicator = plait::thread_communicator;

/// Calls f(comm) on n threads; returns what f gave on every rank, by rank.
template <class F>
std::vector<std::vector<bytes>> on_ranks(int n, F&& f)
{
    std::vector<std::vector<bytes>> all(static_cast<std::size_t>(n));
    plait::threads::run(n, [&](communicator& comm) { all[static_cast<std::size_t>(comm.rank())] = f(comm); });
    return all;
}

#endif

}  // namespace harness
