// What passes are called.
#include <plait/blocks/pipeline.hpp>
#include <plait/optim/lamb.hpp>
#include <plait/plan/stage_name.hpp>
#include <plait/schedule/schedule.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

namespace pl = plait;
using namespace pl::literals;

/// "kind: name", a pass a line.
template <class Program>
std::string stages(Program)
{
    const pl::program_image image = pl::image_of<pl::lowered<Program>>();
    std::string text;
    for (std::size_t p = 0; p < image.plan.passes.size(); ++p) {
        text += std::string{name_of(kind_of_stage(image.plan.passes[p]))} + ": " + stage_name(image, p) + "\n";
    }
    return text;
}

TEST_CASE("stage_name: an optimizer by its collectives and by what it updates")
{
    using adam = pl::optim::adam<>;
    CHECK(stages(adam::unscheduled) == "communication: all_reduce gradient\n"
                                       "compute: update m, v, p\n");
    CHECK(stages(adam::sliced) == "communication: reduce_scatter gradient\n"
                                  "compute: update m, v\n"
                                  "communication: all_gather p\n");
    CHECK(stages(adam::fused) == "fused: reduce_scatter gradient + update m, v + all_gather p\n");
}

TEST_CASE("stage_name: reductions, and the collectives of them")
{
    using lamb = pl::optim::lamb<>;
    CHECK(stages(lamb::fused) == "fused: reduce_scatter gradient + sum per tensor + update m, v\n"
                                 "fused: all_reduce sum per tensor + 10 operations + all_gather p\n");
}

TEST_CASE("stage_name: contractions by their labels or operands, computations by their operations")
{
    using mlp = pl::blocks::mlp<>;
    CHECK(stages(mlp::overlapped) == "compute: matmul mm1\n"
                                     "compute: add, mul, erf\n"
                                     "compute: matmul mm\n"
                                     "fused: reduce_scatter sum + add, dropout + all_gather y\n");
    constexpr auto M = pl::dim<"M">;
    constexpr auto a = pl::tensor<"a", float>(pl::replicated, M, M);
    constexpr auto b = pl::tensor<"b", float>(pl::replicated, M, M);
    constexpr auto c = pl::tensor<"c", float>(pl::replicated, M, M);
    CHECK(stages(pl::program<"p">(pl::update(c, pl::matmul(a, b)))) == "compute: matmul a, b\n");
    CHECK(stages(pl::program<"p">(pl::update(c, a))) == "compute: copy c\n");
    CHECK(stages(pl::program<"p">(pl::update(c, pl::softmax(a)))).find("max over M") != std::string::npos);
}

TEST_CASE("stage_name: rooted collectives, all_to_all and sends")
{
    constexpr auto M = pl::dim<"M">;
    constexpr auto a = pl::tensor<"a", float>(pl::local, M);
    constexpr auto c = pl::tensor<"c", float>(pl::local, M);
    CHECK(stages(pl::program<"p">(pl::update(c, pl::label<"sum">(pl::reduce(pl::sum, a, pl::root<0>))))) == "communication: reduce sum\n");
    CHECK(stages(pl::program<"p">(pl::update(c, pl::broadcast(a, pl::root<0>)))) == "communication: broadcast a\n");
    constexpr auto rows = pl::tensor<"rows", float>(pl::sliced<0>, M, M);
    constexpr auto columns = pl::tensor<"columns", float>(pl::sliced<1>, M, M);
    CHECK(stages(pl::program<"p">(pl::update(columns, pl::all_to_all(rows, pl::axis<1>)))) == "communication: all_to_all rows\n");
    constexpr auto d = pl::tensor<"d", float>(pl::local, pl::group<1>, M);
    CHECK(stages(pl::program<"p">(pl::update(d, pl::send(a, pl::next_group)))) == "communication: send d\n");
}

}  // namespace
