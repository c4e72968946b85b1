// The main function of the tests with MPI. Every rank runs the same cases in the same order; the argument is the mode:
// `shared` (ranks share memory, as they can on one host), `alone` (none do), `mixed` (hosts of two ranks), or `apart` (as MPI
// says).
#define DOCTEST_CONFIG_IMPLEMENT
#include "support.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

int main(int argc, char** argv)
{
    const std::string mode = argc > 1 ? argv[1] : "shared";
    if (mode == "alone") { setenv("PLAIT_MPI_SHARED", "0", 1); }
    support::two_by_two = mode == "mixed";
    support::hosts_of_two = mode == "mixed" || mode == "apart";

    std::string early;
    try {
        plait::mpi_communicator too_early(MPI_COMM_WORLD);
    } catch (const plait::error& e) {
        early = e.what();
    }
    MPI_Init(&argc, &argv);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    if (mode == "shared" || mode == "mixed") {
        MPI_Comm node = MPI_COMM_NULL;
        int on_host = 0;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
        MPI_Comm_size(node, &on_host);
        MPI_Comm_free(&node);
        int fewest = 0;
        MPI_Allreduce(&on_host, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (fewest < size) {
            if (rank == 0) { std::cout << "skipped: not run: MPI says that its processes share no memory" << std::endl; }
            MPI_Finalize();
            return 0;
        }
    }

    std::ostringstream kept;
    doctest::Context context(argc, argv);
    context.setOption("no-colors", true);
    if (rank != 0) { context.setCout(&kept); }
    int failed = context.run();
    if (early.find("after MPI_Init") == std::string::npos) {
        failed = 1;
        kept << "before MPI_Init: '" << early << "'\n";
    }
    if (failed != 0 && !kept.str().empty()) {
        std::cout << "rank " + std::to_string(rank) + ":\n" + kept.str() << std::flush;
    }
    int any = failed;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) { std::cout << size << " ranks, " << mode << ": " << (any == 0 ? "passed" : "failed") << std::endl; }
    MPI_Finalize();

    try {
        plait::mpi_communicator too_late(MPI_COMM_WORLD);
        any = 1;
    } catch (const plait::error&) {
    }
    return any;
}
