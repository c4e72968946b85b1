// Sums over ranks of NCCL, and stores to all of them, by multicast, with the checker on.
#if !defined(PLAIT_TEST_NCCL)
#define PLAIT_TEST_NCCL
#endif
#define PLAIT_TEST_NCCL_MULTICAST
#include "cuda/launches.cuh"
#include "cuda/nccl_cases.cuh"
#include "optim/workload.hpp"
#include "run/check.hpp"

#include <plait/optim/adam.hpp>

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using harness::erased;

static_assert(pl::communicator<pl::nccl_multicast_communicator>);

constexpr auto N = pl::dim<"N">;
constexpr auto A = pl::dim<"A">;

/// Buffers of the harness are symmetric, or plain and staged, while it lives.
struct buffers_in_symmetric_memory {
    explicit buffers_in_symmetric_memory(bool symmetric = true) { nccl_test::symmetric_buffers = symmetric; }
    buffers_in_symmetric_memory(const buffers_in_symmetric_memory&) = delete;
    buffers_in_symmetric_memory& operator=(const buffers_in_symmetric_memory&) = delete;
    ~buffers_in_symmetric_memory() { nccl_test::symmetric_buffers = false; }
};
/// Communicators that are made while it lives offer no multicast.
struct without_multicast {
    without_multicast() { ::setenv("EMULATOR_NCCL_MULTIMEM", "0", 1); }
    without_multicast(const without_multicast&) = delete;
    without_multicast& operator=(const without_multicast&) = delete;
    ~without_multicast() { ::unsetenv("EMULATOR_NCCL_MULTIMEM"); }
};

harness::program with(harness::program p, const pl::parameters& chosen)
{
    p.name += ", " + pl::text_of(chosen);
    p.make = [make = std::move(p.make), chosen](harness::communicator& comm) {
        auto made = make(comm);
        made->set_parameters(chosen);
        return made;
    };
    return p;
}
constexpr pl::parameters by_multicast{.multicast = true};
constexpr pl::parameters one_shot{.all_reduce = pl::all_reduce_algorithm::one_shot, .multicast = true};
constexpr pl::parameters two_shot{.all_reduce = pl::all_reduce_algorithm::two_shot, .multicast = true};

/// What f() gave; `used`: whether multimem instructions must have been executed, or must not.
template <class F>
auto watched(bool used, F&& f)
{
    cuda_test::forget_launches();
    auto result = f();
    CHECK((cuda_test::instructions_of("multicast") > 0) == used);
    return result;
}
template <class T>
struct programs {
    static constexpr auto x = pl::tensor<"x", T>(pl::local, N);
    static constexpr auto s = pl::tensor<"s", T>(pl::sliced<0>, N);
    static constexpr auto y = pl::tensor<"y", T>(pl::replicated, N);
    static constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
    static constexpr auto whole = pl::program<"whole">(pl::update(y, sum));
    static constexpr auto scatter = pl::program<"scatter">(pl::update(s, pl::reduce_scatter(pl::sum, x)));
    static constexpr auto gather = pl::program<"gather">(pl::update(y, pl::all_gather(s)));
    static constexpr auto add = pl::program<"add">(pl::update(y, y * 0.5_c + sum));
    static constexpr auto fused = add | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
};

