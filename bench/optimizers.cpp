// Data-parallel optimizers: plait's schedules against each other, a plain baseline, a hand-written fused loop, and the
// time that the fused loop's memory traffic takes alone.
#include "support/by_hand.hpp"
#include "support/main.hpp"
#include "support/measure.hpp"
#include "support/optimizer_race.hpp"
#include "support/records.hpp"
#include "support/shared_buffer.hpp"

#include <plait/plait.hpp>

#include <cmath>
#include <cstdio>
#include <memory>
#include <span>

namespace {

namespace pl = plait;
using bench::contestant;
using pl::thread_communicator;

constexpr float lr = 1e-6F;
constexpr float beta1 = 0.9F;
constexpr float beta2 = 0.999F;
constexpr float eps = 1e-8F;
constexpr float c1 = 0.1F;
constexpr float c2 = 0.01F;

/// What is timed at one size.
struct setting {
    const bench::options& options;
    int ranks;
    std::int64_t n;
    int rounds;
};

/// Adam in f32: all contestants on the same gradients and parameters.
template <int Ranks>
void adam_f32(const setting& s)
{
    std::vector<bench::timing> times;
    pl::threads::run(s.ranks, [&](thread_communicator& comm) {
        using adam = pl::optim::adam<>;
        const std::int64_t part = pl::slice_of(s.n, comm.rank(), s.ranks).count;
        const auto begin = static_cast<std::size_t>(pl::slice_of(s.n, comm.rank(), s.ranks).begin);
        bench::shared_buffer<float, thread_communicator> g(comm, s.n), p(comm, s.n), average(comm, s.n);
        auto m = comm.symmetric<float>(static_cast<std::size_t>(s.n));
        auto v = comm.symmetric<float>(static_cast<std::size_t>(s.n));
        std::span<float> whole_m = m, whole_v = v;
        const std::span<float> sliced_m = whole_m.first(static_cast<std::size_t>(part));
        const std::span<float> sliced_v = whole_v.first(static_cast<std::size_t>(part));
        bench::all_buffers all{{g.all.begin(), g.all.end()}, p.all, average.all};
        const bench::adam_numbers numbers{lr, beta1, beta2, eps, 1 / c1, 1 / c2, 1 / static_cast<float>(s.ranks)};

        pl::executable unscheduled{adam::unscheduled, comm};
        pl::executable sliced{adam::sliced, comm};
        pl::executable fused{adam::fused, comm};
        const auto call = [&](auto& run, std::span<float> state_m, std::span<float> state_v) {
            run(adam::g = g.mine, adam::p = p.mine, adam::m = state_m, adam::v = state_v, adam::lr = lr,
                adam::beta1 = beta1, adam::beta2 = beta2, adam::eps = eps, adam::c1 = c1, adam::c2 = c2);
        };
        const auto by_hand = [&](bool streaming) {
            bench::fused_step<Ranks>(comm, all, s.n, streaming, [&](std::size_t at, std::size_t count, float* copy) {
                bench::fused_pass<Ranks>(all.gradients.data(), at, sliced_m.data() + (at - begin),
                                         sliced_v.data() + (at - begin), p.mine.data() + at, copy, count, numbers);
            });
        };
        const auto bare = [&](bool streaming) {
            bench::fused_step<Ranks>(comm, all, s.n, streaming, [&](std::size_t at, std::size_t count, float* copy) {
                bench::bare_pass<Ranks>(all.gradients.data(), at, sliced_m.data() + (at - begin),
                                        sliced_v.data() + (at - begin), p.mine.data() + at, copy, count);
            });
        };
        const std::vector<contestant> contestants{
            {"AR, C", [&] { call(unscheduled, whole_m, whole_v); }},
            {"RS-C-AG", [&] { call(sliced, sliced_m, sliced_v); }},
            {"fuse(RS-C-AG)", [&] { call(fused, sliced_m, sliced_v); }},
            {"baseline", [&] { bench::baseline_step<Ranks>(comm, all, whole_m.data(), whole_v.data(), s.n, numbers); }},
            {"by hand", [&] { by_hand(false); }},
            {"by hand, streaming", [&] { by_hand(true); }},
            {"limit", [&] { bare(false); }},
            {"limit, streaming", [&] { bare(true); }},
        };
        const auto result = bench::race_of_steps(comm, contestants, 6, g.mine, p.mine, whole_m, whole_v, s.rounds);
        if (comm.rank() == 0) { times = result; }
    });
    const double hand = std::min(times[4].seconds, times[5].seconds);
    const double limit = std::min(times[6].seconds, times[7].seconds);
    const double baseline = times[3].seconds;
    const auto us = [](double seconds) { return seconds * 1e6; };
    std::printf("%9lld %5d %11.1f %11.1f %11.1f %11.1f %11.1f %11.1f   %5.2f %5.2f %6.0f%% %6.0f%% %5.0f%%\n",
                static_cast<long long>(s.n), s.ranks, us(times[0].seconds), us(times[1].seconds), us(times[2].seconds),
                us(baseline), us(hand), us(limit), baseline / times[2].seconds, times[0].seconds / times[2].seconds,
                100 * hand / times[2].seconds, 100 * limit / times[2].seconds, 100 * times[2].spread);
    std::fflush(stdout);
    const char* names[] = {"AR, C", "RS-C-AG", "fuse(RS-C-AG)", "baseline", "by hand", "by hand, streaming"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
        const double t = times[i].seconds;
        const bool sliced = i != 0 && i != 3;
        bench::write(s.options, {.workload = "adam",
                                 .schedule = names[i],
                                 .fabric = "threads",
                                 .dtype = "f32",
                                 .n = s.n,
                                 .ranks = s.ranks,
                                 .seconds = t,
                                 .ratio_to_baseline = baseline / t,
                                 .ratio_to_unscheduled = times[0].seconds / t,
                                 .percent_of_limit = sliced ? std::optional(100 * limit / t) : std::nullopt,
                                 .spread = times[i].spread});
    }
}

/// Any optimizer: its schedules against the unscheduled program.
template <class Optimizer, class Gradient, class Model>
void schedules(const setting& s, const char* workload, const char* dtype)
{
    std::vector<bench::timing> times;
    pl::threads::run(s.ranks, [&](thread_communicator& comm) {
        using o = Optimizer;
        const auto n = static_cast<std::size_t>(s.n);
        const auto part = static_cast<std::size_t>(pl::slice_of(s.n, comm.rank(), s.ranks).count);
        std::vector<Gradient> g(n);
        for (std::size_t i = 0; i < n; ++i) { g[i] = static_cast<Gradient>(bench::gradient(i, comm.rank())); }
        std::vector<float> p(n, 1.0F), m(n), v(n);
        std::vector<Model> model(o::has_copy ? n : 0, Model(1.0F));
        pl::executable unscheduled{o::unscheduled, comm};
        pl::executable sliced{o::sliced, comm};
        pl::executable fused{o::fused, comm};
        const auto call = [&](auto& run, std::size_t stored) {
            const auto first = [stored](std::vector<float>& x) { return std::span(x).first(stored); };
            std::vector<pl::binding> b{o::g = g, o::p = o::has_copy ? first(p) : std::span(p), o::m = first(m),
                                       o::lr = lr};
            if constexpr (o::has_copy) { b.push_back(o::model = model); }
            if constexpr (requires { o::v; }) {
                const pl::binding rest[] = {o::v = first(v), o::beta1 = beta1, o::beta2 = beta2,
                                            o::eps = eps,    o::c1 = c1,       o::c2 = c2};
                b.insert(b.end(), std::begin(rest), std::end(rest));
            }
            if constexpr (requires { o::momentum; }) { b.push_back(o::momentum = 0.9F); }
            if constexpr (requires { o::weight_decay; }) { b.push_back(o::weight_decay = 0.01F); }
            run.run(b);
        };
        const auto result = bench::race(comm,
                                        {{"AR, C", [&] { call(unscheduled, n); }},
                                         {"RS-C-AG", [&] { call(sliced, part); }},
                                         {"fuse(RS-C-AG)", [&] { call(fused, part); }}},
                                        s.rounds, 2e-3);
        if (comm.rank() == 0) { times = result; }
    });
    const char* names[] = {"AR, C", "RS-C-AG", "fuse(RS-C-AG)"};
    std::printf("%-6s %-10s %9lld %5d %11.1f %11.1f %11.1f   %5.2f %5.0f%%\n", workload, dtype,
                static_cast<long long>(s.n), s.ranks, times[0].seconds * 1e6, times[1].seconds * 1e6,
                times[2].seconds * 1e6, times[0].seconds / times[2].seconds, 100 * times[2].spread);
    std::fflush(stdout);
    for (std::size_t i = 0; i < 3; ++i) {
        bench::write(s.options, {.workload = workload,
                                 .schedule = names[i],
                                 .fabric = "threads",
                                 .dtype = dtype,
                                 .n = s.n,
                                 .ranks = s.ranks,
                                 .seconds = times[i].seconds,
                                 .ratio_to_unscheduled = times[0].seconds / times[i].seconds,
                                 .spread = times[i].spread});
    }
}

void run(const bench::options& o)
{
    const int rounds = o.quick ? 9 : 25;
    const std::vector<int> exponents =
        o.quick ? std::vector{10, 14, 20, 22} : std::vector{10, 12, 14, 16, 18, 20, 22, 24, 26};
    std::printf(
        "Adam, f32; microseconds per step, medians of %d; ratios above 1: fuse(RS-C-AG) is faster.\n"
        "by hand and limit: the better of plain and streaming stores; limit: the fused loop's reads and writes "
        "alone.\n\n"
        "%9s %5s %11s %11s %11s %11s %11s %11s   %5s %5s %7s %7s %6s\n",
        rounds, "N", "ranks", "AR, C", "RS-C-AG", "fused", "baseline", "by hand", "limit", "/base", "/AR,C", "of hand",
        "of lim.", "spread");
    for (int ranks : {2, 4}) {
        for (int e : exponents) {
            const setting s{o, ranks, std::int64_t{1} << e, e >= 26 ? rounds / 2 : rounds};
            ranks == 2 ? adam_f32<2>(s) : adam_f32<4>(s);
        }
    }
    std::printf(
        "\nOther optimizers and mixed precision (f16 gradients, bf16 model, f32 state); microseconds per step.\n\n"
        "%-6s %-10s %9s %5s %11s %11s %11s   %5s %6s\n",
        "", "", "N", "ranks", "AR, C", "RS-C-AG", "fused", "/AR,C", "spread");
    using pl::f16, pl::bf16;
    for (int e : o.quick ? std::vector{12, 20} : std::vector{12, 16, 20, 24}) {
        for (int ranks : {2, 4}) {
            const setting s{o, ranks, std::int64_t{1} << e, rounds};
            schedules<pl::optim::sgd<>, float, float>(s, "sgd", "f32");
            schedules<pl::optim::lamb<>, float, float>(s, "lamb", "f32");
            schedules<pl::optim::adam<f16, bf16>, f16, bf16>(s, "adam", "f16/bf16");
        }
    }
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("optimizers", argc, argv, run); }
