// Every collective, with every operator, dtype and root that it takes.
#include "run/check.hpp"

#include <plait/lang/program.hpp>
#include <plait/schedule/schedule.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto A = pl::dim<"A">;
constexpr auto B = pl::dim<"B">;
constexpr auto N = pl::dim<"N">;

void check_vectors(const harness::program& p, double ulps)
{
    for (int ranks = 1; ranks <= 6; ++ranks) {
        for (std::int64_t n : {0, 1, ranks - 1, ranks, ranks + 1, 1023, 2049, 5000}) {
            CAPTURE(n);
            harness::check(p, ranks, harness::random_inputs(p, ranks, {{"N", n}}), ulps,
                           {.shift = static_cast<std::size_t>(n % 3)});
        }
    }
    harness::check(p, 2, harness::random_inputs(p, 2, {{"N", 100003}}), ulps);
}

template <class T>
void check_operators(const char* name, double ulps)
{
    constexpr auto g = pl::tensor<"g", T>(pl::local, N);
    constexpr auto whole =
        pl::program<"all_reduce">(pl::update(pl::tensor<"o0", T>(pl::replicated, N), pl::all_reduce(pl::sum, g)),
                                  pl::update(pl::tensor<"o1", T>(pl::replicated, N), pl::all_reduce(pl::min, g)),
                                  pl::update(pl::tensor<"o2", T>(pl::replicated, N), pl::all_reduce(pl::max, g)),
                                  pl::update(pl::tensor<"o3", T>(pl::replicated, N), pl::all_reduce(pl::product, g)),
                                  pl::update(pl::tensor<"o4", T>(pl::sliced<0>, N), pl::reduce_scatter(pl::sum, g)),
                                  pl::update(pl::tensor<"o5", T>(pl::sliced<0>, N), pl::reduce_scatter(pl::max, g)),
                                  pl::update(pl::tensor<"o6", T>(pl::local, N), pl::reduce(pl::sum, g, pl::root<0>)),
                                  pl::update(pl::tensor<"o7", T>(pl::local, N), pl::reduce(pl::min, g, pl::root<0>)));
    check_vectors(harness::erased(whole, name), ulps);
}

/// The same inside kernels: every collective has a computation next to it.
template <class T>
void check_fused(const char* name, double ulps)
{
    constexpr auto g = pl::tensor<"g", T>(pl::local, N);
    constexpr auto x = pl::tensor<"x", T>(pl::replicated, N);
    constexpr auto fused =
        pl::program<"fused">(
            pl::update(pl::tensor<"o0", T>(pl::replicated, N), pl::all_reduce(pl::sum, g) + x),
            pl::update(pl::tensor<"o1", T>(pl::replicated, N), pl::all_reduce(pl::min, g) * 2_c),
            pl::update(pl::tensor<"o2", T>(pl::replicated, N), pl::max(pl::all_reduce(pl::product, g), x)),
            pl::update(pl::tensor<"o3", T>(pl::sliced<0>, N), pl::reduce_scatter(pl::max, g) - x),
            pl::update(pl::tensor<"o4", T>(pl::local, N), pl::reduce(pl::sum, g, pl::root<0>) * 2_c),
            pl::update(pl::tensor<"o5", T>(pl::replicated, N),
                       pl::all_gather(pl::reduce_scatter(pl::sum, g) * 3_c) + x)) |
        pl::fuse;
    check_vectors(harness::erased(fused, name), ulps);
}

TEST_CASE("all_reduce, reduce_scatter and reduce with every operator")
{
    check_operators<float>("f32", 20);
    check_operators<double>("f64", 20);
    check_operators<pl::f16>("f16", 4);
    check_operators<pl::bf16>("bf16", 4);
    check_operators<std::int32_t>("i32", 0);
    check_operators<std::int64_t>("i64", 0);
}

