// The main function of random programs: checks all of this executable and prints how many cases there were.
#define DOCTEST_CONFIG_IMPLEMENT
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace {

soak::checker checker;
int sizes = 10;

TEST_CASE("random programs in random schedules")
{
#if defined(PLAIT_TEST_MPI)
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::vector<int> all = {ranks};
    constexpr bool in_all = true;
#else
    const std::vector<int> all = {1, 2, 3, 4, 5};
    constexpr bool in_all = false;
#endif
    for (const soak::maker make : soak::makers()) { checker.check(make(), all, sizes, in_all); }
    CHECK(checker.total.cases > 0);
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc > 1) { sizes = std::atoi(argv[1]); }
    int rank = 0;
#if defined(PLAIT_TEST_MPI)
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    doctest::Context context;
    context.setOption("no-colors", true);
    const int failed = context.run();
    const soak::counts& c = checker.total;
    if (rank == 0) {
        std::cout << c.programs << " programs, " << c.schedules << " schedules, " << c.cases << " cases, " << c.refused
                  << " refused, " << c.mismatches << " mismatches, " << c.hangs << " hangs\n";
    }
#if defined(PLAIT_TEST_MPI)
    MPI_Finalize();
#endif
    return failed != 0 || c.mismatches != 0 || c.hangs != 0 ? 1 : 0;
}
