// matmul, conv2d and embedding against the oracle: dtypes, transposes, leading dimensions, slices, odd sizes.
#include "run/check.hpp"

#include <plait/plait.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto B = pl::dim<"B">;
constexpr auto M = pl::dim<"M">;
constexpr auto K = pl::dim<"K">;
constexpr auto N = pl::dim<"N">;

/// Sums of k products of numbers up to 2 each, rounded once per addition at worst.
double ulps_of(std::int64_t k) { return 8 + 2 * static_cast<double>(k); }

template <class P>
void check_sizes(P program, const char* name, int most_ranks = 4, int products = 1)
{
    const harness::program p = harness::erased(program, name);
    for (int ranks = 1; ranks <= most_ranks; ++ranks) {
        for (const auto& [b, m, k, n] : {std::array<std::int64_t, 4>{1, 1, 1, 1}, {2, 3, 5, 7}, {3, 17, 33, 16},
                                        {1, 8, 0, 3}, {0, 4, 4, 4}, {2, 0, 3, 1}, {1, 64, 65, 63}, {5, 2, 1, 130}}) {
            CAPTURE(ranks);
            CAPTURE(m);
            harness::check(p, ranks, harness::random_inputs(p, ranks, {{"B", b}, {"M", m}, {"K", k}, {"N", n}}),
                           products == 1 ? ulps_of(k) : ulps_of(k) * ulps_of(k));
        }
    }
}

template <class T>
void check_products(const char* name)
{
    constexpr auto y = pl::tensor<"y", T>(pl::replicated, M, N);
    constexpr auto z = pl::tensor<"z", T>(pl::replicated, M, N);
    constexpr auto a = pl::tensor<"a", T>(pl::replicated, M, K);
    constexpr auto at = pl::tensor<"at", T>(pl::replicated, K, M);
    constexpr auto b = pl::tensor<"b", T>(pl::replicated, K, N);
    constexpr auto bt = pl::tensor<"bt", T>(pl::replicated, N, K);
    check_sizes(pl::program<"mm">(pl::update(y, pl::matmul(a, b)),
                                  pl::update(z, pl::matmul(at, bt, pl::transposed_both))),
                name, 2);
    check_sizes(pl::program<"mm">(pl::update(y, pl::matmul(at, b, pl::transposed_a)),
                                  pl::update(z, pl::matmul(a, bt, pl::transposed_b))),
                name, 2);
}

TEST_CASE("matmul: f32") { check_products<float>("f32"); }
TEST_CASE("matmul: f64") { check_products<double>("f64"); }
TEST_CASE("matmul: f16 accumulates in f32") { check_products<pl::f16>("f16"); }
TEST_CASE("matmul: bf16 accumulates in f32") { check_products<pl::bf16>("bf16"); }

TEST_CASE("matmul: operands of two dtypes give the wider one")
{
    constexpr auto a = pl::tensor<"a", pl::f16>(pl::replicated, B, M, K);
    constexpr auto b = pl::tensor<"b", float>(pl::replicated, N, K);
    constexpr auto c = pl::tensor<"c", pl::bf16>(pl::replicated, K, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, B, M, N);
    constexpr auto z = pl::tensor<"z", float>(pl::replicated, B, M, N);
    check_sizes(pl::program<"mixed">(pl::update(y, pl::matmul(a, b, pl::transposed_b)),
                                     pl::update(z, pl::matmul(a, c))),
                "mixed", 2);
}

TEST_CASE("matmul: leading dimensions are rows, batches or broadcast")
{
    constexpr auto rows = pl::tensor<"rows", float>(pl::replicated, B, M, K);
    constexpr auto matrix = pl::tensor<"matrix", float>(pl::replicated, K, N);
    constexpr auto batch = pl::tensor<"batch", float>(pl::replicated, B, K, N);
    constexpr auto one = pl::tensor<"one", float>(pl::replicated, 1_c, K, N);
    constexpr auto left = pl::tensor<"left", float>(pl::replicated, M, K);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, B, M, N);
    constexpr auto z = pl::tensor<"z", float>(pl::replicated, B, M, N);
    check_sizes(pl::program<"rows">(pl::update(y, pl::matmul(rows, matrix)), pl::update(z, pl::matmul(rows, one))),
                "rows", 2);
    check_sizes(pl::program<"batch">(pl::update(y, pl::matmul(rows, batch)), pl::update(z, pl::matmul(left, batch))),
                "batch", 2);
}