TEST_CASE("the same fused with the computations next to them")
{
    check_fused<float>("f32", 20);
    check_fused<pl::f16>("f16", 8);
    check_fused<std::int32_t>("i32", 0);
}

TEST_CASE("low-precision sums accumulate in f32 and are rounded once")
{
    constexpr auto g = pl::tensor<"g", pl::f16>(pl::local, N);
    constexpr auto o = pl::tensor<"o", pl::f16>(pl::replicated, N);
    const harness::program p = harness::erased(pl::program<"once">(pl::update(o, pl::all_reduce(pl::sum, g))), "once");
    reference::inputs given;
    given.extents["N"] = 1;
    given.tensors["g"] = {{2048}, {1}, {1}, {1}, {1}};  // in f16, 2048 + 1 is 2048
    given.tensors["o"] = {{0}};
    CHECK(harness::run(p, 5, given).number("o", 0) == 2052);
}

TEST_CASE("all_gather, gather, broadcast, scatter and slice from and to every root")
{
    constexpr auto s = pl::tensor<"s", float>(pl::sliced<0>, N);
    constexpr auto l = pl::tensor<"l", float>(pl::local, N);
    constexpr auto r = pl::tensor<"r", float>(pl::replicated, N);
    constexpr auto moves = []<int Root>(pl::root_t<Root> root) {
        return pl::program<"moves">(pl::update(pl::tensor<"o0", float>(pl::replicated, N), pl::all_gather(s)),
                                    pl::update(pl::tensor<"o1", float>(pl::local, N), pl::gather(s, root)),
                                    pl::update(pl::tensor<"o2", float>(pl::replicated, N), pl::broadcast(l, root)),
                                    pl::update(pl::tensor<"o3", float>(pl::sliced<0>, N), pl::scatter(l, root)),
                                    pl::update(pl::tensor<"o4", float>(pl::sliced<0>, N), pl::slice(r)),
                                    pl::update(pl::tensor<"o5", float>(pl::local, N), pl::reduce(pl::sum, l, root)));
    };
    constexpr auto fused =
        pl::program<"fused moves">(
            pl::update(pl::tensor<"o0", float>(pl::replicated, N), pl::all_gather(s * 2_c) + r),
            pl::update(pl::tensor<"o1", float>(pl::local, N), pl::gather(s + pl::slice(r), pl::root<2>)),
            pl::update(pl::tensor<"o2", float>(pl::replicated, N), pl::broadcast(l, pl::root<2>) * r),
            pl::update(pl::tensor<"o3", float>(pl::sliced<0>, N), pl::scatter(l, pl::root<2>) - s)) |
        pl::fuse;
    const harness::program all[] = {harness::erased(moves(pl::root<0>), "root 0"),
                                    harness::erased(moves(pl::root<1>), "root 1"),
                                    harness::erased(moves(pl::root<2>), "root 2"), harness::erased(fused, "fused")};
    for (int ranks = 3; ranks <= 5; ++ranks) {
        for (const harness::program& p : all) {
            for (std::int64_t n : {0, 1, 4, 1025, 4099}) {
                harness::check(p, ranks, harness::random_inputs(p, ranks, {{"N", n}}), 3);
            }
        }
    }
}

