#include <plait/optim/adam.hpp>
#include <plait/blocks/model_parallel.hpp>
#include <plait/blocks/pipeline.hpp>
#include <plait/plan/cost.hpp>
#include <plait/plan/traffic.hpp>
#include <plait/tune/explore.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace {

namespace pl = plait;

/// The extents of a program by name.
template <class Program>
std::vector<std::int64_t> extents(std::initializer_list<std::pair<std::string_view, std::int64_t>> named)
{
    const pl::program_image image = pl::image_of<pl::lowered<Program>>();
    std::vector<std::int64_t> all(image.symbols.size(), -1);
    for (const auto& [name, n] : named) {
        for (std::size_t i = 0; i < all.size(); ++i) { all[i] = image.symbols[i].view() == name ? n : all[i]; }
    }
    return all;
}
template <class Program>
pl::stage_cost cost(Program, const std::vector<std::int64_t>& extents, int ranks)
{
    const pl::program_image image = pl::image_of<pl::lowered<Program>>();
    pl::stage_cost sum;
    for (std::size_t p = 0; p < image.plan.passes.size(); ++p) { sum += pl::cost_of_pass(image, p, {extents, {}, ranks}); }
    return sum;
}

using adam = pl::optim::adam<>;

}  // namespace

TEST_CASE("Adam moves what CoCoNeT says: 36 bytes per element, 8 + 36/n, 8 + 20/n")
{
    constexpr std::int64_t n = 1 << 20;
    for (int ranks : {1, 2, 4, 8}) {
        const double r = ranks;
        const auto whole = cost(adam::unscheduled, extents<decltype(adam::unscheduled)>({{"N", n}}), ranks);
        CHECK(whole.memory == doctest::Approx(36.0 * n));
        CHECK(whole.wire == doctest::Approx(2 * (r - 1) / r * 4 * n));  // an all_reduce
        const auto sliced = cost(adam::sliced, extents<decltype(adam::sliced)>({{"N", n}}), ranks);
        CHECK(sliced.memory == doctest::Approx((8 + 36 / r) * n));
        const auto fused = cost(adam::fused, extents<decltype(adam::fused)>({{"N", n}}), ranks);
        CHECK(fused.memory == doctest::Approx((8 + 20 / r) * n));
        CHECK(fused.wire == doctest::Approx(2 * (r - 1) / r * 4 * n));
        CHECK(fused.steps < whole.steps + 4.0 * n * r);
        CHECK(whole.flops == 0);
    }
}

TEST_CASE("matrix products count two operations for each pair that is multiplied, on each rank's part")
{
    using block = pl::blocks::mlp<>;
    constexpr double b = 2, s = 3, h = 5, k = 8;
    for (int ranks : {1, 2, 4}) {
        const auto e = extents<decltype(block::unscheduled)>({{"B", 2}, {"S", 3}, {"H", 5}, {"K", 8}});
        const auto c = cost(block::unscheduled, e, ranks);
        CHECK(c.flops == doctest::Approx(2 * 2 * b * s * h * k / ranks));
        CHECK(c.wire == doctest::Approx(2.0 * (ranks - 1) / ranks * 4 * b * s * h));
    }
}

TEST_CASE("a sliced send carries 1/n")
{
    using block = pl::blocks::pipeline<>;
    const auto wire_of_sends = [](auto program, int ranks) {
        const auto image = pl::image_of<pl::lowered<decltype(program)>>();
        const auto e = extents<decltype(program)>({{"B", 2}, {"S", 4}, {"H", 8}});
        double wire = 0;
        for (std::size_t p = 0; p < image.plan.passes.size(); ++p) {
            for (const pl::pass_result& r : image.plan.passes[p].results) {
                if (r.to != pl::destination::peer) { continue; }
                const double others = [&] {
                    double in = 0;
                    for (const pl::pass_operand& o : image.plan.passes[p].operands) {
                        if (o.from == pl::source::all_ranks) { in += 4.0 * 64 / ranks * (ranks - 1); }
                    }
                    return in;
                }();
                wire += pl::cost_of_pass(image, p, {e, {}, ranks}).wire - others;
            }
        }
        return wire;
    };
    CHECK(wire_of_sends(block::unscheduled, 4) == doctest::Approx(4.0 * 64));
    CHECK(wire_of_sends(block::fused, 4) == doctest::Approx(4.0 * 64 / 4));
    CHECK(wire_of_sends(block::sliced, 4) == doctest::Approx(4.0 * 64 / 4));
}

TEST_CASE("time: the longer of memory and arithmetic, and the link; a pipeline hides all but a chunk of the shorter")
{
    pl::machine m;
    m.launch = 0;
    m.meeting = 0;
    m.bandwidth = m.cache_bandwidth = 1e9;
    m.product_rate = 1e9;
    m.step_rate = 1e12;
    m.levels[0] = m.levels[1] = m.levels[2] = {1 << 20, 0, 1e8};
    using block = pl::blocks::row_parallel<>;
    const auto e = extents<decltype(block::overlapped)>({{"B", 1}, {"S", 64}, {"H", 64}, {"K", 64}});
    const auto image = pl::image_of<pl::lowered<decltype(block::overlapped)>>();
    double work = 0;
    double wire = 0;
    for (std::size_t p = 0; p < image.plan.passes.size(); ++p) {
        const auto t = pl::time_of(pl::cost_of_pass(image, p, {e, {}, 2}), m, 2);
        work += t.work;
        wire += t.wire;
    }
    CHECK(wire == doctest::Approx(2 * 0.5 * 4 * 64 * 64 / 1e8));
    for (int chunks : {1, 4, 16}) {
        CHECK(pl::predicted_time(image, {e, {}, 2}, m, chunks) ==
              doctest::Approx(std::max(work, wire) + std::min(work, wire) / chunks));
    }
    m.launch = 1;
    CHECK(pl::predicted_time(image, {e, {}, 2}, m, 3) > 3 * static_cast<double>(image.plan.passes.size()));
}

TEST_CASE("the model is constexpr")
{
    static constexpr std::array<std::int64_t, 32> all = [] {
        std::array<std::int64_t, 32> a{};
        a.fill(1024);
        return a;
    }();
    constexpr double t = pl::predicted_time(pl::image_of<pl::lowered<decltype(adam::fused)>>(), {all, {}, 4}, pl::machine{});
    static_assert(t > 0);
    const double at_run_time = pl::predicted_time(pl::image_of<pl::lowered<decltype(adam::fused)>>(), {all, {}, 4}, pl::machine{});
    CHECK(t == at_run_time);
    // Where memory decides, the schedules that move less are predicted to be faster.
    constexpr double whole = pl::predicted_time(pl::image_of<pl::lowered<decltype(adam::unscheduled)>>(), {all, {}, 4}, pl::machine{});
    static_assert(whole > t);
}
