// The ready blocks in all their schedules, on ranks that are processes: the checks of tests/blocks.
#include "blocks/block.hpp"

#include <plait/plait.hpp>

namespace {

namespace pl = plait;
using harness::erased;

/// Checks schedules on all processes, divided into their groups; says nothing where they cannot be.
void check(const std::vector<harness::program>& schedules)
{
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int groups = schedules[0].groups;
    CHECK(groups > 0);
    if (size % groups != 0) { return; }
    for (const block::sizes& z : {block::sizes{2, 3, 5, 7}, {2, 0, 3, 4}, {3, 17, 6, 33}, {1, 97, 64, 16}}) {
        block::check(schedules, size / groups, z);
    }
}

TEST_CASE("processes: row_parallel")
{
    using projection = pl::blocks::row_parallel<>;
    check({erased(projection::unscheduled, "unscheduled"), erased(projection::sliced, "sliced"),
           erased(projection::fused, "fused"), erased(projection::overlapped, "overlapped")});
    using rows = pl::blocks::row_parallel<pl::f16, 1>;
    check({erased(rows::unscheduled, "unscheduled"), erased(rows::fused, "fused"), erased(rows::overlapped, "overlapped")});
}

TEST_CASE("processes: mlp")
{
    using mlp = pl::blocks::mlp<>;
    check({erased(mlp::unscheduled, "unscheduled"), erased(mlp::fused, "fused"), erased(mlp::overlapped, "overlapped"),
           erased(mlp::overlapped_whole, "overlapped whole")});
}

TEST_CASE("processes: sequence-parallel")
{
    using mlp = pl::blocks::sequence_mlp<>;
    check({erased(mlp::unscheduled, "unscheduled"), erased(mlp::fused, "fused"), erased(mlp::overlapped, "overlapped"),
           erased(mlp::overlapped_whole, "overlapped whole")});
    using projection = pl::blocks::sequence_projection<pl::bf16>;
    check({erased(projection::unscheduled, "unscheduled"), erased(projection::fused, "fused"),
           erased(projection::overlapped, "overlapped")});
}

TEST_CASE("processes: pipeline")
{
    using block = pl::blocks::pipeline<>;
    check({erased(block::unscheduled, "AR, C, P2P"), erased(block::sliced, "RS, C, P2P, AG"),
           erased(block::fused_send, "RS, fuse(C-P2P), AG"), erased(block::fused, "fuse(RS-C-P2P), AG"),
           erased(block::overlapped, "overlap(RS, fuse(C-P2P), AG)"),
           erased(block::fused_overlapped, "overlap(fuse(RS-C-P2P), AG)")});
    check({erased(block::late, "AR, P2P, C"), erased(block::late_sliced, "RS, P2P, C, AG"),
           erased(block::late_overlapped, "overlap(RS, P2P, fuse(C-AG))")});
    using projection = pl::blocks::pipeline_projection<>;
    check({erased(projection::unscheduled, "unscheduled"), erased(projection::overlapped, "overlapped")});
}

TEST_CASE("processes: an all_gather goes to one rank of each other host")
{
    constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, pl::blocks::B, pl::blocks::S);
    constexpr auto all = pl::tensor<"all", float>(pl::replicated, pl::blocks::B, pl::blocks::S);
    const harness::program p = erased(pl::program<"gather">(pl::update(all, pl::all_gather(part))), "gather");
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::uint64_t sent = 0;
    std::uint64_t expected = 0;
    const reference::inputs given = harness::random_inputs(p, size, {{"B", 2 * size}, {"S", 5}});
    const harness::outcome result = harness::run(p, size, given, 1, {}, {}, [&](harness::communicator& comm) {
        sent = comm.bytes_sent();
        int others = 0;  // hosts
        for (int r = 0; r < size; ++r) {
            const bool first = r == 0 || !support::hosts_of_two || r % 2 == 0;
            others += !comm.shares(r) && first ? 1 : 0;
        }
        expected = static_cast<std::uint64_t>(others) * 2 * 5 * sizeof(float);
    });
    CHECK(sent == expected);
    CHECK(harness::largest_error(result, harness::expected(p, size, given)) == 0);
}

TEST_CASE("processes: a sliced send carries 1/n, counted by the messages")
{
    using block_t = pl::blocks::pipeline<float, 2>;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int ranks = size / 2;
    const block::sizes z{2, 6, 24, 1};
    std::uint64_t whole = 0;
    std::uint64_t sliced = 0;
    bool alone = true;
    if (size % 2 == 0) {
        const auto sent = [&](const harness::program& p) {
            std::uint64_t bytes = 0;
            harness::run(p, ranks, block::inputs(p, ranks, z), 1, {}, {}, [&](harness::communicator& comm) {
                bytes = comm.rank() == 0 ? comm.bytes_sent() : 0;
                for (int r = 1; r < size; ++r) { alone = alone && !comm.shares(r); }
            });
            return bytes;
        };
        constexpr auto send_whole = pl::program<"send">(pl::update(block_t::out, pl::send(pl::tensor<"r", float>(pl::replicated, pl::blocks::B, pl::blocks::S, pl::blocks::H), pl::next_group)));
        constexpr auto send_slice = pl::program<"send">(pl::update(pl::tensor<"o", float>(pl::sliced<2>, pl::group<1>, pl::blocks::B, pl::blocks::S, pl::blocks::H), pl::send(pl::tensor<"r", float>(pl::sliced<2>, pl::blocks::B, pl::blocks::S, pl::blocks::H), pl::next_group)));
        whole = sent(erased(send_whole, "whole"));
        sliced = sent(erased(send_slice, "sliced"));
    }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (alone && rank == 0 && size % 2 == 0) {
        CHECK(whole == 4 * 2 * 6 * 24);
        CHECK(sliced == whole / static_cast<std::uint64_t>(ranks));
    } else {
        CHECK(whole <= 4 * 2 * 6 * 24);
    }
}

}  // namespace
