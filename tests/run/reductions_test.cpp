// Reductions along dimensions, over whole tensors and per tensor, of whole and sliced values.
#include "run/check.hpp"

#include <plait/lang/program.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto A = pl::dim<"A">;
constexpr auto B = pl::dim<"B">;
constexpr auto C = pl::dim<"C">;
constexpr auto M = pl::dim<"M">;
constexpr auto N = pl::dim<"N">;

/// Extents with 0, 1, primes, and more than a tile.
const std::map<std::string, std::int64_t> shapes[] = {
    {{"A", 1}, {"B", 1}, {"C", 1}},    {{"A", 3}, {"B", 5}, {"C", 7}},   {{"A", 2}, {"B", 3}, {"C", 1100}},
    {{"A", 2}, {"B", 2053}, {"C", 2}}, {{"A", 67}, {"B", 1}, {"C", 16}}, {{"A", 0}, {"B", 3}, {"C", 4}}};

void check_shapes(const harness::program& p, double ulps)
{
    for (const auto& extents : shapes) {
        for (int ranks : {1, 2, 5}) {
            CAPTURE(extents.at("A"));
            CAPTURE(extents.at("B"));
            CAPTURE(extents.at("C"));
            harness::check(p, ranks, harness::random_inputs(p, ranks, extents), ulps,
                           {.shift = extents.at("C") % 2 == 0 ? 0U : 1U});
        }
    }
}

template <class T>
void check_axes(const char* name, double ulps)
{
    constexpr auto x = pl::tensor<"x", T>(pl::replicated, A, B, C);
    constexpr auto r = pl::replicated;
    constexpr auto prog = pl::program<"axes">(
        pl::update(pl::tensor<"o0", T>(r, B, C), pl::sum(x, pl::axis<0>)),
        pl::update(pl::tensor<"o1", T>(r, A, C), pl::sum(x, pl::axis<1>)),
        pl::update(pl::tensor<"o2", T>(r, A, B), pl::sum(x, pl::axis<2>)),
        pl::update(pl::tensor<"o3", T>(r, A, B), pl::max(x, pl::axis<-1>)),
        pl::update(pl::tensor<"o4", T>(r, A, C), pl::min(x, pl::axis<1>)),
        pl::update(pl::tensor<"o5", T>(r, A, 1_c, C), pl::max(x, pl::axis<1>, pl::keep_dims)),
        pl::update(pl::tensor<"o6", T>(r, A, B, C), x - pl::max(x, pl::axis<2>, pl::keep_dims)),
        pl::update(pl::tensor<"o7", T>(r), pl::sum(x)), pl::update(pl::tensor<"o8", T>(r), pl::max(x)),
        pl::update(pl::tensor<"o9", T>(r), pl::min(x)));
    check_shapes(harness::erased(prog, name), ulps);
}

TEST_CASE("sums, minima and maxima along every axis and over the whole")
{
    check_axes<float>("f32", 20);
    check_axes<double>("f64", 200);
    check_axes<pl::f16>("f16", 16);  // the parts of a sum are f16, too
    check_axes<std::int32_t>("i32", 0);
}

TEST_CASE("means and products")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, A, B, C);
    constexpr auto r = pl::replicated;
    constexpr auto prog =
        pl::program<"means">(pl::update(pl::tensor<"o0", float>(r, B, C), pl::mean(x, pl::axis<0>)),
                             pl::update(pl::tensor<"o1", float>(r, A, 1_c, C), pl::mean(x, pl::axis<1>, pl::keep_dims)),
                             pl::update(pl::tensor<"o2", float>(r, A, B), pl::mean(x, pl::axis<2>)),
                             pl::update(pl::tensor<"o3", float>(r), pl::mean(x)));
    const harness::program p = harness::erased(prog, "means");
    for (std::size_t s = 0; s + 1 < std::size(shapes); ++s) {
        harness::check(p, 3, harness::random_inputs(p, 3, shapes[s]), 100);
    }
    constexpr auto products =
        pl::program<"products">(pl::update(pl::tensor<"o0", float>(r, A, B), pl::product(x, pl::axis<2>)),
                                pl::update(pl::tensor<"o1", float>(r), pl::product(x)));
    const harness::program q = harness::erased(products, "products");
    harness::check(q, 2, harness::random_inputs(q, 2, {{"A", 2}, {"B", 3}, {"C", 5}}), 200);
}

TEST_CASE("reductions of slices are parts that all_reduce completes")
{
    constexpr auto x = pl::tensor<"x", float>(pl::sliced<1>, A, B, C);
    constexpr auto r = pl::replicated;
    constexpr auto prog = pl::program<"slices">(
        pl::update(pl::tensor<"o0", float>(r, A, C), pl::all_reduce(pl::sum, pl::sum(x, pl::axis<1>))),
        pl::update(pl::tensor<"o1", float>(r), pl::all_reduce(pl::max, pl::max(x))),
        pl::update(pl::tensor<"o2", float>(pl::sliced<0>, B, C), pl::sum(x, pl::axis<0>)),
        pl::update(pl::tensor<"o3", float>(pl::sliced<1>, A, B), pl::min(x, pl::axis<2>)),
        pl::update(pl::tensor<"o4", float>(r), pl::norm(x)),
        pl::update(pl::tensor<"part", float>(pl::local, A, C), pl::sum(x, pl::axis<1>)));
    check_shapes(harness::erased(prog, "slices"), 20);
}

