// The model-parallel block and the pipeline groups of README and docs, run.
#include <plait/plait.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;

TEST_CASE("README: a model-parallel block")
{
    constexpr int ranks = 2;
    constexpr std::size_t b = 2, s = 3, h = 4, k = 6;
    std::vector<float> result;
    pl::threads::run(ranks, [&](pl::thread_communicator& comm) {
        const auto part = static_cast<std::size_t>(pl::slice_of(k, comm.rank(), ranks).count);
        const std::vector<float> x(b * s * part, 1.0F), w(part * h, 0.5F), bias(h, 0.25F), residual(b * s * h, 1.0F);
        std::vector<float> y(b * s * h);
        // [ready]
        using output = pl::blocks::row_parallel<>;  // residual + dropout(all_reduce(x w) + bias)

        // The matmul and the fused reduce_scatter, bias, dropout, residual, all_gather run as a pipeline of chunks.
        pl::executable run{output::overlapped, comm};
        run(output::x = x, output::w = w, output::y = y, output::tail::bias = bias, output::tail::residual = residual,
            output::tail::p = 0.0F, output::tail::seed = 42, pl::blocks::B = b, pl::blocks::S = s, pl::blocks::K = k);
        // [/ready]
        if (comm.rank() == 0) { result = y; }
    });
    CHECK(result == std::vector<float>(b * s * h, 4.25F));
}

TEST_CASE("docs: two pipeline groups")
{
    constexpr std::size_t b = 3, h = 5;
    std::vector<float> result;
    // [groups]
    constexpr auto B = pl::dim<"B">;
    constexpr auto H = pl::dim<"H">;
    constexpr auto x = pl::tensor<"x", float>(pl::local, B, H);                         // on group 0
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, pl::group<1>, B, H);      // on group 1
    constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
    constexpr auto block = pl::program<"block">(pl::update(y, pl::label<"send">(pl::send(pl::relu(sum), pl::next_group))));
    // Slices are sent, 1/n of the bytes, straight from the kernel that computes them, and joined by group 1.
    constexpr auto scheduled =
        block | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse | pl::overlap<"sum", "send">;

    pl::threads::run(4, [&](pl::thread_communicator& comm) {  // ranks 0 and 1 are group 0, ranks 2 and 3 group 1
        pl::executable run{scheduled, comm};
        if (comm.rank() < 2) {
            const std::vector<float> mine(b * h, 1.5F);
            run(x = mine, B = b, H = h);
        } else {
            std::vector<float> out(b * h);
            run(y = out, B = b, H = h);
            if (comm.rank() == 3) { result = out; }
        }
    });
    // [/groups]
    CHECK(result == std::vector<float>(b * h, 3.0F));
}

TEST_CASE("docs: a simulated link")
{
    using output = pl::blocks::row_parallel<>;
    constexpr std::size_t b = 1, s = 4, h = 4, k = 4;
    std::uint64_t moved = 0;
    // [link]
    const pl::link network{.latency = std::chrono::microseconds(5), .bytes_per_second = 10e9};
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        std::vector<float> x(b * s * k / 2, 1.0F), w(k / 2 * h, 1.0F), bias(h), residual(b * s * h), y(b * s * h);
        pl::executable run{output::overlapped, comm};
        run.set_chunks(4);  // else plait chooses
        run(output::x = x, output::w = w, output::y = y, output::tail::bias = bias, output::tail::residual = residual,
            output::tail::p = 0.0F, output::tail::seed = 42, pl::blocks::B = b, pl::blocks::S = s, pl::blocks::K = k);
        if (comm.rank() == 0) { moved = comm.wire().bytes(); }  // reduce_scatter in, all_gather out
    }, pl::default_deadline, network);
    // [/link]
    CHECK(moved == sizeof(float) * b * s * h);
}

}  // namespace
