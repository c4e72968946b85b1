// Pipelines of chunks on CUDA peers: any number of chunks, with the checker on.
#include "blocks/block.hpp"
#include "launches.cuh"
#include "values.cuh"

#include <plait/blocks/model_parallel.hpp>
#include <plait/blocks/pipeline.hpp>
#include <plait/blocks/sequence_parallel.hpp>

#include <span>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::erased;

/// The first program as it is, the others in so many chunks.
void check_chunks(const std::vector<harness::program>& schedules, int ranks, const block::sizes& z)
{
    const reference::inputs given = block::inputs(schedules[0], ranks, z);
    const harness::outcome first = harness::run(schedules[0], ranks, given);
    for (std::size_t i = 1; i < schedules.size(); ++i) {
        for (const int chunks : {1, 2, 5}) {
            CAPTURE(schedules[i].name);
            CAPTURE(ranks);
            CAPTURE(chunks);
            CHECK(harness::run(harness::in_chunks(schedules[i], chunks), ranks, given, 2) == first);
        }
    }
}

TEST_CASE("CUDA peers: a product overlapped with the collective after it")
{
    using mlp = pl::blocks::mlp<>;
    const std::vector<harness::program> all{erased(mlp::unscheduled, "unscheduled"), erased(mlp::overlapped, "overlapped")};
    block::check(all, 2, {2, 3, 5, 7});
    for (const int ranks : {1, 2, 3}) { check_chunks(all, ranks, {1, 17, 6, 9}); }
}

/// Slices of rows: a chunk consists of a range of each slice. On tensor cores, too.
template <class T>
void check_rows(int most_ranks)
{
    using projection = pl::blocks::row_parallel<T, 1>;
    const std::vector<harness::program> all{erased(projection::unscheduled, "unscheduled"), erased(projection::overlapped, "overlapped")};
    for (int ranks = 1; ranks <= most_ranks; ++ranks) { check_chunks(all, ranks, {2, 33, 24, 9}); }
    check_chunks(all, 2, {1, 1, 1, 1});
    check_chunks(all, 3, {2, 5, 3, 0});
}
TEST_CASE("CUDA peers: a product of f32 is one launch for all chunks, of slices of rows") { check_rows<float>(4); }
TEST_CASE("CUDA peers: a product of f16 is one launch for all chunks, of slices of rows") { check_rows<pl::f16>(2); }

namespace parts {
constexpr auto M = pl::dim<"M">;
constexpr auto K = pl::dim<"K">;
constexpr auto N = pl::dim<"N">;
template <class T>
struct of {
    static constexpr auto x = pl::tensor<"x", T>(pl::sliced<1>, M, K);
    static constexpr auto w = pl::tensor<"w", T>(pl::sliced<0>, K, N);
    static constexpr auto mine = pl::tensor<"mine", T>(pl::local, M, N);
    static constexpr auto y = pl::tensor<"y", T>(pl::replicated, M, N);
    static constexpr auto kept = pl::tensor<"kept", T>(pl::local, M, N);
    /// What a rank adds is computed from its own part of the product, chunk by chunk.
    static constexpr auto part = pl::label<"mm">(pl::matmul(x, w));
    static constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, pl::relu(part + mine)));
    static constexpr auto unscheduled = pl::program<"parts">(pl::update(y, sum * sum));
    static constexpr auto overlapped = unscheduled | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse | pl::overlap<"mm", "sum">;
    /// The same with the part in memory, which keeps the two passes apart.
    static constexpr auto stored = pl::program<"parts">(pl::update(kept, part), pl::update(y, sum * sum)) | pl::split<"sum"> |
                                   pl::reorder<"sum"> | pl::fuse | pl::overlap<"mm", "sum">;
};
}  // namespace parts

template <class T>
void check_parts(std::initializer_list<int> all_ranks, std::initializer_list<int> all_chunks)
{
    using p = parts::of<T>;
    const std::vector<harness::program> all{erased(p::unscheduled, "unscheduled"), erased(p::overlapped, "overlapped")};
    const harness::program stored = erased(p::stored, "stored");
    for (const int ranks : all_ranks) {
        for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{97, 7, 24}, {3, 5, 9}, {0, 2, 4}, {5, 0, 8}}) {
            const reference::inputs given = harness::random_inputs(stored, ranks, {{"M", m}, {"K", k}, {"N", n}}, 5, -1, 1);
            CAPTURE(ranks);
            CAPTURE(m);
            const harness::outcome first = harness::check(all[0], ranks, given, 40);
            for (const int chunks : all_chunks) {
                for (const harness::program& one : {all[1], stored}) {
                    CAPTURE(one.name);
                    CAPTURE(chunks);
                    CHECK(harness::run(harness::in_chunks(one, chunks), ranks, given, 2).written.at("y") == first.written.at("y"));
                }
            }
        }
    }
}
TEST_CASE("CUDA peers: the epilogue of an overlapped product, f32") { check_parts<float>({1, 3, 4}, {1, 2, 7}); }
TEST_CASE("CUDA peers: the epilogue of an overlapped product, f16") { check_parts<pl::f16>({1, 3}, {1, 3}); }

