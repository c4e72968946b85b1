// Odd programs: values that cross, copies, constants, many dimensions, collectives in chains.
#include "run/check.hpp"

#include <plait/lang/program.hpp>
#include <plait/schedule/schedule.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;

template <pl::fixed_string Name>
constexpr auto whole = pl::tensor<Name, float>(pl::replicated, N);
constexpr auto x = whole<"x">;
constexpr auto y = whole<"y">;
constexpr auto z = whole<"z">;
constexpr auto g = pl::tensor<"g", float>(pl::local, N);

void check_sizes(const harness::program& p, double ulps = 10)
{
    for (int ranks : {1, 2, 3, 8}) {
        for (std::int64_t n : {0, 1, 7, 1025, 3000}) {
            CAPTURE(n);
            harness::check(p, ranks, harness::random_inputs(p, ranks, {{"N", n}}), ulps, {.shift = static_cast<std::size_t>(n % 2)});
        }
    }
}

TEST_CASE("an update reads old values, also of tensors that are updated beside it")
{
    check_sizes(harness::erased(pl::program<"swap">(pl::update(x, y), pl::update(y, x)), "swap"));
    check_sizes(harness::erased(pl::program<"rotate">(pl::update(x, y + 1_c), pl::update(y, z * 2_c), pl::update(z, x)), "rotate"));
    check_sizes(harness::erased(pl::program<"late">(pl::update(x, x * 2_c), pl::update(y, x + pl::sum(x)), pl::update(z, x)), "late"));
    constexpr auto x1 = pl::update(x, x + 1_c);
    check_sizes(harness::erased(pl::program<"both">(x1, pl::update(y, x1 * x), pl::update(z, x1 - pl::max(x))), "both"));
}

TEST_CASE("what an update stores, other tensors take: also a number, which has no dimensions")
{
    constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N);
    constexpr auto three = pl::update(part, 3_c);
    constexpr auto gathered = pl::program<"gathered">(three, pl::update(x, pl::all_gather(three)));
    check_sizes(harness::erased(gathered, "gathered"));
    check_sizes(harness::erased(gathered | pl::as_slice<"x">, "gathered, as slice"));
    constexpr auto same = pl::update(y, 3_c);
    check_sizes(harness::erased(pl::program<"twice">(same, pl::update(x, same), pl::update(z, same + 1_c)), "twice"));
    check_sizes(harness::erased(pl::program<"old">(same, pl::update(x, same), pl::update(z, x + y)), "old values"));
}

TEST_CASE("all_to_all of a slice of what lies whole in memory")
{
    constexpr auto M = pl::dim<"M">;
    constexpr auto a = pl::tensor<"a", float>(pl::replicated, M, N);
    constexpr auto b = pl::tensor<"b", float>(pl::replicated, M, N);
    constexpr auto own = pl::tensor<"own", float>(pl::local, M, N);
    constexpr auto columns = pl::tensor<"columns", float>(pl::sliced<1>, M, N);
    constexpr auto rows = pl::tensor<"rows", float>(pl::sliced<0>, M, N);
    constexpr auto v = pl::exp(a) + 1_c;
    constexpr auto part = pl::slice(v, pl::axis<0>);
    constexpr auto total = pl::all_reduce(pl::sum, own);
    const harness::program all[] = {
        harness::erased(pl::program<"tensor">(pl::update(columns, pl::all_to_all(pl::slice(a, pl::axis<0>), pl::axis<1>))), "tensor"),
        harness::erased(pl::program<"computed">(pl::update(b, v), pl::update(columns, pl::all_to_all(part, pl::axis<1>)), pl::update(rows, part)), "computed"),
        harness::erased(pl::program<"summed">(pl::update(b, total), pl::update(columns, pl::all_to_all(pl::slice(total, pl::axis<0>), pl::axis<1>) * 2_c)), "summed"),
        harness::erased(pl::program<"reduced">(pl::update(b, a + pl::sum(v, pl::axis<0>)),
                                               pl::update(columns, pl::all_to_all(pl::slice(a + pl::sum(v, pl::axis<0>), pl::axis<0>), pl::axis<1>))), "reduced")};
    for (const harness::program& p : all) {
        for (int ranks : {1, 2, 3, 5}) {
            for (std::int64_t m : {1, 4, 7}) { harness::check(p, ranks, harness::random_inputs(p, ranks, {{"M", m}, {"N", 5}}), 40); }
        }
    }
}

