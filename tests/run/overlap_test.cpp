// Pipelines of chunks at run time: any number of chunks, a simulated link, and what happens when a rank fails inside.
#include "run/check.hpp"

#include <plait/plait.hpp>

#include <cmath>

namespace {

namespace pl = plait;
using namespace pl::literals;
using namespace std::chrono_literals;

constexpr auto M = pl::dim<"M">;
constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::local, M, N);
constexpr auto w = pl::tensor<"w", float>(pl::replicated, N, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, M, N);
constexpr auto total = pl::label<"sum">(pl::all_reduce(pl::sum, pl::label<"mm">(pl::matmul(x, w))));
constexpr auto whole = pl::program<"chunked">(pl::update(y, pl::softmax(total)));
constexpr auto fused = whole | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
constexpr auto chunked = fused | pl::overlap<"mm", "sum">;

std::vector<float> values(std::size_t n, float phase)
{
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i) { v[i] = std::sin(static_cast<float>(i) * 0.37F + phase); }
    return v;
}

/// The result of rank 0, after two runs, with so many chunks.
template <class P>
std::vector<float> result_of(P program, int ranks, std::size_t m, std::size_t n, int chunks, const pl::link& l = {})
{
    std::vector<float> result;
    pl::threads::run(
        ranks,
        [&](pl::thread_communicator& comm) {
            const auto mine = values(m * n, static_cast<float>(comm.rank()));
            const auto weights = values(n * n, 0.5F);
            std::vector<float> out(m * n);
            pl::executable run{program, comm};
            run.set_chunks(chunks);
            for (int i = 0; i < 2; ++i) { run(x = mine, w = weights, y = out, N = n, M = m); }
            if (comm.rank() == 0) { result = out; }
        },
        pl::default_deadline, l);
    return result;
}

TEST_CASE("overlap: any number of chunks gives the same bits")
{
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (const std::size_t m : {0, 1, 5, 64, 131}) {
            const auto expected = result_of(whole, ranks, m, 33, 0);
            CHECK(result_of(fused, ranks, m, 33, 0) == expected);
            for (int chunks : {0, 1, 2, 3, 17, 1000}) {
                CAPTURE(ranks);
                CAPTURE(m);
                CAPTURE(chunks);
                CHECK(result_of(chunked, ranks, m, 33, chunks) == expected);
            }
        }
    }
}

TEST_CASE("overlap: a simulated link changes nothing but time")
{
    const pl::link slow{.latency = 200us, .bytes_per_second = 50e6};
    const auto expected = result_of(whole, 3, 40, 32, 0);
    CHECK(result_of(whole, 3, 40, 32, 0, slow) == expected);
    CHECK(result_of(fused, 3, 40, 32, 0, slow) == expected);
    for (int chunks : {1, 4, 40}) { CHECK(result_of(chunked, 3, 40, 32, chunks, slow) == expected); }
}

TEST_CASE("overlap: a pipeline's input and output are the same memory only where both go element by element")
{
    constexpr auto out = pl::tensor<"out", float>(pl::local, M, N);
    constexpr auto p = pl::program<"shared">(pl::update(out, pl::label<"act">(pl::relu(pl::label<"mm">(pl::matmul(x, w)))))) |
                       pl::overlap<"mm", "act">;
    pl::threads::run(1, [&](pl::thread_communicator& comm) {
        std::vector<float> buffer(64 * 64, 1.0F);
        const std::vector<float> weights(64 * 64, 1.0F);
        pl::executable run{p, comm};
        std::string text;
        try {
            run(x = buffer, w = weights, out = buffer, M = 64, N = 64);
        } catch (const pl::error& e) {
            text = e.what();
        }
        CAPTURE(text);
        CHECK(text.find("share a buffer that is still read when it has been updated") != std::string::npos);
        std::vector<float> other(64 * 64);
        run(x = buffer, w = weights, out = other, M = 64, N = 64);
        CHECK(other == std::vector<float>(64 * 64, 64.0F));
    });
}

TEST_CASE("overlap: 1 chunk or more")
{
    pl::threads::run(1, [](pl::thread_communicator& comm) {
        pl::executable run{chunked, comm};
        CHECK_THROWS_WITH_AS(run.set_chunks(-1), "plait: program \"chunked\": -1 chunks; set 1 or more, or 0", pl::error);
    });
}

TEST_CASE("overlap: all ranks cut alike, or all are told")
{
    std::vector<std::string> texts(3);
    pl::threads::run(3, [&](pl::thread_communicator& comm) {
        const auto mine = values(12, 0);
        const auto weights = values(9, 0);
        std::vector<float> out(12);
        pl::executable run{chunked, comm};
        run.set_chunks(comm.rank() == 1 ? 2 : 4);
        try {
            run(x = mine, w = weights, y = out, N = 3, M = 4);
        } catch (const pl::error& e) {
            texts[static_cast<std::size_t>(comm.rank())] = e.what();
        }
        run.set_chunks(2);
        run(x = mine, w = weights, y = out, N = 3, M = 4);
    });
    for (const std::string& text : texts) {
        CHECK(text == "plait: program \"chunked\" differs between ranks: rank 1: set to 2 chunks, others to 4 chunks; give all ranks the same");
    }
}

TEST_CASE("overlap: a rank that fails between chunks ends the run on every rank")
{
    constexpr auto table = pl::tensor<"table", float>(pl::replicated, N, 4_c);
    constexpr auto tokens = pl::tensor<"tokens", std::int32_t>(pl::local, M);
    constexpr auto out = pl::tensor<"out", float>(pl::sliced<0>, M, 4_c);
    constexpr auto rows = pl::label<"rows">(pl::embedding(table, tokens));
    constexpr auto p = pl::program<"lookup">(pl::update(out, pl::label<"sum">(pl::reduce_scatter(pl::sum, rows)) * 2_c)) |
                       pl::fuse | pl::overlap<"rows", "sum">;
    std::string text;
    try {
        pl::threads::run(3, [&](pl::thread_communicator& comm) {
            const std::vector<float> all(40, 1.0F);
            std::vector<std::int32_t> which(64, 3);
            if (comm.rank() == 2) { which[50] = 10; }  // in a late chunk
            std::vector<float> mine(static_cast<std::size_t>(pl::slice_of(64, comm.rank(), 3).count) * 4);
            pl::executable run{p, comm};
            run.set_chunks(16);
            run(table = all, tokens = which, out = mine, M = 64);
        });
    } catch (const pl::error& e) {
        text = e.what();
    }
    CAPTURE(text);
    CHECK(text.find("embedding: an index is 10, the table has 10 rows") != std::string::npos);
}

TEST_CASE("overlap: a rank that waits for a chunk in vain says where")
{
    std::string text;
    try {
        pl::threads::run(
            2,
            [&](pl::thread_communicator& comm) { comm.wait([] { return false; }, "chunked: pipeline"); }, 50ms);
    } catch (const pl::error& e) {
        text = e.what();
    }
    CAPTURE(text);
    CHECK(text.find("waited 50 ms at 'chunked: pipeline'") != std::string::npos);
}

}  // namespace
