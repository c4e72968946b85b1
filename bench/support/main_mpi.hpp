// The main function of a benchmark of processes.
#pragma once

#include "main.hpp"

#include <plait/fabric/mpi.hpp>

namespace bench {

/// The same on all processes: run(options, communicator).
template <class Run>
int main_of_processes(const char* name, int argc, char** argv, Run&& run)
{
    MPI_Init(&argc, &argv);
    const int status = main_of(name, argc, argv, [&](const options& o) {
        plait::mpi::run(MPI_COMM_WORLD, [&](plait::mpi_communicator& comm) { run(o, comm); });
    });
    MPI_Finalize();
    return status;
}

}  // namespace bench
