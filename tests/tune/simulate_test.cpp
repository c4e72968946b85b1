#include <plait/blocks/model_parallel.hpp>
#include <plait/blocks/pipeline.hpp>
#include <plait/optim/adam.hpp>
#include <plait/tune/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace {

namespace pl = plait;
using adam = pl::optim::adam<>;
using block = pl::blocks::row_parallel<>;
using pipe = pl::blocks::pipeline<>;

template <class Program>
double simulated(Program, const std::vector<pl::named_extent>& sizes, int ranks, const pl::machine& m, int chunks = 0)
{
    return pl::simulated_time(pl::image_of<pl::lowered<Program>>(), sizes, ranks, m, chunks);
}

/// Only the link takes time.
pl::machine link_only(double latency, double bandwidth)
{
    pl::machine m;
    m.launch = m.meeting = 0;
    m.bandwidth = m.cache_bandwidth = m.product_rate = m.step_rate = 1e30;
    for (auto& l : m.levels) { l = {1 << 20, latency, bandwidth}; }
    return m;
}

}  // namespace

TEST_CASE("on one rank it is the sum of the passes")
{
    pl::machine m;
    m.bandwidth = m.cache_bandwidth = 1e9;
    m.step_rate = m.product_rate = 1e30;
    m.launch = 1e-3;
    m.meeting = 0;
    constexpr double n = 1 << 20;
    CHECK(simulated(adam::unscheduled, {{"N", 1 << 20}}, 1, m) == doctest::Approx(36 * n / 1e9 + 2e-3));
    CHECK(simulated(adam::fused, {{"N", 1 << 20}}, 1, m) == doctest::Approx(28 * n / 1e9 + 1e-3));
}

TEST_CASE("a link's time: 2 (n-1)/n S / bandwidth, and log2 n latencies each way")
{
    constexpr double s = 4 * (1 << 20);
    for (int n : {2, 4, 8, 64}) {
        const double rounds = n == 2 ? 1 : n == 4 ? 2 : n == 8 ? 3 : 6;
        const double t = simulated(adam::fused, {{"N", 1 << 20}}, n, link_only(1e-3, 1e9));
        CHECK(t >= doctest::Approx(2.0 * (n - 1) / n * s / 1e9 + rounds * 1e-3));
        CHECK(t <= doctest::Approx(2.0 * (n - 1) / n * s / 1e9 + 3 * rounds * 1e-3));
    }
}

TEST_CASE("hosts: ranks share the host's link, and what stays on a host does not take it")
{
    constexpr double s = 4 * (1 << 20);
    pl::machine m = link_only(0, 1e12);
    m.levels[0] = {4, 0, 1e30};
    m.levels[1] = m.levels[2] = {1 << 20, 0, 1e9};
    // Two hosts of four: half of S goes each way between them.
    CHECK(simulated(adam::fused, {{"N", 1 << 20}}, 8, m) == doctest::Approx(2 * 0.5 * s / 1e9));
    CHECK(simulated(adam::fused, {{"N", 1 << 20}}, 4, m) < 1e-6);
    // A host a rank: the least bytes.
    m.levels[0].ranks = 1;
    CHECK(simulated(adam::fused, {{"N", 1 << 20}}, 8, m) == doctest::Approx(2 * 7.0 / 8 * s / 1e9));
}

TEST_CASE("a pipeline takes at least the longer of work and link, and at most one chunk of the shorter more")
{
    const std::vector<pl::named_extent> sizes{{"B", 1}, {"S", 4096}, {"H", 256}, {"K", 512}};
    pl::machine m = link_only(0, 1e9);
    m.product_rate = 2.0 * 4096 * 256 * 256 / (2 * 0.5 * 4.0 * 4096 * 256 / 1e9);  // as long as the link
    const double link = 2 * 0.5 * 4.0 * 4096 * 256 / 1e9;
    CHECK(simulated(block::fused, sizes, 2, m) == doctest::Approx(2 * link));
    double before = 2 * link;
    for (int chunks : {2, 4, 8, 16}) {
        const double t = simulated(block::overlapped, sizes, 2, m, chunks);
        CHECK(t >= doctest::Approx(link));
        CHECK(t <= doctest::Approx(link * (1 + 2.0 / chunks)));
        CHECK(t < before);
        before = t;
    }
}

TEST_CASE("a sliced send takes 1/n of the time, and three stages overlap")
{
    const std::vector<pl::named_extent> sizes{{"B", 1}, {"S", 8192}, {"H", 64}};
    pl::machine m = link_only(0, 1e30);
    m.levels[0] = {4, 0, 1e30};  // groups on hosts of four: only the send goes between them
    m.levels[1] = m.levels[2] = {1 << 20, 0, 1e9};
    const double whole = simulated(pipe::unscheduled, sizes, 4, m);
    const double sliced = simulated(pipe::sliced, sizes, 4, m);
    CHECK(whole == doctest::Approx(4 * 4.0 * 8192 * 64 / 1e9));  // four ranks send all of it through one link
    CHECK(sliced == doctest::Approx(whole / 4));
    CHECK(simulated(pipe::overlapped, sizes, 4, m, 8) <= doctest::Approx(sliced * 1.15));
}

TEST_CASE("ranks up to 16384")
{
    pl::machine m = link_only(0, 0);
    m.levels[0] = {8, 1e-6, 8e11};
    m.levels[1] = m.levels[2] = {1 << 20, 5e-6, 7e11};
    double before = 0;
    for (int n = 16; n <= 16384; n *= 4) {
        const double t = simulated(adam::fused, {{"N", 1 << 24}}, n, m);
        CHECK(t > 0);
        CHECK(t < 1);
        if (n > 1024) { CHECK(t > before); }  // slices are small: only messages grow
        before = t;
    }
    CHECK(simulated(adam::fused, {{"N", 0}}, 16384, m) > 0);
}
