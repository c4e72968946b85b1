// Pipelines of chunks on CUDA peers: any number of chunks, with the checker on.
#include "blocks/block.hpp"

#include <plait/blocks/pipeline.hpp>
#include <plait/blocks/sequence_parallel.hpp>

namespace {

namespace pl = plait;
using harness::erased;

/// The first program as it is, the others in so many chunks.
void check_chunks(const std::vector<harness::program>& schedules, int ranks, const block::sizes& z)
{
    const reference::inputs given = block::inputs(schedules[0], ranks, z);
    const harness::outcome first = harness::run(schedules[0], ranks, given);
    for (std::size_t i = 1; i < schedules.size(); ++i) {
        for (const int chunks : {1, 2, 5}) {
            CAPTURE(schedules[i].name);
            CAPTURE(ranks);
            CAPTURE(chunks);
            harness::program p = schedules[i];
            p.make = [make = p.make, chunks](harness::communicator& comm) {
                auto made = make(comm);
                made->set_chunks(chunks);
                return made;
            };
            CHECK(harness::run(p, ranks, given, 2) == first);
        }
    }
}

TEST_CASE("CUDA peers: a product overlapped with the collective after it")
{
    using mlp = pl::blocks::mlp<>;
    const std::vector<harness::program> all{erased(mlp::unscheduled, "unscheduled"), erased(mlp::overlapped, "overlapped")};
    block::check(all, 2, {2, 3, 5, 7});
    for (const int ranks : {1, 2, 3}) { check_chunks(all, ranks, {1, 17, 6, 9}); }
}

TEST_CASE("CUDA peers: a gather overlapped with the product after it")
{
    using projection = pl::blocks::sequence_projection<>;
    check_chunks({erased(projection::unscheduled, "unscheduled"), erased(projection::overlapped, "overlapped")}, 2, {2, 9, 6, 5});
}

TEST_CASE("CUDA peers: three stages across groups")
{
    using block_t = pl::blocks::pipeline<float, 2>;
    const std::vector<harness::program> all{erased(block_t::unscheduled, "AR, C, P2P"), erased(block_t::overlapped, "overlap(RS, fuse(C-P2P), AG)"),
                                            erased(block_t::fused_overlapped, "overlap(fuse(RS-C-P2P), AG)")};
    block::check(all, 2, {2, 3, 5, 7});
    check_chunks(all, 2, {2, 5, 8, 1});
}

}  // namespace
