// The same on processes that share memory windows.
#include "support/main_mpi.hpp"
#include "support/tuned_race.hpp"

#include <plait/plait.hpp>

int main(int argc, char** argv)
{
    return bench::main_of_processes("tune_mpi", argc, argv, [](const bench::options& o, plait::mpi_communicator& comm) {
        bench::race_all_tuned(o, comm, "mpi");
    });
}