TEST_CASE("matmul: vectors as matrices of one row, one column, one term")
{
    constexpr auto row = pl::tensor<"row", float>(pl::replicated, 1_c, K);
    constexpr auto column = pl::tensor<"column", float>(pl::replicated, K, 1_c);
    constexpr auto term = pl::tensor<"term", float>(pl::replicated, M, 1_c);
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, K, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, 1_c, N);
    constexpr auto dot = pl::tensor<"dot", float>(pl::replicated, 1_c, 1_c);
    constexpr auto outer = pl::tensor<"outer", float>(pl::replicated, M, N);
    check_sizes(pl::program<"vectors">(pl::update(y, pl::matmul(row, w)), pl::update(dot, pl::matmul(row, column)),
                                       pl::update(outer, pl::matmul(term, y))),
                "vectors", 2);
}

TEST_CASE("matmul: slices of rows and columns stay, contracted slices give partial sums")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, B, M, K);
    constexpr auto by_rows = pl::tensor<"by_rows", float>(pl::sliced<1>, B, M, K);
    constexpr auto by_batch = pl::tensor<"by_batch", float>(pl::sliced<0>, B, M, K);
    constexpr auto by_inner = pl::tensor<"by_inner", float>(pl::sliced<2>, B, M, K);
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, K, N);
    constexpr auto w_columns = pl::tensor<"w_columns", float>(pl::sliced<1>, K, N);
    constexpr auto w_inner = pl::tensor<"w_inner", float>(pl::sliced<0>, K, N);
    constexpr auto whole = pl::tensor<"whole", float>(pl::replicated, B, M, N);
    constexpr auto s0 = pl::tensor<"s0", float>(pl::sliced<0>, B, M, N);
    constexpr auto s1 = pl::tensor<"s1", float>(pl::sliced<1>, B, M, N);
    constexpr auto s2 = pl::tensor<"s2", float>(pl::sliced<2>, B, M, N);
    constexpr auto part = pl::tensor<"part", float>(pl::local, B, M, N);
    check_sizes(pl::program<"outer">(pl::update(s0, pl::matmul(by_batch, w)), pl::update(s1, pl::matmul(by_rows, w)),
                                     pl::update(s2, pl::matmul(x, w_columns))),
                "outer slices");
    check_sizes(pl::program<"inner">(pl::update(part, pl::matmul(by_inner, w_inner)),
                                     pl::update(whole, pl::all_reduce(pl::sum, pl::matmul(by_inner, w_inner)))),
                "inner slices");
    // A slice of a whole value is read where it lies.
    check_sizes(pl::program<"cut">(pl::update(s1, pl::matmul(pl::slice(x, pl::axis<1>), w)),
                                   pl::update(s2, pl::matmul(x, pl::slice(w, pl::axis<1>))),
                                   pl::update(part, pl::matmul(pl::slice(x, pl::axis<2>), w_inner))),
                "slices of whole values");
}

TEST_CASE("matmul: operands and results next to other stages")
{
    constexpr auto x = pl::tensor<"x", float>(pl::local, M, K);
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, K, K);
    constexpr auto y = pl::tensor<"y", float>(pl::local, M, K);
    constexpr auto h = pl::relu(pl::matmul(x * 2_c, w) + x);
    check_sizes(pl::program<"chain">(pl::update(y, pl::matmul(h, w) + h)), "chain", 2, 2);
    // Updated in place: the product reads all of the old value, and a later stage the new one.
    constexpr auto x1 = pl::update(x, pl::matmul(x, w));
    check_sizes(pl::program<"in place">(x1, pl::update(y, pl::matmul(x1, w))), "in place", 2, 2);
    // An update that fills a tensor with a number, or copies one, is an operand as well.
    constexpr auto filled = pl::update(x, 0.5_c);
    constexpr auto copied = pl::update(y, pl::tensor<"z", float>(pl::local, M, K));
    constexpr auto v = pl::tensor<"v", float>(pl::local, M, K);
    check_sizes(pl::program<"filled">(filled, copied, pl::update(v, pl::matmul(filled, w) + pl::matmul(copied, w))),
                "filled", 2);
    constexpr auto sum = pl::tensor<"sum", float>(pl::replicated, M, K);
    check_sizes(pl::program<"filled sum">(filled, pl::update(sum, pl::all_reduce(pl::sum, filled))), "filled sum");
}

