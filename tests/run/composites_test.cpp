// Broadcasting, activations, norms, softmax and dropout.
#include "run/check.hpp"

#include <plait/lang/program.hpp>
#include <plait/schedule/schedule.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto A = pl::dim<"A">;
constexpr auto B = pl::dim<"B">;
constexpr auto C = pl::dim<"C">;

TEST_CASE("shapes broadcast from the last dimension, also in slices")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, A, B, C);
    constexpr auto rows = pl::tensor<"rows", float>(pl::replicated, C);
    constexpr auto columns = pl::tensor<"columns", float>(pl::replicated, B, 1_c);
    constexpr auto planes = pl::tensor<"planes", float>(pl::replicated, A, 1_c, 1_c);
    constexpr auto one = pl::tensor<"one", float>(pl::replicated, 1_c);
    constexpr auto s = pl::tensor<"s", float>(pl::sliced<1>, A, B, C);
    constexpr auto prog = pl::program<"broadcast">(
        pl::update(pl::tensor<"o0", float>(pl::replicated, A, B, C), x * rows + columns),
        pl::update(pl::tensor<"o1", float>(pl::replicated, A, B, C), planes - x * one),
        pl::update(pl::tensor<"o2", float>(pl::replicated, B, C), rows / (columns * columns + 1_c)),
        pl::update(pl::tensor<"o3", float>(pl::replicated, A, B, 1_c), planes * columns),
        pl::update(pl::tensor<"o4", float>(pl::sliced<1>, A, B, C), s + x * rows - columns),
        pl::update(pl::tensor<"o5", float>(pl::sliced<1>, A, B, C), (s + planes) * one));
    const harness::program p = harness::erased(prog, "broadcast");
    for (const auto& e : {std::array{1, 1, 1}, std::array{2, 3, 5}, std::array{3, 1, 1030}, std::array{1, 1030, 2},
                          std::array{2, 0, 3}}) {
        for (int ranks : {1, 2, 3}) {
            harness::check(p, ranks, harness::random_inputs(p, ranks, {{"A", e[0]}, {"B", e[1]}, {"C", e[2]}}), 4);
        }
    }
}

template <class T>
void check_composites(const char* name, double ulps)
{
    constexpr auto x = pl::tensor<"x", T>(pl::replicated, A, B);
    constexpr auto gamma = pl::tensor<"gamma", T>(pl::replicated, B);
    constexpr auto beta = pl::tensor<"beta", T>(pl::replicated, B);
    constexpr auto prog = pl::program<"composites">(
        pl::update(pl::tensor<"o0", T>(pl::replicated, A, B), pl::relu(x)),
        pl::update(pl::tensor<"o1", T>(pl::replicated, A, B), pl::gelu(x)),
        pl::update(pl::tensor<"o2", T>(pl::replicated, A, B), pl::silu(x)),
        pl::update(pl::tensor<"o3", T>(pl::replicated, A, B), pl::softmax(x)),
        pl::update(pl::tensor<"o4", T>(pl::replicated, A, B), pl::layer_norm(x, gamma, beta, 1e-3_c)),
        pl::update(pl::tensor<"o5", T>(pl::replicated, A, B), pl::rms_norm(x, gamma, 1e-3_c)));
    const harness::program p = harness::erased(prog, name);
    for (const auto& [a, b] : {std::pair{1, 1}, std::pair{3, 7}, std::pair{2, 1500}, std::pair{0, 3}}) {
        harness::check(p, 2, harness::random_inputs(p, 2, {{"A", a}, {"B", b}}), ulps);
    }
}

TEST_CASE("activations, softmax and norms along rows")
{
    check_composites<float>("f32", 60);
    check_composites<double>("f64", 60);
    check_composites<pl::f16>("f16", 2);
    check_composites<pl::bf16>("bf16", 2);
}

