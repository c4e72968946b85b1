// The table of schedules: what each costs, moves and stores, and how far it is from a plain loop in float64.
#pragma once

#include "by_hand.hpp"

#include <plait/plait.hpp>
#include <plait/plan/traffic.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace demo {

/// The vector that the schedules are compared on: parameters and gradients by formulas, in tensors of odd sizes.
struct comparison {
    int ranks;
    std::vector<std::int64_t> counts;
    std::int64_t n = 0;
    static constexpr int checked_steps = 3;
    static constexpr int rounds = 9;

    explicit comparison(int ranks) : ranks(ranks)
    {
        for (std::int64_t i = 0; i < 61; ++i) { counts.push_back(30'001 + 137 * i); }
        for (std::int64_t c : counts) { n += c; }
    }
    /// A multiple of 1/128, so that sums over ranks are exact: Adam blows up a rounding error where they cancel.
    [[nodiscard]] float gradient(std::size_t i, int rank) const
    {
        return 0x1p-7F *
               static_cast<float>(static_cast<int>((i * 7919 + static_cast<std::size_t>(rank) * 31) % 201) - 100);
    }
    [[nodiscard]] float parameter(std::size_t i) const { return 0.001F * static_cast<float>(i % 1999) - 1; }
};

/// The parameters after the checked steps, in float64, tensor by tensor.
inline std::vector<double> reference_parameters(const comparison& c, bool lamb, optimizer_settings s)
{
    const auto n = static_cast<std::size_t>(c.n);
    std::vector<double> p(n), m(n), v(n), u(n);
    for (std::size_t i = 0; i < n; ++i) { p[i] = static_cast<double>(c.parameter(i)); }
    const auto wide = [](float x) { return static_cast<double>(x); };
    for (int t = 1; t <= comparison::checked_steps; ++t) {
        const double c1 = 1 - std::pow(wide(s.decay_mean), t);
        const double c2 = 1 - std::pow(wide(s.decay_square), t);
        std::size_t i = 0;
        for (std::int64_t count : c.counts) {
            const std::size_t begin = i;
            double norm_p = 0;
            double norm_u = 0;
            for (; i < begin + static_cast<std::size_t>(count); ++i) {
                double g = 0;
                for (int r = 0; r < c.ranks; ++r) { g += wide(c.gradient(i, r)) / c.ranks; }
                m[i] = wide(s.decay_mean) * m[i] + (1 - wide(s.decay_mean)) * g;
                v[i] = wide(s.decay_square) * v[i] + (1 - wide(s.decay_square)) * g * g;
                u[i] = m[i] / c1 / (std::sqrt(v[i] / c2) + wide(s.epsilon)) + (lamb ? wide(s.weight_decay) * p[i] : 0);
                norm_p += p[i] * p[i];
                norm_u += u[i] * u[i];
            }
            const double ratio = lamb && norm_p > 0 && norm_u > 0 ? std::sqrt(norm_p / norm_u) : 1;
            for (std::size_t k = begin; k < i; ++k) { p[k] -= wide(1e-3F) * ratio * u[k]; }
        }
    }
    return p;
}

/// A schedule as a row of the table.
struct row {
    const char* name;
    double bytes_per_element = 0;
    double state_bytes = 0;  // m and v of one rank
    double difference = 0;   // the largest, from the reference
    std::vector<double> seconds;

    [[nodiscard]] double median() const
    {
        std::vector<double> sorted = seconds;
        std::ranges::sort(sorted);
        return sorted[sorted.size() / 2];
    }
};

/// Times and checks the three schedules of one optimizer.
template <class Program>
std::vector<row> compare(const comparison& c)
{
    const optimizer_settings s;
    constexpr bool lamb = requires { Program::weight_decay; };
    const std::vector<double> expected = reference_parameters(c, lamb, s);
    std::vector<row> rows{{"AR, C", plait::traffic_of(Program::unscheduled, c.ranks).total(), 0, 0, {}},
                          {"RS-C-AG", plait::traffic_of(Program::sliced, c.ranks).total(), 0, 0, {}},
                          {"fuse(RS-C-AG)", plait::traffic_of(Program::fused, c.ranks).total(), 0, 0, {}}};
    plait::threads::run(c.ranks, [&](plait::thread_communicator& comm) {
        const auto n = static_cast<std::size_t>(c.n);
        const auto part = static_cast<std::size_t>(plait::slice_of(c.n, comm.rank(), comm.size()).count);
        std::vector<float> g(n), p(n), m(n), v(n);
        for (std::size_t i = 0; i < n; ++i) { g[i] = c.gradient(i, comm.rank()); }
        plait::executable unscheduled{Program::unscheduled, comm};
        plait::executable sliced{Program::sliced, comm};
        plait::executable fused{Program::fused, comm};
        int t = 0;
        const auto step = [&](std::size_t schedule) {
            ++t;
            const std::size_t stored = schedule == 0 ? n : part;
            using q = Program;
            std::vector<plait::binding> b{q::g = g,
                                          q::p = p,
                                          q::m = std::span(m).first(stored),
                                          q::v = std::span(v).first(stored),
                                          q::lr = 1e-3F,
                                          q::beta1 = s.decay_mean,
                                          q::beta2 = s.decay_square,
                                          q::eps = s.epsilon,
                                          q::c1 = plait::optim::bias_correction(s.decay_mean, t),
                                          q::c2 = plait::optim::bias_correction(s.decay_square, t)};
            if constexpr (lamb) {
                b.push_back(q::weight_decay = s.weight_decay);
                b.push_back(q::N = plait::partition{c.counts});
            }
            (schedule == 0 ? unscheduled : schedule == 1 ? sliced : fused).run(b);
        };
        const auto begin_anew = [&] {
            comm.barrier("the others are done");
            t = 0;
            for (std::size_t i = 0; i < n; ++i) { p[i] = c.parameter(i); }
            std::ranges::fill(m, 0.0F);
            std::ranges::fill(v, 0.0F);
            comm.barrier("all begin anew");
        };
        for (std::size_t k = 0; k < rows.size(); ++k) {
            begin_anew();
            for (int i = 0; i < comparison::checked_steps; ++i) { step(k); }
            if (comm.rank() != 0) { continue; }
            rows[k].state_bytes = 8.0 * static_cast<double>(k == 0 ? n : part);
            for (std::size_t i = 0; i < n; ++i) {
                rows[k].difference = std::max(rows[k].difference, std::fabs(static_cast<double>(p[i]) - expected[i]));
            }
        }
        begin_anew();
        for (std::size_t i = 0; i < comparison::rounds * rows.size();
             ++i) {  // in turn, each round beginning with another one
            const std::size_t k = (i + i / rows.size()) % rows.size();
            comm.barrier("start");
            const auto start = std::chrono::steady_clock::now();
            step(k);
            comm.barrier("end");
            const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
            if (comm.rank() == 0) { rows[k].seconds.push_back(passed.count()); }
        }
    });
    return rows;
}

/// Prints the table for Adam and LAMB.
inline void print_comparison(int ranks)
{
    const comparison c(ranks);
    std::printf(
        "\nSchedules of one step, %d ranks, %lld parameters in %zu tensors, f32 (AR all_reduce, C compute,\n"
        "RS reduce_scatter, AG all_gather). Bytes are moved per parameter and rank, by the plan; state is one "
        "rank's.\n\n"
        "%-5s %-14s %9s %8s %7s %9s %11s\n",
        ranks, static_cast<long long>(c.n), c.counts.size(), "", "schedule", "ms", "ratio", "bytes", "state",
        "difference");
    const auto print_rows = [&](const char* name, const std::vector<row>& rows) {
        for (const row& r : rows) {
            std::printf("%-5s %-14s %9.2f %7.2fx %7.1f %6.1f MB %11.1e\n", &r == rows.data() ? name : "", r.name,
                        1e3 * r.median(), rows[0].median() / r.median(), r.bytes_per_element, r.state_bytes / 1e6,
                        r.difference);
        }
    };
    print_rows("Adam", compare<plait::optim::adam<>>(c));
    print_rows("LAMB", compare<plait::optim::lamb<>>(c));
    std::printf("ratio: AR, C's time over the schedule's; difference: the largest from the same steps in float64.\n");
}

}  // namespace demo
