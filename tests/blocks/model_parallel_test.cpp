// Attention's output projection and the MLP in all their schedules.
#include "block.hpp"

#include <plait/plait.hpp>

namespace {

namespace pl = plait;
using harness::erased;

template <class Block>
std::vector<harness::program> schedules()
{
    return {erased(Block::unscheduled, "unscheduled"), erased(Block::sliced, "sliced"), erased(Block::fused, "fused"),
            erased(Block::overlapped, "overlapped")};
}

TEST_CASE("row_parallel: f32, slices along H") { block::check_all(schedules<pl::blocks::row_parallel<>>(), 5); }
TEST_CASE("row_parallel: f32, slices along S") { block::check_all(schedules<pl::blocks::row_parallel<float, 1>>()); }
TEST_CASE("row_parallel: f32, slices along B") { block::check_all(schedules<pl::blocks::row_parallel<float, 0>>(), 3); }
TEST_CASE("row_parallel: f64") { block::check_all(schedules<pl::blocks::row_parallel<double>>(), 2); }
TEST_CASE("row_parallel: f16") { block::check_all(schedules<pl::blocks::row_parallel<pl::f16>>(), 3); }
TEST_CASE("row_parallel: bf16") { block::check_all(schedules<pl::blocks::row_parallel<pl::bf16, 1>>(), 3); }

TEST_CASE("mlp: f32")
{
    using mlp = pl::blocks::mlp<>;
    auto all = schedules<mlp>();
    all.push_back(erased(mlp::overlapped_whole, "overlapped whole"));
    block::check_all(all);
}
TEST_CASE("mlp: f16, slices along S")
{
    using mlp = pl::blocks::mlp<pl::f16, 1>;
    auto all = schedules<mlp>();
    all.push_back(erased(mlp::overlapped_whole, "overlapped whole"));
    block::check_all(all, 3);
}

TEST_CASE("row_parallel: a product of ones is exact")
{
    using projection = pl::blocks::row_parallel<>;
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (const harness::program& p : schedules<projection>()) {
            reference::inputs given = block::inputs(p, ranks, {2, 33, 20, 64});
            for (auto& [name, values] : given.tensors) {
                for (reference::numbers& x : values) { std::ranges::fill(x, name == "x" || name == "w" ? 1.0 : 0.0); }
            }
            given.scalars["p"] = 0;
            const harness::outcome result = harness::run(p, ranks, given);
            bool exact = true;
            for (std::size_t i = 0; i < 2 * 33 * 20; ++i) { exact = exact && result.number("y", i) == 64; }
            CAPTURE(p.name);
            CHECK(exact);
        }
    }
}

}  // namespace