TEST_CASE("stages that read a tensor's old value read it before it is updated")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, M, K);
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, K, N);
    constexpr auto y = pl::tensor<"y", float>(pl::sliced<1>, M, N);
    constexpr auto part = pl::slice(w, pl::axis<1>);
    check_sizes(pl::program<"slice">(pl::update(w, w * 0.5_c), pl::update(y, pl::matmul(x + 1_c, part))),
                "a slice of what is updated", 3);
    constexpr auto rows = pl::tensor<"rows", float>(pl::sliced<0>, M, K);
    constexpr auto s = pl::tensor<"s", float>(pl::sliced<0>, M, K);
    constexpr auto square = pl::tensor<"square", float>(pl::replicated, K, K);
    constexpr auto all = pl::tensor<"all", float>(pl::replicated, M, K);
    check_sizes(pl::program<"gather">(pl::update(s, pl::matmul(rows, square)), pl::update(all, pl::all_gather(s))),
                "gathered before it is updated", 3);
    // Two tensors move on, and a stage reads the older one.
    constexpr auto now = pl::tensor<"now", float>(pl::replicated, K, N);
    constexpr auto before = pl::tensor<"before", float>(pl::replicated, K, N);
    constexpr auto z = pl::tensor<"z", float>(pl::replicated, M, N);
    check_sizes(pl::program<"history">(pl::update(now, now + w), pl::update(before, now),
                                       pl::update(z, pl::matmul(x + 1_c, before))),
                "history", 2);
    constexpr auto other = pl::tensor<"other", float>(pl::replicated, K, N);
    check_sizes(pl::program<"swap">(pl::update(now, other), pl::update(other, now),
                                    pl::update(z, pl::matmul(x + 1_c, now) + pl::matmul(x, other))),
                "swap", 2);
}

TEST_CASE("conv2d")
{
    constexpr auto images = pl::tensor<"images", float>(pl::replicated, B, 3_c, 9_c, 7_c);
    constexpr auto image_parts = pl::tensor<"parts", float>(pl::sliced<0>, B, 3_c, 9_c, 7_c);
    constexpr auto filters = pl::tensor<"filters", float>(pl::replicated, M, 3_c, 3_c, 2_c);
    constexpr auto filter_parts = pl::tensor<"fparts", float>(pl::sliced<0>, M, 3_c, 3_c, 2_c);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, B, M, 7_c, 6_c);
    constexpr auto strided = pl::tensor<"strided", float>(pl::replicated, B, M, 6_c, 5_c);
    constexpr auto y0 = pl::tensor<"y0", float>(pl::sliced<0>, B, M, 7_c, 6_c);
    constexpr auto y1 = pl::tensor<"y1", float>(pl::sliced<1>, B, M, 7_c, 6_c);
    check_sizes(pl::program<"conv">(pl::update(y, pl::conv2d(images, filters)),
                                    pl::update(strided, pl::conv2d(images, filters, pl::stride<2>, pl::padding<2>)),
                                    pl::update(y0, pl::conv2d(image_parts, filters)),
                                    pl::update(y1, pl::conv2d(images, filter_parts))),
                "conv2d");
    constexpr auto h = pl::tensor<"h", pl::f16>(pl::local, B, 2_c, 4_c, 4_c);
    constexpr auto k = pl::tensor<"k", pl::bf16>(pl::replicated, 1_c, 2_c, 4_c, 4_c);
    constexpr auto o = pl::tensor<"o", float>(pl::local, B, 1_c, 1_c, 1_c);
    check_sizes(pl::program<"conv">(pl::update(o, pl::conv2d(h, k))), "conv2d of low precision", 2);
}