/// In all forms, for sizes around the ranks and others, aligned and not.
template <class T>
void check_collectives(const char* name)
{
    using p = programs<T>;
    const harness::program whole = erased(p::whole, std::string("whole ") + name);
    const harness::program scatter = erased(p::scatter, std::string("scatter ") + name);
    const harness::program gather = erased(p::gather, std::string("gather ") + name);
    const harness::program fused = erased(p::fused, std::string("fused ") + name);
    const buffers_in_symmetric_memory here;
    for (const int ranks : {1, 2, 4}) {
        for (const std::int64_t n : {0, 1, ranks - 1, ranks + 1, 1031, 1200}) {
            for (const std::size_t shift : {0, 1}) {
                if (shift != 0 && n != 1031) { continue; }
                CAPTURE(ranks);
                CAPTURE(n);
                CAPTURE(shift);
                const bool used = ranks > 1 && n > 1000;
                const harness::layout how{.shift = shift};
                const reference::inputs given = harness::random_inputs(whole, ranks, {{"N", n}});
                // Where every rank adds for itself it is not used, as ranks could get different bits; plait's choice is two-shot.
                const auto without = watched(false, [&] { return harness::check(whole, ranks, given, 4, how); });
                CHECK(without == watched(false, [&] { return harness::check(with(whole, one_shot), ranks, given, 4, how); }));
                watched(used, [&] { return harness::check(with(whole, two_shot), ranks, given, 4, how); });
                watched(used, [&] { return harness::check(with(whole, by_multicast), ranks, given, 4, how); });
                watched(used, [&] { return harness::check(with(scatter, by_multicast), ranks, harness::random_inputs(scatter, ranks, {{"N", n}}), 4, how); });
                const reference::inputs slices = harness::random_inputs(gather, ranks, {{"N", n}});
                const auto gathered = watched(used, [&] { return harness::check(with(gather, by_multicast), ranks, slices, 1, how); });
                CHECK(gathered == watched(false, [&] { return harness::check(gather, ranks, slices, 1, how); }));
                const reference::inputs sums = harness::random_inputs(fused, ranks, {{"N", n}});
                watched(used, [&] { return harness::check(with(fused, by_multicast), ranks, sums, 8, how); });
                watched(false, [&] { return harness::check(fused, ranks, sums, 8, how); });
            }
        }
    }
}

TEST_CASE("NCCL, multicast: collectives of f32") { check_collectives<float>("f32"); }
TEST_CASE("NCCL, multicast: collectives of f16") { check_collectives<pl::f16>("f16"); }
TEST_CASE("NCCL, multicast: collectives of bf16") { check_collectives<pl::bf16>("bf16"); }

TEST_CASE("NCCL, multicast: other sums and dtypes are combined as before")
{
    constexpr auto x = pl::tensor<"x", double>(pl::local, N);
    constexpr auto m = pl::tensor<"m", float>(pl::local, N);
    constexpr auto p = pl::program<"others">(pl::update(pl::tensor<"o0", double>(pl::sliced<0>, N), pl::reduce_scatter(pl::sum, x)),
                                             pl::update(pl::tensor<"o1", float>(pl::sliced<0>, N), pl::reduce_scatter(pl::max, m)));
    const buffers_in_symmetric_memory here;
    const harness::program others = erased(p, "others");
    const reference::inputs given = harness::random_inputs(others, 3, {{"N", 1200}});
    const auto without = watched(false, [&] { return harness::check(others, 3, given); });
    CHECK(watched(false, [&] { return harness::check(with(others, by_multicast), 3, given); }) == without);
}

TEST_CASE("NCCL, multicast: slices of the second dimension, and sums of what was summed")
{
    constexpr auto x = pl::tensor<"x", float>(pl::local, A, N);
    constexpr auto columns = pl::program<"columns">(pl::update(pl::tensor<"o", float>(pl::sliced<1>, A, N), pl::reduce_scatter(pl::sum, x, pl::axis<1>)),
                                                    pl::update(pl::tensor<"y", float>(pl::replicated, A, N), pl::all_gather(pl::tensor<"t", float>(pl::sliced<1>, A, N))));
    constexpr auto g = pl::tensor<"g", pl::bf16>(pl::local, N);
    constexpr auto norm = pl::program<"norm">(pl::update(pl::tensor<"n", float>(pl::replicated), pl::norm(pl::cast<float>(pl::reduce_scatter(pl::sum, g)))));
    const buffers_in_symmetric_memory here;
    for (const int ranks : {2, 4}) {
        for (const auto& [a, n] : {std::pair{5, 64}, {3, 7}}) {
            const harness::program p = erased(columns, "columns");
            watched(n == 64, [&] { return harness::check(with(p, by_multicast), ranks, harness::random_inputs(p, ranks, {{"A", a}, {"N", n}}), 4); });
        }
        const harness::program p = erased(norm, "norm");
        harness::check(with(p, by_multicast), ranks, harness::random_inputs(p, ranks, {{"N", 1031}}), 4000);
    }
}

