// calibrate: measures the machine that a communicator's ranks run on, through programs of plait.
#pragma once

#include <plait/core/view.hpp>
#include <plait/lang/linear.hpp>
#include <plait/lang/program.hpp>
#include <plait/plan/cost.hpp>
#include <plait/tune/race.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace plait {
namespace detail {

/// What calibrate runs: each takes as long as one of a machine's numbers says.
struct yardsticks {
    static constexpr auto N = dim<"N">;
    static constexpr auto M = dim<"M">;
    static constexpr auto x = tensor<"x", float>(replicated, N);
    static constexpr auto y = tensor<"y", float>(replicated, N);
    static constexpr auto mine = tensor<"x", float>(local, N);
    static constexpr auto part = tensor<"x", float>(sliced<0>, N);
    static constexpr auto seed = scalar<"seed", std::int64_t>;
    static constexpr auto a = tensor<"x", float>(replicated, M, M);
    static constexpr auto b = tensor<"y", float>(replicated, M, M);
    static constexpr auto c = tensor<"z", float>(replicated, M, M);

    /// Memory: 8 bytes per element.
    static constexpr auto copy = program<"copy">(update(y, x + x));
    /// Arithmetic: the words of a dropout, and little memory.
    static constexpr auto words = program<"words">(update(y, dropout(x, literals::operator""_c<'0', '.', '5'>(), seed)));
    /// A matrix product.
    static constexpr auto product = program<"product">(update(c, matmul(a, b)));
    /// One pass and one meeting; what it moves comes from other ranks.
    static constexpr auto gather = program<"gather">(update(y, all_gather(part)));
};

/// Seconds of a run.
template <class Communicator>
double seconds_of(Communicator& comm, executable<Communicator>& run, view<const binding> bindings)
{
    const std::array<racer<Communicator>, 1> sides{{{&run, {}}}};
    return race<Communicator>(comm, sides, bindings, 0.1)[0];
}

}  // namespace detail

/// Measures the machine with all ranks of the communicator at work: a second or two. `elements`: of the two buffers of f32
/// that each rank works on, beyond what caches hold. All ranks get the same numbers. What lies between these ranks becomes the first level; the other levels are copies of it, for you to
/// fill in.
template <class Communicator>
machine calibrate(Communicator& comm, std::size_t elements = std::size_t{1} << 24)
{
    using detail::yardsticks;
    const std::size_t large = std::max<std::size_t>(elements, 64);
    const std::size_t small = std::min<std::size_t>(std::size_t{1} << 14, large / 4);  // 128 kB in all: in the caches of a core
    auto x = comm.template symmetric<float>(large);
    auto y = comm.template symmetric<float>(large);
    const auto bound = [&](const char* name, auto& buffer, std::size_t n) {
        return binding{.what = binding::kind::buffer, .name = name, .type = dtype::f32, .data = buffer.data(), .count = static_cast<std::int64_t>(n)};
    };
    const auto times = [&](auto& run, std::size_t n, auto... more) {
        const std::array all{bound("x", x, n), bound("y", y, n), more...};
        return detail::seconds_of<Communicator>(comm, run, all);
    };
    machine m;
    {
        executable run{yardsticks::copy, comm};
        m.launch = times(run, 1);
        const auto rate = [&](std::size_t n) { return 8.0 * static_cast<double>(n) / std::max(times(run, n) - m.launch, 1e-9); };
        m.bandwidth = rate(large);
        m.cache_bandwidth = std::max(m.bandwidth, rate(small));
        m.cache = 8.0 * static_cast<double>(small);
        for (std::size_t n = 2 * small; n < large; n *= 2) {  // as long as it is nearer to the cache's rate than to memory's
            if (rate(n) < (m.bandwidth + m.cache_bandwidth) / 2) { break; }
            m.cache = 8.0 * static_cast<double>(n);
        }
    }
    {
        executable run{yardsticks::words, comm};
        const double t = times(run, 2 * small, yardsticks::seed = std::int64_t{1}) - m.launch;
        m.step_rate = detail::weight_of(op::dropout) * 2 * static_cast<double>(small) / std::max(t, 1e-9);
    }
    {
        executable run{yardsticks::product, comm};
        std::size_t k = 512;
        while (k * k > large) { k /= 2; }
        auto z = comm.template symmetric<float>(k * k);
        const std::array all{bound("x", x, k * k), bound("y", y, k * k), bound("z", z, k * k),
                             binding{.what = binding::kind::extent, .name = "M", .count = static_cast<std::int64_t>(k)}};
        const double flops = 2.0 * static_cast<double>(k) * static_cast<double>(k) * static_cast<double>(k);
        m.product_rate = flops / std::max(detail::seconds_of<Communicator>(comm, run, all) - m.launch, 1e-9);
    }
    const auto ranks = static_cast<double>(comm.size());
    if (comm.size() > 1) {
        executable run{yardsticks::gather, comm};
        const auto time = [&](std::size_t n) {
            const auto part = static_cast<std::size_t>(slice_of(static_cast<std::int64_t>(n), comm.rank(), comm.size()).count);
            const std::array all{bound("x", x, part), bound("y", y, n),
                                 binding{.what = binding::kind::extent, .name = "N", .count = static_cast<std::int64_t>(n)}};
            return detail::seconds_of<Communicator>(comm, run, all);
        };
        const double nothing = time(0);  // the ranks meet, and that is all
        const double least = time(static_cast<std::size_t>(comm.size()));
        const double most = time(large);
        m.meeting = std::max(nothing - m.launch, 1e-9);
        // A gather reads and writes in memory what it moves: only what it takes beyond that is the link's.
        const double bytes = 4.0 * static_cast<double>(large);
        const double in_memory = bytes * (1 + 1 / ranks) / m.bandwidth;
        const double moved = bytes * (ranks - 1) / ranks;
        if (most - least > 2 * in_memory) {
            m.levels[0].latency = std::max(least - nothing, 0.0);
            m.levels[0].bandwidth = moved / (most - least - in_memory);
        }
        for (machine::level& l : m.levels) { l = m.levels[0]; }
    }
    return m;
}

}  // namespace plait
