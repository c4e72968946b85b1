// The block between pipeline groups in all its schedules.
#include "block.hpp"

#include <plait/blocks/pipeline.hpp>

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

}  // namespace
