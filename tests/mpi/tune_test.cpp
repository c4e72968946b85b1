// tune, explain and calibrate on ranks that are processes.
#include "support.hpp"
#include "tune/step.hpp"

#include <plait/fabric/mpi.hpp>
#include <plait/run/explain.hpp>
#include <plait/tune/calibrate.hpp>
#include <plait/tune/tune.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace tune_test;

TEST_CASE("a tuned program on processes: all choose alike, and the tensors are updated once a call")
{
    support::run([&](pl::mpi_communicator& comm) {
        auto run = pl::tune(pl::candidates({"unscheduled", "fused"}, step, fused), comm, {.seconds = 1e-3});
        for (const std::size_t n : {0, 1, 777}) {
            auto gradients = comm.symmetric<float>(n);
            auto parameters = comm.symmetric<float>(n);
            for (std::size_t i = 0; i < n; ++i) { gradients[i] = gradient(i, comm.rank()); }
            for (int k = 1; k <= 2; ++k) {
                run(g = gradients, x = parameters);
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < n; ++i) { wrong += parameters[i] == expected(i, comm.size(), k) ? 0 : 1; }
                CHECK(wrong == 0);
            }
        }
        std::string all;
        for (const pl::tuned_choice& c : run.choices()) { all += c.sizes + c.schedule + pl::text_of(c.chosen) + ";"; }
        CHECK(run.choices().size() == 3);
        all.resize(400);
        const std::string of_rank_0(static_cast<const char*>(comm.exchange(all.data(), all.size(), "compare")[0]), all.size());
        CHECK(all == of_rank_0);
    });
}

TEST_CASE("a buffer that other ranks cannot reach is explained as a staging copy")
{
    support::run([&](pl::mpi_communicator& comm) {
        pl::executable run{step, comm};
        std::vector<float> gradients(100, 1.0F);
        std::vector<float> parameters(100);
        run(g = gradients, x = parameters);
        CHECK(parameters[3] == -0.5F * static_cast<float>(comm.size()));
        const pl::explanation e = pl::explain(run);
        bool shared = false;
        for (int r = 0; r < comm.size(); ++r) { shared = shared || (r != comm.rank() && comm.shares(r)); }
        if (shared) {
            REQUIRE(e.copies.size() == 1);
            CHECK(e.copies[0].tensor == "g");
            CHECK(e.copies[0].bytes == 400);
            CHECK(e.text().find("staged: tensor \"g\" is copied, 400 B") != std::string::npos);
        }
    });
}

}  // namespace
