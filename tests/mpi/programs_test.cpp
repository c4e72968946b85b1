// Optimizers, collectives and random shapes on ranks that are processes; buffers in plain and in symmetric memory.
#include "fabric/delays.hpp"
#include "optim/workload.hpp"
#include "run/check.hpp"

#include <plait/plait.hpp>

#include <cstdlib>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::erased;

constexpr auto N = pl::dim<"N">;
constexpr auto M = pl::dim<"M">;

int processes()
{
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

TEST_CASE("processes: Adam in all schedules, one buffer and many")
{
    const workload::optimizer adam = workload::make<pl::optim::adam<>>("adam");
    const int n = processes();
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{n + 1}, std::int64_t{4099}}) {
        workload::check(adam, {.ranks = n, .n = size});
    }
    workload::check(adam, {.ranks = n, .n = 1033, .how = {.scattered = true}, .counts = {3, 0, 1030}});
}

TEST_CASE("processes: LAMB of low precision in all schedules")
{
    const workload::optimizer lamb = workload::make<pl::optim::lamb<pl::f16, pl::bf16>>("lamb");
    workload::check(lamb, {.ranks = processes(), .n = 1033, .how = {.partitioned = {"N"}}, .counts = {3, 0, 1030}});
}

TEST_CASE("processes: every collective, alone and fused")
{
    constexpr auto g = pl::tensor<"g", float>(pl::local, M, N);
    constexpr auto h = pl::tensor<"h", pl::f16>(pl::sliced<1>, M, N);
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
    constexpr auto p = pl::program<"all">(
        pl::update(pl::tensor<"o0", float>(pl::replicated, M, N), pl::all_reduce(pl::sum, g)),
        pl::update(pl::tensor<"o1", float>(pl::sliced<0>, M, N), pl::reduce_scatter(pl::max, g)),
        pl::update(pl::tensor<"o2", float>(pl::sliced<1>, M, N), pl::reduce_scatter(pl::sum, g, pl::axis<1>)),
        pl::update(pl::tensor<"o3", float>(pl::local, M, N), pl::reduce(pl::sum, g, pl::root<0>)),
        pl::update(pl::tensor<"o4", float>(pl::replicated, M, N), pl::broadcast(g, pl::root<0>)),
        pl::update(pl::tensor<"o5", pl::f16>(pl::replicated, M, N), pl::all_gather(h)),
        pl::update(pl::tensor<"o6", pl::f16>(pl::local, M, N), pl::gather(h, pl::root<0>)),
        pl::update(pl::tensor<"o7", float>(pl::sliced<1>, M, N), pl::scatter(g, pl::root<0>, pl::axis<1>)),
        pl::update(pl::tensor<"o8", pl::f16>(pl::sliced<0>, M, N), pl::all_to_all(h, pl::axis<0>)),
        pl::update(pl::tensor<"o9", float>(pl::replicated, M, N),
                   pl::all_gather(pl::reduce_scatter(pl::sum, g) * 3_c) + x));
    for (const harness::program& e : {erased(p, "unfused"), erased(p | pl::fuse, "fused")}) {
        for (const auto& [m, n] : {std::array<std::int64_t, 2>{1, 1}, {3, 5}, {0, 4}, {17, 300}, {2, 5000}}) {
            CAPTURE(m);
            harness::check(e, processes(), harness::random_inputs(e, processes(), {{"M", m}, {"N", n}}), 4 + processes());
        }
    }
}

TEST_CASE("processes: buffers in symmetric memory are used where they are")
{
    using adam = pl::optim::adam<>;
    const std::size_t n = 1001;
    support::run([&](pl::mpi_communicator& comm) {
        auto g = comm.symmetric<float>(n);
        auto p = comm.symmetric<float>(n);
        const auto held = static_cast<std::size_t>(pl::slice_of(1001, comm.rank(), comm.size()).count);
        std::vector<float> m(held);
        std::vector<float> v(held);
        for (std::size_t i = 0; i < n; ++i) {
            g[i] = static_cast<float>(comm.rank() + 1);
            p[i] = 1.0F;
        }
        pl::executable run{adam::fused, comm};
        run(adam::g = g, adam::p = p, adam::m = m, adam::v = v, adam::lr = 0.5F, adam::beta1 = 0.0F, adam::beta2 = 0.0F,
            adam::eps = 0.0F, adam::c1 = 1.0F, adam::c2 = 1.0F);
        bool right = true;
        for (float x : p) { right = right && x == 0.5F; }
        CHECK(right);
        CHECK(run.workspace_bytes() == 0);
    });
}

