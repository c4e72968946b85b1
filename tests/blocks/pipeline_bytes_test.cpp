// What the block between pipeline groups sends, counted by the fabric.
#include "block.hpp"

#include <plait/blocks/pipeline.hpp>

namespace {

namespace pl = plait;
using harness::erased;

/// Bytes that a rank of group 0 moves in one run: with slices of H, H divisible by the ranks.
std::uint64_t bytes_of_senders(const harness::program& p, int ranks, const block::sizes& z)
{
    std::uint64_t bytes = 0;
    harness::run(p, ranks, block::inputs(p, ranks, z), 1, {}, {}, [&](pl::thread_communicator& comm) {
        if (comm.rank() == 0) { bytes = comm.wire().bytes(); }
    });
    return bytes;
}

TEST_CASE("pipeline: a sliced send carries 1/n, counted by the fabric")
{
    using block_t = pl::blocks::pipeline<float, 2>;
    for (int ranks : {1, 2, 4}) {
        const block::sizes z{2, 6, 16, 1};
        const std::uint64_t whole = 4 * 2 * 6 * 16;
        const auto n = static_cast<std::uint64_t>(ranks);
        const std::uint64_t reduce = whole * (n - 1) / n;  // an all_gather moves as much
        CAPTURE(ranks);
        CHECK(bytes_of_senders(erased(block_t::unscheduled, "AR"), ranks, z) == 2 * reduce + whole);
        CHECK(bytes_of_senders(erased(block_t::sliced, "RS"), ranks, z) == reduce + whole / n);
        CHECK(bytes_of_senders(erased(block_t::fused, "fused"), ranks, z) == reduce + whole / n);
        CHECK(bytes_of_senders(erased(block_t::overlapped, "overlapped"), ranks, z) == reduce + whole / n);
        CHECK(bytes_of_senders(erased(block_t::all_reduced, "AR on slices"), ranks, z) == 2 * reduce + whole / n);
    }
}

}  // namespace