TEST_CASE("runs of more elements than are computed at a time")
{
    constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N);
    constexpr auto h = pl::tensor<"h", pl::f16>(pl::replicated, N);
    constexpr auto own = pl::tensor<"own", float>(pl::local, N);
    constexpr auto mean = pl::label<"mean">(pl::all_reduce(pl::sum, g) / pl::world_size);
    constexpr auto step = pl::update(part, part * 0.5_c + pl::slice(mean));
    constexpr auto whole = pl::all_gather(step - pl::slice(y));
    constexpr auto prog = pl::program<"long">(step, pl::update(x, whole), pl::update(h, pl::cast<pl::f16>(whole)));
    constexpr auto reduced = pl::program<"reduced">(pl::update(x, mean + y), pl::update(own, pl::reduce(pl::sum, g, pl::root<1>)));
    for (const harness::program& p : {harness::erased(prog, "long"), harness::erased(prog | pl::split<"mean"> | pl::reorder<"mean"> | pl::fuse, "long, fused"),
                                      harness::erased(reduced, "reduced"), harness::erased(reduced | pl::fuse, "reduced, fused")}) {
        for (int ranks : {2, 3}) {
            for (std::int64_t n : {8191, 16384, 16385, 59999}) {
                harness::check(p, ranks, harness::random_inputs(p, ranks, {{"N", n}}), 4, {.shift = static_cast<std::size_t>(n % 3)});
            }
        }
    }
}

TEST_CASE("copies, constants and values that several tensors take")
{
    constexpr auto v = x * y;
    check_sizes(harness::erased(pl::program<"copies">(pl::update(y, x), pl::update(z, 3_c)), "copies"));
    check_sizes(harness::erased(pl::program<"twice">(pl::update(x, v), pl::update(y, v), pl::update(z, v)), "twice"));
    check_sizes(harness::erased(pl::program<"world">(pl::update(x, pl::world_size), pl::update(y, pl::all_reduce(pl::sum, g))), "world"));
    constexpr auto gathered = pl::all_gather(pl::slice(x));
    check_sizes(harness::erased(pl::program<"back">(pl::update(y, gathered), pl::update(z, gathered + y)), "back"));
}

TEST_CASE("a tensor in slices takes its slice of what is computed whole")
{
    constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N);
    constexpr auto v = x * 2_c;
    constexpr auto total = pl::all_reduce(pl::sum, g);
    check_sizes(harness::erased(pl::program<"alone">(pl::update(part, pl::slice(v))), "alone"));
    check_sizes(harness::erased(pl::program<"beside">(pl::update(part, pl::slice(v)), pl::update(x, v), pl::update(y, v)), "beside"));
    check_sizes(harness::erased(pl::program<"summed">(pl::update(part, pl::slice(total)), pl::update(y, total)), "summed"));
    constexpr auto kept = pl::update(part, pl::slice(v));
    check_sizes(harness::erased(pl::program<"read">(kept, pl::update(y, pl::all_gather(kept * 3_c))) | pl::fuse, "read"));
}

TEST_CASE("chains of collectives")
{
    constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N);
    constexpr auto own = pl::tensor<"own", float>(pl::local, N);
    constexpr auto twice = pl::all_reduce(pl::max, pl::all_reduce(pl::sum, g) * g);
    check_sizes(harness::erased(pl::program<"twice">(pl::update(x, twice)), "twice"));
    constexpr auto around = pl::broadcast(pl::reduce(pl::sum, g, pl::root<0>), pl::root<0>);
    check_sizes(harness::erased(pl::program<"around">(pl::update(x, around + x)), "around"));
    check_sizes(harness::erased(pl::program<"around">(pl::update(x, around + x)) | pl::fuse, "around, fused"));
    constexpr auto moved = pl::reduce_scatter(pl::sum, pl::gather(part * 2_c, pl::root<0>) + g);
    check_sizes(harness::erased(pl::program<"moved">(pl::update(part, moved), pl::update(own, pl::gather(part, pl::root<0>))), "moved"));
    constexpr auto small = pl::all_reduce(pl::sum, pl::sum(g * g));
    check_sizes(harness::erased(pl::program<"small">(pl::update(x, x / (1_c + pl::sqrt(small)))), "small"), 100);
}

TEST_CASE("five dimensions, sliced along each")
{
    constexpr auto A = pl::dim<"A">;
    const auto check = []<int D>(std::integral_constant<int, D>) {
        constexpr auto s = pl::tensor<"s", float>(pl::sliced<D>, A, 2_c, N, 1_c, 3_c);
        constexpr auto w = pl::tensor<"w", float>(pl::replicated, A, 2_c, N, 1_c, 3_c);
        constexpr auto prog = pl::program<"five">(pl::update(w, pl::all_gather(s * 2_c + w)), pl::update(s, s - pl::slice(w, pl::axis<D>)));
        for (const harness::program& p : {harness::erased(prog, "five"), harness::erased(prog | pl::fuse, "five, fused")}) {
            for (int ranks : {1, 2, 4}) { harness::check(p, ranks, harness::random_inputs(p, ranks, {{"A", 3}, {"N", 5}}), 4); }
        }
    };
    check(std::integral_constant<int, 0>{});
    check(std::integral_constant<int, 1>{});
    check(std::integral_constant<int, 2>{});
    check(std::integral_constant<int, 3>{});
    check(std::integral_constant<int, 4>{});
}

