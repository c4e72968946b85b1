// Which passes of the ready blocks run together in chunks, and where barriers are left.
#include <plait/blocks/pipeline.hpp>
#include <plait/blocks/sequence_parallel.hpp>
#include <plait/optim/lamb.hpp>
#include <plait/plan/lowered.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

namespace pl = plait;
using namespace pl::literals;

/// The passes of a plan: m matmul, r reduce along an axis, a all_reduce, . others; | a barrier before, [ ] a pipeline.
template <class P>
std::string outline(P)
{
    const auto& plan = pl::lowered<P>::view;
    std::string s;
    int end = -1;
    for (int i = 0; i < static_cast<int>(plan.passes.size()); ++i) {
        const pl::pass_view& p = plan.passes[static_cast<std::size_t>(i)];
        if (i == end) { s += ']'; }
        if (p.barrier_before) { s += '|'; }
        if (p.chunked_until != 0) {
            s += '[';
            end = p.chunked_until;
        }
        s += p.kind == pl::pass_kind::matmul        ? 'm'
             : p.kind == pl::pass_kind::reduce_axis ? 'r'
             : p.kind == pl::pass_kind::all_reduce  ? 'a'
                                                    : '.';
    }
    if (end == static_cast<int>(plan.passes.size())) { s += ']'; }
    return s;
}
template <class P>
unsigned dims_of_first(P)
{
    for (const pl::pass_view& p : pl::lowered<P>::view.passes) {
        if (p.chunked_until != 0) { return p.chunk_dims; }
    }
    return 0;
}

TEST_CASE("pipelines: a product and the fused collective after it")
{
    using block = pl::blocks::row_parallel<>;
    CHECK(outline(block::unscheduled) == "m|a|.");
    CHECK(outline(block::sliced) == "m|...");
    CHECK(outline(block::fused) == "m|.");
    CHECK(outline(block::overlapped) == "[m.]");  // signals instead of the barrier
    CHECK(dims_of_first(block::overlapped) == 3);  // B or S, not H: a product's columns stay together
}

TEST_CASE("pipelines: both products of an MLP")
{
    using block = pl::blocks::mlp<>;
    CHECK(outline(block::overlapped) == "m.[m.]");
    CHECK(outline(block::overlapped_whole) == "[m.m.]");
}

TEST_CASE("pipelines: row-wise steps of a fused kernel run together")
{
    using block = pl::blocks::sequence_projection<>;
    CHECK(outline(block::unscheduled).find('[') == std::string::npos);
    const std::string fused = outline(block::fused);
    CHECK(fused.substr(0, 3) == "m|[");
    CHECK(fused.back() == ']');
    CHECK(outline(block::overlapped).substr(0, 2) == "[m");
}

TEST_CASE("pipelines: three stages across groups")
{
    using block = pl::blocks::pipeline<>;
    CHECK(outline(block::unscheduled) == "a|..");
    CHECK(outline(block::fused_send) == "[..]|.");  // what is scattered goes on while it is in the cache
    CHECK(outline(block::overlapped) == "[...]");
    CHECK(outline(block::fused_overlapped) == "[..]");
    CHECK(outline(pl::blocks::pipeline_projection<>::overlapped) == "[m..]");
}

TEST_CASE("pipelines: a reduction over everything is not cut")
{
    CHECK(outline(pl::optim::lamb<>::fused).find('[') == std::string::npos);
}

constexpr auto M = pl::dim<"M">;
constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, M, N);
constexpr auto w = pl::tensor<"w", float>(pl::replicated, N, N);
constexpr auto y = pl::tensor<"y", float>(pl::sliced<0>, M, N);

TEST_CASE("pipelines: dimensions that a stage reduces or contracts are not cut")
{
    constexpr auto a = pl::label<"a">(pl::matmul(g, w));
    constexpr auto p = pl::program<"p">(pl::update(y, pl::softmax(pl::label<"b">(pl::reduce_scatter(pl::sum, a))))) | pl::fuse;
    CHECK(dims_of_first(p | pl::overlap<"a", "b">) == 1);
}

TEST_CASE("pipelines: what needs more than its chunk is refused with its name")
{
    // The second product contracts the rows of the first.
    constexpr auto a = pl::label<"a">(pl::matmul(g, w));
    constexpr auto square = pl::tensor<"square", float>(pl::replicated, N, M);
    constexpr auto b = pl::label<"b">(pl::matmul(square, a));
    constexpr auto z = pl::tensor<"z", float>(pl::local, N, N);
    constexpr auto p = pl::program<"p">(pl::update(z, b)) | pl::overlap<"a", "b">;
    using lowered = pl::lowered<std::remove_const_t<decltype(p)>>;
    CHECK(lowered::plan.violated == pl::rule::overlap_stage);
    CHECK(lowered::plan.why.view().substr(0, 3) == "\"b\"");
    // Two pipelines with stages among each other's are one.
    constexpr auto c = pl::label<"c">(pl::matmul(pl::label<"first">(pl::matmul(g, w)), w));
    constexpr auto d = pl::label<"d">(pl::matmul(c, w));
    constexpr auto last = pl::label<"last">(pl::matmul(d, w));
    constexpr auto out = pl::tensor<"out", float>(pl::local, M, N);
    constexpr auto shared =
        pl::program<"shared">(pl::update(out, last)) | pl::overlap<"first", "d"> | pl::overlap<"c", "last">;
    CHECK(outline(shared) == "[mmmm]");
    // A tensor is overwritten while other ranks may still read it.
    constexpr auto sum = pl::label<"sum">(pl::reduce_scatter(pl::sum, g));
    constexpr auto next = pl::label<"next">(pl::matmul(pl::all_gather(sum), w));
    constexpr auto q = pl::program<"q">(pl::update(g, next)) | pl::overlap<"sum", "next">;
    CHECK(pl::lowered<std::remove_const_t<decltype(q)>>::plan.violated == pl::rule::overlap_stage);
}

}  // namespace