TEST_CASE("two dimensions, sliced along either")
{
    constexpr auto g = pl::tensor<"g", float>(pl::local, A, B);
    constexpr auto s0 = pl::tensor<"s0", float>(pl::sliced<0>, A, B);
    constexpr auto s1 = pl::tensor<"s1", float>(pl::sliced<1>, A, B);
    constexpr auto prog = pl::program<"planes">(
        pl::update(pl::tensor<"o0", float>(pl::replicated, A, B), pl::all_reduce(pl::sum, g)),
        pl::update(pl::tensor<"o1", float>(pl::sliced<0>, A, B), pl::reduce_scatter(pl::sum, g, pl::axis<0>)),
        pl::update(pl::tensor<"o2", float>(pl::sliced<1>, A, B), pl::reduce_scatter(pl::sum, g, pl::axis<1>)),
        pl::update(pl::tensor<"o3", float>(pl::replicated, A, B), pl::all_gather(s0)),
        pl::update(pl::tensor<"o4", float>(pl::replicated, A, B), pl::all_gather(s1)),
        pl::update(pl::tensor<"o5", float>(pl::sliced<1>, A, B), pl::all_to_all(s0, pl::axis<1>)),
        pl::update(pl::tensor<"o6", float>(pl::sliced<0>, A, B), pl::all_to_all(s1, pl::axis<0>)),
        pl::update(pl::tensor<"o7", float>(pl::local, A, B), pl::gather(s1, pl::root<0>)),
        pl::update(pl::tensor<"o8", float>(pl::sliced<1>, A, B), pl::scatter(g, pl::root<0>, pl::axis<1>)),
        pl::update(pl::tensor<"o9", float>(pl::sliced<1>, A, B), s1 * pl::slice(pl::all_gather(s0), pl::axis<1>)));
    constexpr auto fused =
        pl::program<"fused planes">(
            pl::update(pl::tensor<"o0", float>(pl::replicated, A, B), pl::all_gather(s1 * 2_c)),
            pl::update(pl::tensor<"o1", float>(pl::sliced<1>, A, B), pl::reduce_scatter(pl::sum, g, pl::axis<1>) + s1),
            pl::update(pl::tensor<"o2", float>(pl::local, A, B), pl::gather(-s1, pl::root<0>)),
            pl::update(pl::tensor<"o3", float>(pl::sliced<0>, A, B), pl::scatter(g, pl::root<0>) * s0)) |
        pl::fuse;
    for (const harness::program& p : {harness::erased(prog, "planes"), harness::erased(fused, "fused planes")}) {
        for (int ranks : {1, 2, 3, 5}) {
            for (const auto& [a, b] : {std::pair{1, 1}, std::pair{3, 4}, std::pair{7, 1030}, std::pair{1031, 3},
                                       std::pair{0, 5}, std::pair{5, 0}, std::pair{2, 1}}) {
                harness::check(p, ranks, harness::random_inputs(p, ranks, {{"A", a}, {"B", b}}), 3);
            }
        }
    }
}

TEST_CASE("split collectives give what the whole ones do")
{
    constexpr auto g = pl::tensor<"g", float>(pl::local, A, B);
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, B);
    constexpr auto sum = pl::label<"sum">(pl::reduce(pl::sum, g, pl::root<1>));
    constexpr auto all = pl::label<"all">(pl::broadcast(g, pl::root<1>));
    constexpr auto prog =
        pl::program<"split">(pl::update(pl::tensor<"o0", float>(pl::local, A, B), sum),
                             pl::update(pl::tensor<"o1", float>(pl::replicated, A, B), all * w + 1_c));
    constexpr auto rows = prog | pl::split<"sum"> | pl::split<"all">;
    constexpr auto columns = prog | pl::split<"sum", 1> | pl::split<"all", 1> | pl::reorder<"all"> | pl::fuse;
    for (int ranks : {2, 3, 4}) {
        for (const auto& [a, b] : {std::pair{1, 1}, std::pair{3, 5}, std::pair{2, 2050}, std::pair{0, 2}}) {
            const auto given = [&](const harness::program& p) {
                return harness::random_inputs(p, ranks, {{"A", a}, {"B", b}});
            };
            const harness::program first = harness::erased(prog, "whole");
            const harness::outcome expected = harness::check(first, ranks, given(first), 3);
            for (const harness::program& p : {harness::erased(rows, "rows"), harness::erased(columns, "columns")}) {
                harness::check(p, ranks, given(p), 3);
                CHECK(harness::run(p, ranks, given(p)).written == expected.written);
            }
        }
    }
}

}  // namespace
