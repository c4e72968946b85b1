// What the tests of ranks that are processes share: the communicator of the mode under test, and the text of a failure.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/mpi.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <thread>

namespace support {

/// Of ranks that are told to share a host two by two, in the mode `mixed`. Otherwise not said.
inline bool two_by_two = false;
/// Whether two ranks each share a host, told so or in truth.
inline bool hosts_of_two = false;

inline plait::mpi_options options(std::chrono::nanoseconds deadline = std::chrono::seconds(60))
{
    plait::mpi_options o;
    o.deadline = deadline;
    if (two_by_two) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        o.host = rank / 2;
    }
    return o;
}

/// Calls f(comm) with this rank's communicator over all processes.
template <class F>
void run(F&& f, plait::mpi_options o = options())
{
    plait::mpi::run(MPI_COMM_WORLD, f, o);
}

/// What such a call throws here, or nothing.
template <class F>
std::string failure_of(F&& f, plait::mpi_options o = options())
{
    try {
        run(f, o);
    } catch (const std::exception& e) {
        return e.what();
    }
    return {};
}

/// So many rounds of something, or fewer where ranks share cores: there each costs milliseconds, and as many orders of
/// arrival come up in fewer.
inline int rounds(const plait::mpi_communicator& comm, int with_a_core_each)
{
    const bool share_cores = static_cast<unsigned>(comm.size()) > std::thread::hardware_concurrency();
    return share_cores ? with_a_core_each / 6 : with_a_core_each;
}

inline std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace support
