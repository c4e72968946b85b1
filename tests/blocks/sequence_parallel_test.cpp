// The sequence-parallel blocks in all their schedules.
#include "block.hpp"

#include <plait/plait.hpp>

namespace {

namespace pl = plait;
using harness::erased;

template <class T>
std::vector<harness::program> mlp_schedules()
{
    using mlp = pl::blocks::sequence_mlp<T>;
    return {erased(mlp::unscheduled, "unscheduled"), erased(mlp::fused, "fused"), erased(mlp::overlapped, "overlapped"),
            erased(mlp::overlapped_whole, "overlapped whole")};
}
template <class T>
std::vector<harness::program> projection_schedules()
{
    using projection = pl::blocks::sequence_projection<T>;
    return {erased(projection::unscheduled, "unscheduled"), erased(projection::fused, "fused"),
            erased(projection::overlapped, "overlapped")};
}

TEST_CASE("sequence_mlp: f32") { block::check_all(mlp_schedules<float>()); }
TEST_CASE("sequence_mlp: bf16") { block::check_all(mlp_schedules<pl::bf16>(), 2); }
TEST_CASE("sequence_projection: f32") { block::check_all(projection_schedules<float>()); }
TEST_CASE("sequence_projection: f16") { block::check_all(projection_schedules<pl::f16>(), 2); }

}  // namespace