/// Indices in [0, rows) for the integer tensors of a program.
reference::inputs with_indices(const harness::program& p, int ranks, const std::map<std::string, std::int64_t>& extents,
                               std::int64_t rows)
{
    reference::inputs given = harness::random_inputs(p, ranks, extents);
    for (const harness::tensor_info& t : p.tensors) {
        if (!plait::is_integer(t.type)) { continue; }
        for (reference::numbers& values : given.tensors[t.name]) {
            for (std::size_t i = 0; i < values.size(); ++i) { values[i] = static_cast<double>((i * 7 + 3) % static_cast<std::size_t>(rows)); }
        }
    }
    return given;
}

TEST_CASE("embedding: rows by index")
{
    constexpr auto table = pl::tensor<"table", float>(pl::replicated, N, K);
    constexpr auto columns = pl::tensor<"columns", float>(pl::sliced<1>, N, K);
    constexpr auto rows = pl::tensor<"rows", float>(pl::sliced<0>, N, K);
    constexpr auto half = pl::tensor<"half", pl::bf16>(pl::replicated, N, K);
    constexpr auto tokens = pl::tensor<"tokens", std::int32_t>(pl::replicated, B, M);
    constexpr auto bytes = pl::tensor<"bytes", std::uint8_t>(pl::sliced<1>, B, M);
    constexpr auto longs = pl::tensor<"longs", std::int64_t>(pl::local, M);
    const harness::program p = harness::erased(
        pl::program<"embed">(
            pl::update(pl::tensor<"y0", float>(pl::replicated, B, M, K), pl::embedding(table, tokens)),
            pl::update(pl::tensor<"y1", float>(pl::sliced<1>, B, M, K), pl::embedding(table, bytes)),
            pl::update(pl::tensor<"y2", float>(pl::sliced<2>, B, M, K), pl::embedding(columns, tokens)),
            pl::update(pl::tensor<"y3", float>(pl::replicated, B, M, K),
                       pl::all_reduce(pl::sum, pl::embedding(rows, tokens))),
            pl::update(pl::tensor<"y4", pl::bf16>(pl::local, M, K), pl::embedding(half, longs))),
        "embedding");
    for (int ranks = 1; ranks <= 5; ++ranks) {
        for (const auto& [b, m, k, n] :
             {std::array<std::int64_t, 4>{2, 5, 3, 7}, {1, 1, 1, 1}, {0, 3, 2, 2}, {3, 4, 0, 2}, {2, 9, 65, 3}}) {
            harness::check(p, ranks, with_indices(p, ranks, {{"B", b}, {"M", m}, {"K", k}, {"N", n}}, n), 0);
        }
    }
}

TEST_CASE("embedding: an index outside of the table ends the run on every rank, before anything is written")
{
    constexpr auto table = pl::tensor<"table", float>(pl::replicated, N, 2_c);
    constexpr auto tokens = pl::tensor<"tokens", std::int32_t>(pl::local, M);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, M, 2_c);
    constexpr auto p = pl::program<"bad">(pl::update(y, pl::all_reduce(pl::sum, pl::embedding(table, tokens))));
    for (const std::int32_t bad : {-1, 3, 1 << 30}) {
        std::vector<std::vector<float>> results(2, std::vector<float>(4, 7.0F));
        std::string text;
        try {
            pl::threads::run(2, [&](pl::thread_communicator& comm) {
                const std::vector<float> rows{1, 2, 3, 4, 5, 6};
                std::vector<std::int32_t> which{0, comm.rank() == 1 ? bad : 2};
                pl::executable run{p, comm};
                run(table = rows, tokens = which, y = results[static_cast<std::size_t>(comm.rank())]);
            });
        } catch (const pl::error& e) {
            text = e.what();
        }
        CAPTURE(text);
        CHECK(text.find("embedding: an index is " + std::to_string(bad) + ", the table has 3 rows") !=
              std::string::npos);
        CHECK(results == std::vector(2, std::vector<float>(4, 7.0F)));
    }
}

}  // namespace
