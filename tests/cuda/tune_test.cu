// tune on devices: the choice changes no result, ranks agree, and tensors are put back.
#include "cuda/memory.cuh"
#include "tune/step.hpp"

#include <plait/cuda.cuh>
#include <plait/run/explain.hpp>
#include <plait/tune/calibrate.hpp>
#include <plait/tune/tune.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace tune_test;

TEST_CASE("a tuned program on CUDA peers")
{
    for (const int ranks : {1, 2}) {
        std::mutex lock;
        std::vector<std::string> chosen;
        pl::cuda_peers::run(
            ranks,
            [&](pl::cuda_communicator& comm) {
                auto run = pl::tune(pl::candidates({"unscheduled", "fused"}, step, fused), comm, {.seconds = 1e-4});
                for (const std::size_t n : {1, 1023}) {
                    auto gradients = comm.symmetric<float>(n);
                    auto parameters = comm.symmetric<float>(n);
                    comm.synchronize();  // they are zeroed
                    std::vector<float> here(n);
                    for (std::size_t i = 0; i < n; ++i) { here[i] = gradient(i, comm.rank()); }
                    REQUIRE(cudaMemcpy(gradients.data(), here.data(), n * sizeof(float), cudaMemcpyDefault) == cudaSuccess);
                    for (int k = 1; k <= 2; ++k) {
                        run(g = gradients, x = parameters);
                        comm.synchronize();
                        REQUIRE(cudaMemcpy(here.data(), parameters.data(), n * sizeof(float), cudaMemcpyDefault) == cudaSuccess);
                        std::size_t wrong = 0;
                        for (std::size_t i = 0; i < n; ++i) { wrong += here[i] == expected(i, ranks, k) ? 0 : 1; }
                        const std::lock_guard guard(lock);
                        CHECK(wrong == 0);
                    }
                }
                const pl::explanation e = pl::explain(run.current(), pl::calibrate(comm, 256));
                const std::lock_guard guard(lock);
                CHECK(run.choices().size() == 2);
                CHECK(e.ranks == ranks);
                CHECK(!e.stages.empty());
                CHECK(comm.fabric_name().starts_with("cuda_peers, "));
                CHECK(!comm.device_name().empty());
                std::string all;
                for (const pl::tuned_choice& c : run.choices()) { all += c.sizes + c.schedule + pl::text_of(c.chosen) + ";"; }
                chosen.push_back(all);
            },
            cuda_test::devices());
        for (const std::string& c : chosen) { CHECK(c == chosen[0]); }
    }
}

}  // namespace