TEST_CASE("NCCL, multicast: Adam in all schedules")
{
    const workload::optimizer adam = workload::make<pl::optim::adam<>>("adam");
    const workload::optimizer mixed = workload::make<pl::optim::adam<pl::bf16, pl::bf16>>("mixed adam");
    for (const bool symmetric : {true, false}) {
        const buffers_in_symmetric_memory here(symmetric);
        for (const int ranks : {2, 4}) {
            for (const std::int64_t n : {3, 1100, 1033}) {
                for (const workload::optimizer* o : {&adam, &mixed}) {
                    const reference::inputs given = workload::inputs_of(o->unscheduled, {.ranks = ranks, .n = n});
                    const auto expected = harness::expected(o->unscheduled, ranks, given, 2, workload::scalars);
                    for (const harness::program* p : {&o->unscheduled, &o->sliced, &o->fused}) {
                        CAPTURE(p->name);
                        const auto got = watched(n > 1000, [&] { return harness::run(with(*p, by_multicast), ranks, given, 2, workload::scalars); });
                        for (const auto& [name, written] : got.written) {
                            const pl::dtype type = got.types.at(name);
                            const double error = harness::largest_error(harness::outcome{{{name, written}}, {{name, type}}}, expected);
                            INFO(name);
                            CHECK(error <= workload::tolerance(type, o == &mixed));
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("NCCL, multicast: where it is not offered, the results are those without it")
{
    const harness::program fused = erased(programs<float>::fused, "fused");
    const reference::inputs given = harness::random_inputs(fused, 2, {{"N", 1200}});
    const buffers_in_symmetric_memory here;
    const auto without = watched(false, [&] { return harness::check(fused, 2, given, 8); });
    const without_multicast now;
    CHECK(watched(false, [&] { return harness::check(with(fused, by_multicast), 2, given, 8); }) == without);
    nccl_test::run(2, [](pl::nccl_multicast_communicator& comm, ncclComm_t) { CHECK(!comm.has_multicast()); });
}

TEST_CASE("NCCL, multicast: not of tensors that lie at different places of their windows")
{
    constexpr auto x = programs<float>::x;
    constexpr auto y = programs<float>::y;
    for (const bool apart : {false, true}) {
        watched(!apart, [&] {
            nccl_test::run(2, [&](pl::nccl_multicast_communicator& comm, ncclComm_t) {
                CHECK(comm.has_multicast());
                const auto mine = comm.symmetric<float>(300);
                const auto total = comm.symmetric<float>(200);
                nccl_test::set(comm, total, 2.0F);
                pl::executable run{programs<float>::fused, comm};
                run.set_parameters(by_multicast);
                for (const float each : {1.0F, 2.0F, 3.0F}) {  // ranks meet before they read again what others have changed
                    nccl_test::set(comm, mine, each);
                    run(x = std::span(mine.data() + (apart && comm.rank() == 1 ? 4 : 0), 200), y = total, N = 200);
                }
                CHECK(nccl_test::get(comm, total) == std::vector<float>(200, 8.75F));
            });
            return 0;
        });
    }
}

TEST_CASE("docs: ranks of NCCL with multicast")
{
    watched(true, [] {
        nccl_test::run(2, [](pl::nccl_communicator& outer, ncclComm_t your_communicator) {
            constexpr auto fused = programs<float>::fused;
            constexpr auto x = programs<float>::x;
            constexpr auto y = programs<float>::y;
            const cudaStream_t your_stream = outer.stream();
            // [multicast]
            pl::nccl_multicast_communicator comm(your_communicator, your_stream);
            auto grad = comm.symmetric<float>(1000);
            auto total = comm.symmetric<float>(1000);
            pl::executable run{fused, comm};
            run.set_parameters({.multicast = true});  // on all ranks
            run(x = grad, y = total);
            // [/multicast]
            comm.synchronize();
        });
        return 0;
    });
}

TEST_CASE("NCCL, multicast: all ranks set it, or none")
{
    const auto what = nccl_test::thrown_on(2, [](pl::nccl_communicator& comm, ncclComm_t) {
        const auto mine = comm.symmetric<float>(8);
        const auto total = comm.symmetric<float>(8);
        pl::executable run{programs<float>::fused, comm};
        if (comm.rank() == 1) { run.set_parameters(by_multicast); }
        run(programs<float>::x = mine, programs<float>::y = total);
    });
    for (const std::string& w : what) { CHECK(nccl_test::has(w, "set to multicast")); }
}

}  // namespace
