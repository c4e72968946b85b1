// Code for devices before compute capability 9.0, on ranks that are offered multicast: it does without.
#define PLAIT_TEST_NCCL_MULTICAST
#include "cuda/launches.cuh"
#include "cuda/nccl_cases.cuh"

#include <vector>

namespace {

namespace pl = plait;

TEST_CASE("NCCL, multicast: code of older devices goes on without")
{
    cuda_test::forget_launches();
    nccl_test::run(2, [](pl::nccl_multicast_communicator& comm, ncclComm_t) {
        CHECK(comm.has_multicast());
        const auto mine = comm.symmetric<float>(200);
        const auto total = comm.symmetric<float>(200);
        nccl_test::set(comm, mine, 1.0F);
        nccl_test::set(comm, total, 2.0F);
        pl::executable run{nccl_test::fused, comm};
        run.set_parameters({.multicast = true});
        run(nccl_test::x = mine, nccl_test::y = total);
        CHECK(nccl_test::get(comm, total) == std::vector<float>(200, 4));
    });
    CHECK(cuda_test::launches_of("map_kernel") > 0);
    CHECK(cuda_test::launches_of("multicast_kernel") == 0);
    CHECK(cuda_test::instructions_of("multicast") == 0);
}

}  // namespace
