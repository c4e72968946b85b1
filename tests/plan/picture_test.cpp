// Pictures of programs: in the DOT language, and as SVG.
#include "run/json.hpp"

#include <plait/blocks/model_parallel.hpp>
#include <plait/optim/lamb.hpp>
#include <plait/plan/dot.hpp>
#include <plait/plan/graph_svg.hpp>
#include <plait/schedule/schedule.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto g = pl::tensor<"g", pl::f16>(pl::local, N);
constexpr auto lr = pl::scalar<"lr">;
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, pl::cast<float>(g)));
constexpr auto step = pl::program<"step">(pl::update(p, p - lr * (1_c / pl::world_size) * sum));

std::size_t count(std::string_view text, std::string_view what)
{
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) { ++n; }
    return n;
}
bool has(std::string_view text, std::string_view what) { return text.find(what) != std::string_view::npos; }

TEST_CASE("to_dot: a frame for each pass, scalars as words, types where they change")
{
    const std::string dot = pl::to_dot(step);
    CAPTURE(dot);
    CHECK(dot.starts_with("digraph \"step\" {"));
    CHECK(has(dot, "label=<g<br/><font point-size=\"9\" color=\"#59636e\">f16 [N] local</font>>"));
    CHECK(has(dot, "subgraph cluster_0 {\n    label=\"0: cast\""));
    CHECK(has(dot, "subgraph cluster_1 {\n    label=\"1: all_reduce sum\""));
    CHECK(has(dot, "subgraph cluster_2 {\n    label=\"2: update p\""));
    CHECK(has(dot, "label=<(lr * (1 / ranks)) *>];"));  // replicated f32 [N], as the sum is
    CHECK(has(dot, "label=<all_reduce sum &#39;sum&#39;<br/>"));
    CHECK(count(dot, "label=<new p>") == 1);
    CHECK(count(dot, " -> ") == 6);
    CHECK(count(dot, "{") == count(dot, "}"));

    const std::string fused = pl::to_dot(step | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse);
    CHECK(has(fused, "(one kernel)"));
    CHECK(has(pl::to_dot(pl::blocks::row_parallel<>::overlapped), "matmul mm (in chunks)"));
}

TEST_CASE("graph_svg: well-formed, with every operation, in every schedule")
{
    using lamb = pl::optim::lamb<pl::f16, pl::bf16, pl::optim::options{.scale = true, .clip = true}>;
    using block = pl::blocks::mlp<>;
    const std::string svgs[] = {pl::graph_svg(step), pl::graph_svg(lamb::unscheduled), pl::graph_svg(lamb::fused),
                                pl::graph_svg(block::unscheduled), pl::graph_svg(block::overlapped)};
    for (const std::string& svg : svgs) {
        CHECK(checked::is_markup(svg));
        CHECK(!has(svg, "nan"));
        CHECK(!has(svg, "inf"));
    }
    CHECK(count(svgs[0], "<path") == 6);
    CHECK(count(svgs[0], "class=\"head\"") == 3);
    CHECK(has(svgs[0], ">f16 [N] local<"));
    CHECK(count(svgs[3], "class=\"contraction\"") == 2);
    CHECK(has(svgs[4], "(one kernel) (in chunks)"));
}

TEST_CASE("graph_svg: boxes of a row lie apart, and each below what it is computed from")
{
    const pl::detail::picture picture = pl::detail::picture_of(pl::optim::lamb<>::sliced);
    const pl::detail::graph_layout l(picture);
    for (const auto& row : l.rows) {
        for (std::size_t i = 1; i < row.spots.size(); ++i) {
            const auto &a = l.spots[row.spots[i - 1]], &b = l.spots[row.spots[i]];
            CHECK(a.x + a.width / 2 <= b.x - b.width / 2);
        }
    }
    CHECK(l.lines.size() == picture.lines.size());
    for (const auto& line : l.lines) {
        for (std::size_t i = 1; i < line.size(); ++i) { CHECK(l.spots[line[i]].row == l.spots[line[i - 1]].row + 1); }
    }
    int stage = 0;
    for (const auto& row : l.rows) {
        CHECK(row.stage >= stage);
        stage = row.stage;
    }
    for (const auto& s : l.spots) {
        CHECK(s.x - s.width / 2 >= 0);
        CHECK(s.x + s.width / 2 <= l.width);
    }
}

TEST_CASE("graph_svg: a program that only copies")
{
    constexpr auto q = pl::tensor<"q", float>(pl::replicated, N);
    const std::string svg = pl::graph_svg(pl::program<"copy">(pl::update(p, q)));
    CHECK(checked::is_markup(svg));
    CHECK(has(svg, ">new p<"));
}

}  // namespace
