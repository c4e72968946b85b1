// The code of docs/choosing.md.
#include <plait/fabric/threads.hpp>
#include <plait/optim/adam.hpp>
#include <plait/run/explain.hpp>
#include <plait/tune/calibrate.hpp>
#include <plait/tune/kernel_count.hpp>
#include <plait/tune/machine_file.hpp>
#include <plait/tune/simulate.hpp>
#include <plait/tune/tune.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace pl = plait;
using adam = pl::optim::adam<>;

TEST_CASE("the guide to choosing")
{
    const std::string cache = (std::filesystem::temp_directory_path() / ("plait_guide_" + std::to_string(::getpid()))).string();
    const std::string file = cache + ".machine";
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        constexpr std::size_t n = 1000;
        std::vector<float> grad(n, 0.5F), param(n), mom(n), var(n);
        // [tune]
        auto step = pl::tune(adam::unscheduled, comm, {.cache = cache});
        const auto train = [&](auto& run) {
            run(adam::g = grad, adam::p = param, adam::m = mom, adam::v = var, adam::lr = 1e-3F, adam::beta1 = 0.9F,
                adam::beta2 = 0.999F, adam::eps = 1e-8F, adam::c1 = 0.1F, adam::c2 = 0.001F);
        };
        train(step);  // the first call of a size class measures, or finds in the cache; the tensors are updated once
        // [/tune]
        CHECK(param[0] == doctest::Approx(-1e-3));
        CHECK(step.choices().size() == 1);
        // [candidates]
        auto mine = pl::tune(pl::candidates({"AR, C", "fused"}, adam::unscheduled, adam::unscheduled | pl::fuse), comm);
        auto short_list = pl::tune(pl::explore(adam::unscheduled, pl::first<3>(pl::same_storage)), comm);
        // [/candidates]
        CHECK(mine.schedules() == 2);
        CHECK(short_list.schedules() == 3);
        // [calibrate]
        const pl::machine here = pl::calibrate(comm);
        if (comm.rank() == 0) { pl::save_machine(here, file); }
        // [/calibrate]
        comm.barrier("saved");
        const pl::machine loaded = pl::load_machine(file);
        // [explain]
        pl::executable run{adam::unscheduled, comm};
        train(run);
        const pl::explanation what = pl::explain(run, here);
        if (comm.rank() == 0) { std::puts(what.text().c_str()); }
        // [/explain]
        CHECK(loaded == here);
        CHECK(what.stages.size() == 2);
        CHECK(pl::calibrate(comm, 1).bandwidth > 0);  // of next to nothing
        const pl::machine& theirs = *static_cast<const pl::machine*>(comm.exchange(&here, sizeof here, "compare")[0]);
        CHECK(theirs == here);
        for (const double x : {here.launch, here.meeting, here.bandwidth, here.cache_bandwidth, here.product_rate, here.step_rate}) {
            CHECK(std::isfinite(x));
            CHECK(x > 0);
        }
    });
    // [simulate]
    pl::machine cluster;
    cluster.levels[0] = {.ranks = 8, .latency = 1e-6, .bandwidth = 8e11};
    cluster.levels[1] = cluster.levels[2] = {.ranks = 1 << 20, .latency = 5e-6, .bandwidth = 7e11};
    const auto image = pl::image_of<pl::lowered<decltype(adam::fused)>>();
    const double seconds = pl::simulated_time(image, std::vector<pl::named_extent>{{"N", 335'707'968}}, 1024, cluster);
    // [/simulate]
    CHECK(seconds > 0);
    for (const std::string& made : {cache, cache + ".lock", file}) { std::filesystem::remove(made); }
}
