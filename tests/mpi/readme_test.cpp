// The program with MPI of docs/running.md.
#include "support.hpp"

#include <plait/plait.hpp>

#include <doctest/doctest.h>

namespace {

TEST_CASE("docs: ranks that are processes")
{
    namespace pl = plait;
    const MPI_Comm your_communicator = MPI_COMM_WORLD;
    float first = 0;
    // [mpi]
    // #include <plait/fabric/mpi.hpp>, and link plait::mpi. MPI_Init was called by you.
    pl::mpi::run(your_communicator, [&](pl::mpi_communicator& comm) {
        using adam = pl::optim::adam<>;
        const std::size_t n = 1000;
        // Memory that the other processes of the host can touch: the fused kernel reads and writes it directly.
        auto grad = comm.symmetric<float>(n);
        auto param = comm.symmetric<float>(n);
        const auto part = static_cast<std::size_t>(pl::slice_of(n, comm.rank(), comm.size()).count);
        std::vector<float> m(part), v(part);
        grad[0] = 1.0F;

        pl::executable run{adam::fused, comm};
        run(adam::g = grad, adam::p = param, adam::m = m, adam::v = v, adam::lr = 0.5F, adam::beta1 = 0.0F,
            adam::beta2 = 0.0F, adam::eps = 1e-8F, adam::c1 = 1.0F, adam::c2 = 1.0F);
        first = param[0];
    });
    // [/mpi]
    CHECK(first == doctest::Approx(-0.5));
}

}  // namespace
