// Multicast in pipelines of chunks, with the checker on: products overlapped with what moves their results.
#if !defined(PLAIT_TEST_NCCL)
#define PLAIT_TEST_NCCL
#endif
#define PLAIT_TEST_NCCL_MULTICAST
#include "blocks/block.hpp"
#include "cuda/launches.cuh"
#include "cuda/nccl_cases.cuh"

#include <plait/blocks/sequence_parallel.hpp>

#include <vector>

namespace {

namespace pl = plait;

/// In any number of chunks within the rounding errors, and by multicast.
void check_chunks(const harness::program& p)
{
    for (const int ranks : {2, 4}) {
        const reference::inputs given = block::inputs(p, ranks, {2, 16, 8, 32});
        for (const int chunks : {1, 3}) {
            harness::program chosen = p;
            chosen.make = [make = p.make, chunks](harness::communicator& comm) {
                auto made = make(comm);
                made->set_parameters({.chunks = chunks, .multicast = true});
                return made;
            };
            cuda_test::forget_launches();
            harness::check(chosen, ranks, given, 40);
            CHECK(cuda_test::instructions_of("multicast") > 0);
        }
    }
}

TEST_CASE("NCCL, multicast: products overlapped with collectives")
{
    nccl_test::symmetric_buffers = true;
    using projection = pl::blocks::sequence_projection<>;
    using mlp = pl::blocks::sequence_mlp<>;
    check_chunks(harness::erased(projection::overlapped, "projection"));
    check_chunks(harness::erased(mlp::overlapped, "mlp"));
    nccl_test::symmetric_buffers = false;
}

}  // namespace
