#include <plait/blocks/model_parallel.hpp>
#include <plait/core/json.hpp>
#include <plait/fabric/threads.hpp>
#include <plait/optim/adam.hpp>
#include <plait/run/explain.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

namespace pl = plait;
using adam = pl::optim::adam<>;

/// Explains Adam's schedule `p` after a run with n elements on two ranks.
template <class Program>
pl::explanation of_adam(Program p, std::size_t n, bool whole)
{
    pl::explanation found;
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        pl::executable run{p, comm};
        std::vector<float> g(n), w(n), m(n), v(n);
        const auto part = static_cast<std::size_t>(pl::slice_of(static_cast<std::int64_t>(n), comm.rank(), 2).count);
        m.resize(whole ? n : part);
        v.resize(whole ? n : part);
        run(adam::g = g, adam::p = w, adam::m = m, adam::v = v, adam::lr = 1.0F, adam::beta1 = 0.9F, adam::beta2 = 0.9F,
            adam::eps = 1.0F, adam::c1 = 1.0F, adam::c2 = 1.0F);
        if (comm.rank() == 0) { found = pl::explain(run); }
    });
    return found;
}

}  // namespace

TEST_CASE("stages, bytes and launches of Adam")
{
    const pl::explanation e = of_adam(adam::unscheduled, 1 << 16, true);
    CHECK(e.program == "adam");
    CHECK(e.ranks == 2);
    CHECK(e.sizes == "N = 65536");
    REQUIRE(e.stages.size() == 2);
    CHECK(e.launches() == 2);
    CHECK(e.cost().memory == doctest::Approx(36.0 * (1 << 16)));
    CHECK(e.stages[0].where == "handed around");
    CHECK(e.stages[0].kind == pl::stage_kind::communication);
    CHECK(e.stages[1].kind == pl::stage_kind::compute);
    CHECK(e.predicted() == doctest::Approx(e.stages[0].predicted + e.stages[1].predicted));
    CHECK(e.workspace == 4 << 16);

    const pl::explanation f = of_adam(adam::fused, 1 << 16, false);
    REQUIRE(f.stages.size() == 1);
    CHECK(f.stages[0].kind == pl::stage_kind::fused);
    CHECK(f.stages[0].where == "slice");
    CHECK(f.cost().memory == doctest::Approx(18.0 * (1 << 16)));
    CHECK(f.workspace == 0);
    CHECK(f.predicted() < e.predicted());
}

TEST_CASE("as text, JSON and a difference")
{
    const pl::explanation e = of_adam(adam::unscheduled, 1000, true);
    const pl::explanation f = of_adam(adam::fused, 1000, false);
    const std::string text = e.text();
    CHECK(text.starts_with("program \"adam\", 2 ranks, N = 1000\n"));
    CHECK(text.find("all_reduce gradient") != std::string::npos);
    CHECK(text.find("36.0 kB") != std::string::npos);
    CHECK(text.find("workspace 4.03 kB") != std::string::npos);

    const pl::json::value v = pl::json::parse(e.json());
    CHECK(v.at("ranks").get<double>("ranks") == 2);
    const auto& stages = v.at("stages").get<pl::json::array>("stages");
    REQUIRE(stages.size() == 2);
    CHECK(stages[1].at("memory_bytes").get<double>("bytes") == 28000);

    const std::string d = pl::diff(e, f);
    CHECK(d.find("launches         2        1         0.50x") != std::string::npos);
    CHECK(d.find("memory     36.0 kB  18.0 kB         0.50x") != std::string::npos);
    CHECK(d.find("- all_reduce gradient (handed around)") != std::string::npos);
    CHECK(d.find("+ reduce_scatter gradient") != std::string::npos);
}

TEST_CASE("before the first run sizes are not known, and after it measured times stand beside the prediction")
{
    pl::threads::run(1, [&](pl::thread_communicator& comm) {
        pl::executable run{adam::unscheduled, comm};
        const pl::explanation before = pl::explain(run);
        CHECK(before.sizes.empty());
        CHECK(before.stages.size() == 2);
        CHECK(before.text().find("known after the first run") != std::string::npos);
        std::vector<float> b(10), w(10), m(10), v(10);
        run(adam::g = b, adam::p = w, adam::m = m, adam::v = v, adam::lr = 1.0F, adam::beta1 = 0.9F, adam::beta2 = 0.9F,
            adam::eps = 1.0F, adam::c1 = 1.0F, adam::c2 = 1.0F);
        pl::machine slow;
        slow.bandwidth = slow.cache_bandwidth = 1e3;
        const std::vector<double> measured{0.5, 0.25};
        const pl::explanation after = pl::explain(run, slow, measured);
        CHECK(after.stages[1].measured == 0.25);
        CHECK(after.stages[1].limit == doctest::Approx(28 * 10 / 1e3));
        CHECK(after.text().find("112%") != std::string::npos);
    });
}

TEST_CASE("stages of a pipeline")
{
    using block = pl::blocks::row_parallel<>;
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        pl::executable run{block::overlapped, comm};
        std::vector<float> x(2 * 64 * 8), w(8 * 32), y(2 * 64 * 32), bias(32), residual(y.size());
        run.set_chunks(4);
        run(block::x = x, block::w = w, block::y = y, block::tail::bias = bias, block::tail::residual = residual,
            block::tail::p = 0.5F, block::tail::seed = std::int64_t{1}, pl::blocks::B = 2, pl::blocks::S = 64, pl::blocks::K = 16);
        const pl::explanation e = pl::explain(run);
        REQUIRE(e.stages.size() == 2);
        CHECK(e.chosen == "4 chunks");
        CHECK(e.stages[0].pipeline == 1);
        CHECK(e.stages[1].pipeline == 1);
        CHECK(e.stages[1].chunks == 4);
        CHECK(e.launches() == 8);
        CHECK(e.cost().flops == 2.0 * 2 * 64 * 32 * 8);
        CHECK(e.stages[1].predicted == 0);
        CHECK(e.text().find("[pipeline 1, 4 chunks]") != std::string::npos);
    });
}