/// A program of vectors [N], whole and in tensors, next to each other and scattered.
void check_tensors(const harness::program& p, double ulps = 20)
{
    for (const reference::shape& counts :
         {reference::shape{1}, reference::shape{3, 1, 2000, 1, 64}, reference::shape{1, 1, 1}}) {
        std::int64_t n = 0;
        for (std::int64_t c : counts) { n += c; }
        for (int ranks : {1, 2, 4}) {
            reference::inputs given = harness::random_inputs(p, ranks, {{"N", n}});
            harness::check(p, ranks, given, ulps);  // without counts: one tensor
            given.counts["N"] = counts;
            const harness::outcome together = harness::check(p, ranks, given, ulps, {.partitioned = {"N"}});
            CHECK(harness::check(p, ranks, given, ulps, {.shift = 1, .scattered = true}) == together);
        }
    }
}

TEST_CASE("reductions per tensor, used again per element")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
    constexpr auto s = pl::sum(x, pl::per_tensor);
    constexpr auto prog = pl::program<"tensors">(
        pl::update(y, x * s), pl::update(pl::tensor<"z", float>(pl::replicated, N), pl::max(y, pl::per_tensor) - x),
        pl::update(pl::tensor<"w", float>(pl::replicated, N), x / pl::norm(x, pl::per_tensor)));
    const harness::program p = harness::erased(prog, "tensors");
    check_tensors(p);
}

TEST_CASE("a reduction along the only dimension takes scattered tensors and values per tensor, as one over everything does")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
    constexpr auto o = pl::tensor<"o", float>(pl::replicated);
    constexpr auto kept = pl::tensor<"kept", float>(pl::replicated, 1_c);
    constexpr auto whole = pl::program<"whole">(pl::update(o, pl::sum(x * x, pl::axis<-1>)), pl::update(kept, pl::max(x, pl::axis<0>, pl::keep_dims)));
    check_tensors(harness::erased(whole, "whole"), 100);
    constexpr auto size = pl::norm(pl::slice(y), pl::per_tensor) + 1_c;
    constexpr auto normed = pl::program<"normed">(pl::update(o, pl::sum(x / size, pl::axis<0>)));
    check_tensors(harness::erased(normed, "normed"), 100);
    check_tensors(harness::erased(normed | pl::fuse, "normed, fused"), 100);
    constexpr auto parts = pl::program<"parts">(pl::update(o, pl::all_reduce(pl::sum, pl::sum(pl::slice(x) / size, pl::axis<0>))));
    check_tensors(harness::erased(parts, "parts"), 100);
    check_tensors(harness::erased(parts | pl::fuse, "parts, fused"), 100);
}

TEST_CASE("a reduction along an axis is stored in every tensor that takes it")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, N, M);
    constexpr auto columns = pl::sum(x, pl::axis<0>);
    constexpr auto one = pl::tensor<"one", float>(pl::replicated, M);
    constexpr auto two = pl::tensor<"two", float>(pl::replicated, M);
    const harness::program p = harness::erased(pl::program<"twice">(pl::update(one, columns), pl::update(two, columns)), "twice");
    for (int ranks : {1, 2}) { harness::check(p, ranks, harness::random_inputs(p, ranks, {{"N", 5}, {"M", 7}}), 8); }
}

TEST_CASE("a mask is drawn for each element of what is dropped, however it is broadcast")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, N, M);
    constexpr auto rows = pl::tensor<"rows", float>(pl::replicated, N, 1_c);
    constexpr auto one = pl::tensor<"one", float>(pl::replicated);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, N, M);
    constexpr auto z = pl::tensor<"z", float>(pl::replicated, N, M);
    const harness::program p = harness::erased(pl::program<"paths">(pl::update(y, x * pl::dropout(rows, 0.5_c, 3_c)),
                                                                    pl::update(z, x + pl::dropout(one, 0.5_c, 4_c))), "paths");
    for (std::int64_t m : {8, 5}) { harness::check(p, 2, harness::random_inputs(p, 2, {{"N", 12}, {"M", m}}), 8); }
}

TEST_CASE("a long sum of f32 is as exact as a short one")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
    constexpr auto prog = pl::program<"long">(pl::update(pl::tensor<"total", float>(pl::replicated), pl::sum(x)));
    const harness::program p = harness::erased(prog, "long sum");
    reference::inputs given;
    given.extents["N"] = 1 << 20;
    given.tensors["x"] = {reference::numbers(1 << 20, static_cast<double>(0.1F))};
    given.tensors["total"] = {{0}};
    const double exact = (1 << 20) * static_cast<double>(0.1F);
    CHECK(std::fabs(harness::run(p, 2, given).number("total", 0) - exact) < 1e-6 * exact);
}

}  // namespace