namespace norms {
constexpr auto B = pl::dim<"B">;
using parts::K;
using parts::M;
using parts::N;
constexpr auto x = pl::tensor<"x", float>(pl::sliced<2>, B, M, K);
constexpr auto w = pl::tensor<"w", float>(pl::sliced<0>, K, N);
constexpr auto residual = pl::tensor<"residual", float>(pl::replicated, B, M, N);
constexpr auto gamma = pl::tensor<"gamma", float>(pl::replicated, N);
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, pl::label<"mm">(pl::matmul(x, w))));
constexpr auto h = residual + pl::dropout(sum, 0.25_c, 7_c);
constexpr auto new_residual = pl::tensor<"h", float>(pl::replicated, B, M, N);
constexpr auto result = pl::tensor<"y", float>(pl::replicated, B, M, N);
constexpr auto y = pl::update(result, pl::rms_norm(h, gamma, 1e-2_c));
constexpr auto one = pl::program<"one">(y);
/// The residual's new value goes to all ranks as well, chunk by chunk.
constexpr auto both = pl::program<"both">(pl::update(new_residual, h), y);
template <class P>
constexpr auto overlapped(P p)
{
    return p | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse | pl::overlap<"mm", "sum">;
}

/// How many kernels that take rows all ranks launch. The longer dimension is cut, the first of them in slices.
int launches_of(int ranks, std::int64_t b, std::int64_t m, int chunks)
{
    const auto most = [&](int rank) { return static_cast<int>(std::min<std::int64_t>(chunks, m > b ? m : pl::slice_of(b, rank, ranks).count)); };
    if (most(0) == 1) { return ranks; }  // not cut
    if (m > b && b != 1) { return 0; }
    int count = 0;
    for (int r = 0; r < ranks; ++r) { count += most(r); }
    return count;
}
/// In so many chunks, of which each is a kernel that takes rows if they consist of rows: the bits of the unscheduled program.
template <class P>
void check(P p, std::initializer_list<int> all_ranks)
{
    const harness::program whole = erased(p, "whole"), cut = erased(overlapped(p), "overlapped");
    const auto check_one = [&](int ranks, std::int64_t b, std::int64_t m, std::int64_t n, bool by_rows) {
        const reference::inputs given = harness::random_inputs(whole, ranks, {{"B", b}, {"M", m}, {"K", 5}, {"N", n}}, 5, -1, 1);
        CAPTURE(ranks);
        CAPTURE(b);
        CAPTURE(m);
        const harness::outcome first = harness::check(whole, ranks, given, 300);
        for (const int chunks : {1, 2, 5}) {
            CAPTURE(chunks);
            cuda_test::forget_launches();
            CHECK(harness::run(harness::in_chunks(cut, chunks), ranks, given, 2) == first);
            CHECK(cuda_test::launches_of("row_kernel") == 2 * launches_of(ranks, b, m, chunks));
            CHECK((cuda_test::launches_of("axis_kernel") == 0) == (by_rows || chunks == 1));
        }
    };
    for (const int ranks : all_ranks) { check_one(ranks, 34, 1, 9, true); }
    check_one(2, 7, 3, 64, true);
    check_one(1, 1, 40, 12, true);
    check_one(3, 2, 1, 5, true);     // more ranks than rows
    check_one(2, 2, 40, 12, false);  // chunks of two runs of rows each
}
}  // namespace norms
TEST_CASE("CUDA peers: a norm after an overlapped product takes the rows of each chunk in one kernel") { norms::check(norms::one, {2, 3}); }
TEST_CASE("CUDA peers: so does one whose operand other ranks read") { norms::check(norms::both, {1, 2, 3, 4}); }