TEST_CASE("processes: many short runs back to back, with delays, and buffers that change")
{
    constexpr auto g = pl::tensor<"g", float>(pl::local, N);
    constexpr auto o = pl::tensor<"o", float>(pl::replicated, N);
    constexpr auto total = pl::label<"total">(pl::all_reduce(pl::sum, g));
    constexpr auto whole = pl::program<"total">(pl::update(o, o + total));
    const char* set = std::getenv("PLAIT_SOAK_RUNS");
    support::run([&](pl::mpi_communicator& comm) {
        const int runs = set != nullptr ? std::atoi(set) : support::rounds(comm, 600);
        delays delay(7, comm.rank());
        pl::executable plain{whole, comm};
        pl::executable fused{whole | pl::split<"total"> | pl::reorder<"total"> | pl::fuse, comm};
        std::vector<float> in[2] = {std::vector<float>(70), std::vector<float>(70)};
        std::vector<float> out[2] = {std::vector<float>(70), std::vector<float>(70)};
        int wrong = 0;
        for (int i = 0; i < runs; ++i) {
            const auto which = static_cast<std::size_t>(i / 3 % 2);
            const float value = static_cast<float>(i % 100);
            for (float& x : in[which]) { x = value + static_cast<float>(comm.rank()); }
            for (float& x : out[which]) { x = -1; }
            delay();
            (i % 2 == 0 ? plain : fused)(g = in[which], o = out[which]);
            const float expected = value * static_cast<float>(comm.size()) + static_cast<float>(comm.size() * (comm.size() - 1) / 2) - 1;
            wrong += out[which][0] == expected && out[which][69] == expected ? 0 : 1;
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("processes: mismatched extents, scalars and programs are an error on every rank")
{
    constexpr auto g = pl::tensor<"g", float>(pl::local, N);
    constexpr auto o = pl::tensor<"o", float>(pl::replicated, N);
    constexpr auto a = pl::scalar<"a", float>;
    constexpr auto sum = pl::program<"total">(pl::update(o, pl::all_reduce(pl::sum, g) * a));
    constexpr auto max = pl::program<"total">(pl::update(o, pl::all_reduce(pl::max, g) * a));
    const auto text_of = [&](auto other_program, std::size_t odd_n, float odd_a) {
        std::string text;
        support::run([&](pl::mpi_communicator& comm) {
            const bool odd = comm.rank() == comm.size() - 1;
            std::vector<float> in(odd ? odd_n : 8, 1.0F);
            std::vector<float> out(in.size(), 7.0F);
            pl::executable usual{sum, comm};
            pl::executable other{other_program, comm};
            try {
                (odd ? other : usual)(g = in, o = out, a = odd ? odd_a : 1.0F);
            } catch (const pl::error& e) {
                text = e.what();
            }
            CHECK(out == std::vector<float>(in.size(), comm.size() == 1 ? 1.0F : 7.0F));
        });
        return text;
    };
    if (processes() == 1) { return; }
    const std::string last = std::to_string(processes() - 1);
    CHECK(text_of(sum, 9, 1.0F).find("extent N = ") != std::string::npos);
    CHECK(text_of(sum, 8, 2.0F).find("another value of scalar \"a\"") != std::string::npos);
    CHECK(text_of(max, 8, 1.0F).find("another program or schedule") != std::string::npos);
}

TEST_CASE("processes: a rank that throws in a run ends it on every rank")
{
    constexpr auto table = pl::tensor<"table", float>(pl::replicated, N, 2_c);
    constexpr auto tokens = pl::tensor<"tokens", std::int32_t>(pl::local, M);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, M, 2_c);
    constexpr auto p = pl::program<"bad">(pl::update(y, pl::all_reduce(pl::sum, pl::embedding(table, tokens))));
    const std::string text = support::failure_of([&](pl::mpi_communicator& comm) {
        const std::vector<float> rows(6, 1.0F);
        std::vector<std::int32_t> which{0, comm.rank() == comm.size() - 1 ? 3 : 2};
        std::vector<float> out(4);
        pl::executable run{p, comm};
        run(table = rows, tokens = which, y = out);
    });
    CAPTURE(text);
    CHECK(text.find("embedding: an index is 3, the table has 3 rows") != std::string::npos);
}

}  // namespace