TEST_CASE("softmax against its formula, not against the sum that it is made of")
{
    constexpr auto x = pl::tensor<"x", double>(pl::replicated, A, B);
    constexpr auto y = pl::tensor<"y", double>(pl::replicated, A, B);
    const harness::program p = harness::erased(pl::program<"softmax">(pl::update(y, pl::softmax(x))), "softmax");
    reference::inputs given;
    given.extents = {{"A", 2}, {"B", 3}};
    given.tensors["x"] = {{1, 2, 3, 1000, 1000, 1001}};
    given.tensors["y"] = {{0, 0, 0, 0, 0, 0}};
    const harness::outcome out = harness::run(p, 2, given);
    const double total = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(std::fabs(out.number("y", i) - std::exp(1.0 + static_cast<double>(i)) / total) < 1e-15);
    }
    CHECK(std::fabs(out.number("y", 5) - std::exp(1.0) / (2 + std::exp(1.0))) < 1e-15);
}

TEST_CASE("dropout has one mask, by the element's place in the whole tensor, in every layout")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, A, B);
    constexpr auto s0 = pl::tensor<"s0", float>(pl::sliced<0>, A, B);
    constexpr auto s1 = pl::tensor<"s1", float>(pl::sliced<1>, A, B);
    constexpr auto h = pl::tensor<"h", pl::bf16>(pl::local, A, B);
    constexpr auto p = pl::scalar<"p">;
    constexpr auto seed = pl::scalar<"seed", std::int64_t>;
    constexpr auto prog =
        pl::program<"dropout">(pl::update(pl::tensor<"o0", float>(pl::replicated, A, B), pl::dropout(x, p, seed)),
                               pl::update(pl::tensor<"o1", float>(pl::sliced<0>, A, B), pl::dropout(s0, p, seed)),
                               pl::update(pl::tensor<"o2", float>(pl::sliced<1>, A, B), pl::dropout(s1, p, seed)),
                               pl::update(pl::tensor<"o3", pl::bf16>(pl::local, A, B), pl::dropout(h, 0.25_c, 7_c)),
                               pl::update(pl::tensor<"o4", float>(pl::replicated), pl::sum(pl::dropout(x, p, seed))));
    const harness::program q = harness::erased(prog, "dropout");
    for (double probability : {0.0, 0.5, 0.125, 1.0}) {
        for (const auto& [a, b] : {std::pair{1, 1}, std::pair{5, 7}, std::pair{3, 1031}, std::pair{0, 1}}) {
            for (int ranks : {1, 2, 3}) {
                reference::inputs given = harness::random_inputs(q, ranks, {{"A", a}, {"B", b}});
                given.scalars = {{"p", probability}, {"seed", 123456789}};
                harness::check(q, ranks, given, 100);
            }
        }
    }
}

TEST_CASE("dropout after an all_reduce keeps its mask when it is moved to slices")
{
    constexpr auto g = pl::tensor<"g", float>(pl::local, A, B);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, A, B);
    constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
    constexpr auto prog = pl::program<"block">(pl::update(y, pl::dropout(sum, 0.3_c, 11_c) + y));
    constexpr auto rows = prog | pl::split<"sum"> | pl::reorder<"sum">;
    constexpr auto columns = prog | pl::split<"sum", 1> | pl::reorder<"sum"> | pl::fuse;
    const harness::program all[] = {harness::erased(prog, "whole"), harness::erased(rows, "rows"),
                                    harness::erased(columns, "columns")};
    for (int ranks : {1, 2, 4}) {
        for (const auto& [a, b] : {std::pair{4, 9}, std::pair{2, 2100}, std::pair{1, 0}}) {
            const reference::inputs given = harness::random_inputs(all[0], ranks, {{"A", a}, {"B", b}});
            const harness::outcome whole = harness::check(all[0], ranks, given, 4);
            for (const harness::program& p : all) { CHECK(harness::run(p, ranks, given) == whole); }
        }
    }
}

}  // namespace