TEST_CASE("CUDA peers: rows of a pipeline that are short enough to be held, too long, and short again")
{
    pl::cuda_peers::run(
        2,
        [&](pl::cuda_communicator& comm) {
            constexpr std::int64_t rows = 4, most = 8200;
            constexpr auto all = static_cast<std::size_t>(rows * most);
            const auto left = comm.symmetric<float>(rows);
            const auto right = comm.symmetric<float>(most), scale = comm.symmetric<float>(most);
            const auto kept = comm.symmetric<float>(all), sums = comm.symmetric<float>(all), expected = comm.symmetric<float>(all), out = comm.symmetric<float>(all);
            cuda_test::set(comm, left, 2);
            cuda_test::set(comm, right, 3);
            cuda_test::set(comm, kept, 0.5F);
            cuda_test::set(comm, scale, 5);
            pl::executable whole{norms::both, comm};
            pl::executable cut{norms::overlapped(norms::both), comm};
            cut.set_chunks(2);
            for (const std::int64_t n : {std::int64_t{12}, most, std::int64_t{8}}) {
                CAPTURE(n);
                const auto part = [&](const auto& b, std::int64_t count) { return std::span<float>(b.data(), static_cast<std::size_t>(count)); };
                const auto run = [&](auto& how, const auto& to) {
                    how(norms::x = left, norms::w = part(right, n), norms::residual = part(kept, rows * n), norms::gamma = part(scale, n),
                        norms::new_residual = part(sums, rows * n), norms::result = part(to, rows * n), norms::B = rows, norms::M = 1, norms::K = 2, norms::N = n);
                };
                run(cut, out);
                run(whole, expected);
                CHECK(cuda_test::get(comm, out) == cuda_test::get(comm, expected));
            }
        },
        cuda_test::devices());
}

TEST_CASE("CUDA peers: two products in a pipeline, of which the first has an epilogue")
{
    using mlp = pl::blocks::mlp<>;
    check_chunks({erased(mlp::unscheduled, "unscheduled"), erased(mlp::overlapped_whole, "overlapped whole")}, 2, {1, 17, 6, 9});
}

TEST_CASE("CUDA peers: an overlapped product is one launch a run, also when a graph is replayed, and with other numbers of chunks")
{
    using p = parts::of<float>;
    constexpr int ranks = 2;
    pl::cuda_peers::run(
        ranks,
        [&](pl::cuda_communicator& comm) {
            constexpr std::size_t m = 70, n = 8;
            const auto left = comm.symmetric<float>(m);
            const auto right = comm.symmetric<float>(n);
            const auto added = comm.symmetric<float>(m * n);
            const auto out = comm.symmetric<float>(m * n);
            cuda_test::set(comm, left, 2);
            cuda_test::set(comm, right, 3);
            cuda_test::set(comm, added, static_cast<float>(comm.rank()));
            pl::executable run{p::overlapped, comm};
            const auto once = [&] { run(p::x = left, p::w = right, p::mine = added, p::y = out, parts::M = m, parts::K = ranks, parts::N = n); };
            const std::vector<float> expected(m * n, 169);  // (2 * 3 + 0 + 2 * 3 + 1) ^ 2
            for (const int chunks : {3, 5, 2}) {
                run.set_chunks(chunks);
                once();
                comm.synchronize();
                comm.barrier("a run is done");
                if (comm.rank() == 0) { cuda_test::forget_launches(); }
                comm.barrier("launches are forgotten");
                cuda_test::set(comm, out, 0);
                cudaGraph_t graph = nullptr;
                cudaGraphExec_t replay = nullptr;
                pl::cuda::check(cudaStreamBeginCapture(comm.stream(), cudaStreamCaptureModeThreadLocal), "capture");
                once();
                pl::cuda::check(cudaStreamEndCapture(comm.stream(), &graph), "capture");
                pl::cuda::check(cudaGraphInstantiate(&replay, graph, 0), "graph");
                for (int i = 0; i < 3; ++i) { pl::cuda::check(cudaGraphLaunch(replay, comm.stream()), "replay"); }
                CHECK(cuda_test::get(comm, out) == expected);
                once();
                CHECK(cuda_test::get(comm, out) == expected);
                comm.barrier("runs are done");
                if (comm.rank() == 0) {
                    CHECK(cuda_test::launches_of("product_kernel") == 4 * ranks);
                    CHECK(cuda_test::launches_of("product_in_chunks", "continue_product") == 4 * ranks);
                }
                comm.barrier("launches are counted");
                pl::cuda::check(cudaGraphExecDestroy(replay), "graph");
                pl::cuda::check(cudaGraphDestroy(graph), "graph");
            }
        },
        cuda_test::devices());
}

TEST_CASE("CUDA peers: a gather overlapped with the product after it")
{
    using projection = pl::blocks::sequence_projection<>;
    check_chunks({erased(projection::unscheduled, "unscheduled"), erased(projection::overlapped, "overlapped")}, 2, {2, 9, 6, 5});
}

TEST_CASE("CUDA peers: three stages across groups")
{
    using block_t = pl::blocks::pipeline<float, 2>;
    const std::vector<harness::program> all{erased(block_t::unscheduled, "AR, C, P2P"), erased(block_t::overlapped, "overlap(RS, fuse(C-P2P), AG)"),
                                            erased(block_t::fused_overlapped, "overlap(fuse(RS-C-P2P), AG)")};
    block::check(all, 2, {2, 3, 5, 7});
    check_chunks(all, 2, {2, 5, 8, 1});
}

}  // namespace
