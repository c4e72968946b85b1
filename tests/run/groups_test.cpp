// Pipeline groups and send: equal ranks of neighbouring groups, slices sent as slices, every schedule.
#include "run/check.hpp"

#include <plait/plait.hpp>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto M = pl::dim<"M">;
constexpr auto N = pl::dim<"N">;

template <class P>
void check_sizes(P program, const char* name, double ulps = 4)
{
    const harness::program p = harness::erased(program, name);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for (const auto& [m, n] :
             {std::array<std::int64_t, 2>{1, 1}, {3, 5}, {0, 4}, {4, 0}, {2, 1025}, {17, 64}}) {
            CAPTURE(ranks);
            CAPTURE(m);
            harness::check(p, ranks, harness::random_inputs(p, ranks, {{"M", m}, {"N", n}}), ulps);
        }
    }
}

constexpr auto x = pl::tensor<"x", float>(pl::local, M, N);
constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, pl::group<1>, M, N);
constexpr auto sent = pl::label<"send">(
    pl::send(pl::relu(pl::label<"sum">(pl::all_reduce(pl::sum, x)) + bias), pl::next_group));
constexpr auto block = pl::program<"block">(pl::update(y, sent));

TEST_CASE("send: every layout, to any group")
{
    constexpr auto whole = pl::tensor<"whole", float>(pl::replicated, M, N);
    constexpr auto rows = pl::tensor<"rows", float>(pl::sliced<0>, M, N);
    constexpr auto columns = pl::tensor<"columns", pl::f16>(pl::sliced<1>, M, N);
    check_sizes(pl::program<"layouts">(
                    pl::update(pl::tensor<"y0", float>(pl::replicated, pl::group<1>, M, N), pl::send(whole, pl::next_group)),
                    pl::update(pl::tensor<"y1", float>(pl::local, pl::group<2>, M, N), pl::send(x, pl::group<2>)),
                    pl::update(pl::tensor<"y2", float>(pl::sliced<0>, pl::group<1>, M, N), pl::send(rows, pl::group<1>)),
                    pl::update(pl::tensor<"y3", pl::f16>(pl::sliced<1>, pl::group<2>, M, N),
                               pl::send(pl::send(columns, pl::next_group), pl::next_group))),
                "layouts", 0);
}

TEST_CASE("send: both ways, and a result that comes back")
{
    constexpr auto far = pl::tensor<"far", float>(pl::replicated, pl::group<1>, M, N);
    constexpr auto near = pl::tensor<"near", float>(pl::replicated, M, N);
    constexpr auto back = pl::send(pl::send(near, pl::next_group) * 2_c + far, pl::group<0>);
    check_sizes(pl::program<"back">(pl::update(near, back)), "back");
    check_sizes(pl::program<"back">(pl::update(near, back)) | pl::fuse, "back, fused");
}

TEST_CASE("send: every schedule of the pipeline block gives the same")
{
    check_sizes(block, "AR, C, P2P");
    check_sizes(block | pl::fuse, "fused AR-C-P2P");
    check_sizes(block | pl::split<"sum">, "RS, AG, C, P2P");
    check_sizes(block | pl::split<"sum"> | pl::reorder<"sum">, "RS, C, P2P, AG");
    check_sizes(block | pl::split<"sum", 1> | pl::reorder<"sum"> | pl::fuse, "fused RS-C-P2P-AG by columns");
    check_sizes(block | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse, "fused RS-C-P2P-AG");
}

TEST_CASE("groups: the ranks must divide into them")
{
    std::string text;
    try {
        pl::threads::run(3, [&](pl::thread_communicator& comm) { pl::executable run{block, comm}; });
    } catch (const pl::error& e) {
        text = e.what();
    }
    CHECK(text == "plait: program \"block\" has 2 groups of equal size; 3 ranks cannot be divided into them");
}

TEST_CASE("groups: world_size is that of the group, and tensors of other groups may be bound or left out")
{
    constexpr auto p = pl::program<"mean">(pl::update(y, pl::send(pl::all_reduce(pl::sum, x) / pl::world_size, pl::next_group)));
    pl::threads::run(4, [&](pl::thread_communicator& comm) {
        const std::vector<float> mine(6, comm.rank() % 2 == 0 ? 1.0F : 3.0F);
        std::vector<float> out(comm.rank() < 2 ? 0 : 6);
        pl::executable run{p, comm};
        run(x = mine, y = out, M = 2, N = 3);
        if (comm.rank() >= 2) {
            CHECK(out == std::vector<float>(6, 2.0F));
            run(y = out, M = 2, N = 3);
        } else {
            run(x = mine, M = 2, N = 3);
        }
    });
}

TEST_CASE("groups: a dimension that a group's own tensors do not tell is an error that names it")
{
    constexpr auto p = pl::program<"hidden">(
        pl::update(pl::tensor<"z", float>(pl::replicated, pl::group<1>, M), pl::send(pl::sum(pl::tensor<"w", float>(pl::replicated, M, N), pl::axis<1>), pl::next_group)));
    std::string texts[2];
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        std::vector<float> w(6);
        std::vector<float> z(2);
        pl::executable run{p, comm};
        try {
            run(pl::tensor<"w", float>(pl::replicated, M, N) = w, pl::tensor<"z", float>(pl::replicated, pl::group<1>, M) = z, M = 2);
        } catch (const pl::error& e) {
            texts[comm.rank()] = e.what();
        }
    });
    // Rank 1, which does not hold w, names the dimension alone.
    CHECK(texts[1] == "plait: program \"hidden\": dimension \"N\" is not known; bind it, e.g. dim<\"N\"> = 1024");
    CHECK(texts[0] == "plait: rank 1: program \"hidden\": dimension \"N\" is not known; bind it, e.g. dim<\"N\"> = 1024");
}

}  // namespace