TEST_CASE("reductions of nothing: sums are zero, means NaN, extremes the farthest number")
{
    constexpr auto prog = pl::program<"nothing">(
        pl::update(pl::tensor<"sum", float>(pl::replicated), pl::sum(x)), pl::update(pl::tensor<"mean", float>(pl::replicated), pl::mean(x)),
        pl::update(pl::tensor<"low", float>(pl::replicated), pl::min(x)), pl::update(pl::tensor<"high", float>(pl::replicated), pl::max(x)),
        pl::update(pl::tensor<"product", float>(pl::replicated), pl::product(x)));
    const harness::program p = harness::erased(prog, "nothing");
    const harness::outcome out = harness::run(p, 2, harness::random_inputs(p, 2, {{"N", 0}}));
    CHECK(out.number("sum", 0) == 0);
    CHECK(std::isnan(out.number("mean", 0)));
    CHECK(out.number("low", 0) == INFINITY);
    CHECK(out.number("high", 0) == -INFINITY);
    CHECK(out.number("product", 0) == 1);
}

TEST_CASE("f16 goes to infinity, and NaN and infinities travel")
{
    constexpr auto h = pl::tensor<"h", pl::f16>(pl::local, N);
    constexpr auto o = pl::tensor<"o", pl::f16>(pl::replicated, N);
    const harness::program p = harness::erased(pl::program<"overflow">(pl::update(o, pl::all_reduce(pl::sum, h))), "overflow");
    reference::inputs given;
    given.extents["N"] = 4;
    given.tensors["h"] = {{40000, 1, INFINITY, -INFINITY}, {40000, std::nan(""), 1, INFINITY}};
    given.tensors["o"] = {{0, 0, 0, 0}};
    const harness::outcome out = harness::run(p, 2, given);
    CHECK(out.number("o", 0) == INFINITY);
    CHECK(std::isnan(out.number("o", 1)));
    CHECK(out.number("o", 2) == INFINITY);
    CHECK(std::isnan(out.number("o", 3)));
}

TEST_CASE("several programs on one communicator, one after the other, built and destroyed in between")
{
    constexpr auto add = pl::program<"add">(pl::update(x, x + pl::all_reduce(pl::sum, g)));
    constexpr auto scaled = pl::program<"scaled">(pl::update(x, x * 0.5_c));  // no rank waits for another in here
    pl::threads::run(3, [](pl::thread_communicator& comm) {
        std::vector<float> value(2000, 1.0F);
        const std::vector<float> mine(2000, static_cast<float>(comm.rank()));
        for (int i = 0; i < 200; ++i) {
            pl::executable a{add, comm};
            a(x = value, g = mine);
            pl::executable b{scaled, comm};
            b(x = value);
        }
        CHECK(value[1999] == doctest::Approx(3.0F));  // the fixed point of (v + 3) / 2
    });
}

TEST_CASE("a rank's own tensor keeps what all ranks have, and is combined again")
{
    constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
    constexpr auto kept = pl::update(g, sum * 0.5_c);
    constexpr auto again = pl::label<"again">(pl::all_reduce(pl::sum, kept * kept));
    constexpr auto prog = pl::program<"kept">(kept, pl::update(x, again + x));
    constexpr auto moved = prog | pl::split<"sum"> | pl::reorder<"sum">;
    const harness::program first = harness::erased(prog, "whole");
    for (const harness::program& p : {harness::erased(moved, "moved"), harness::erased(moved | pl::split<"again"> | pl::reorder<"again">, "both"),
                                      harness::erased(moved | pl::split<"again"> | pl::reorder<"again"> | pl::fuse, "fused")}) {
        for (int ranks : {1, 3}) {
            const reference::inputs given = harness::random_inputs(first, ranks, {{"N", 1025}});
            CAPTURE(p.name);
            CHECK(harness::run(p, ranks, given) == harness::check(first, ranks, given, 10));
        }
    }
}

TEST_CASE("transformations in odd orders are refused or right, never wrong")
{
    constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
    constexpr auto prog = pl::program<"orders">(pl::update(x, x - 0.5_c * sum), pl::update(y, y + sum));
    constexpr auto early = prog | pl::split<"sum"> | pl::reorder<"sum"> | pl::as_slice<"y"> | pl::fuse | pl::fuse;
    constexpr auto late = prog | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse_only<"sum"> | pl::as_slice<"y">;
    constexpr auto all_slices = prog | pl::split<"sum"> | pl::reorder<"sum"> | pl::as_slice<"y", "x">;
    for (int ranks : {1, 2, 5}) {
        for (std::int64_t n : {1, 4, 2047}) {
            const harness::program first = harness::erased(prog, "whole");
            const reference::inputs given = harness::random_inputs(first, ranks, {{"N", n}});
            const harness::outcome expected = harness::check(first, ranks, given, 4);
            for (const harness::program& p : {harness::erased(early, "early"), harness::erased(late, "late"), harness::erased(all_slices, "slices")}) {
                CAPTURE(p.name);
                CHECK(harness::run(p, ranks, given) == expected);
            }
        }
    }
}

}  // namespace
