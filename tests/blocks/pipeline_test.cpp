// The block between pipeline groups in all its schedules, and what its send carries.
#include "block.hpp"

#include <plait/plait.hpp>

namespace {

namespace pl = plait;
using harness::erased;

template <class T, int Axis>
std::vector<harness::program> schedules()
{
    using block = pl::blocks::pipeline<T, Axis>;
    return {erased(block::unscheduled, "AR, C, P2P"),
            erased(block::sliced, "RS, C, P2P, AG"),
            erased(block::fused_send, "RS, fuse(C-P2P), AG"),
            erased(block::fused, "fuse(RS-C-P2P), AG"),
            erased(block::overlapped, "overlap(RS, fuse(C-P2P), AG)"),
            erased(block::fused_overlapped, "overlap(fuse(RS-C-P2P), AG)"),
            erased(block::all_reduced, "AR, C-P2P on slices, AG")};
}
template <class T, int Axis>
std::vector<harness::program> late_schedules()
{
    using block = pl::blocks::pipeline<T, Axis>;
    return {erased(block::late, "AR, P2P, C"), erased(block::late_sliced, "RS, P2P, C, AG"),
            erased(block::late_fused, "RS, P2P, fuse(C-AG)"), erased(block::late_overlapped, "overlap(RS, P2P, fuse(C-AG))")};
}

TEST_CASE("pipeline: f32, slices along H") { block::check_all(schedules<float, 2>(), 3); }
TEST_CASE("pipeline: f32, slices along S") { block::check_all(schedules<float, 1>(), 3); }
TEST_CASE("pipeline: f16") { block::check_all(schedules<pl::f16, 2>(), 2); }
TEST_CASE("pipeline: the receiving group finishes") { block::check_all(late_schedules<float, 2>(), 3); }
TEST_CASE("pipeline: the receiving group finishes, bf16, slices along S") { block::check_all(late_schedules<pl::bf16, 1>(), 2); }

TEST_CASE("pipeline_projection: f32")
{
    using projection = pl::blocks::pipeline_projection<>;
    block::check_all({erased(projection::unscheduled, "unscheduled"), erased(projection::fused, "fused"),
                      erased(projection::overlapped, "overlapped")},
                     3);
}

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
