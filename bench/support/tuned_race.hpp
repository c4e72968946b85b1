// A tuned program against each of the schedules that it was chosen from, and the cost model against what was measured.
#pragma once

#include "measure.hpp"
#include "records.hpp"

#include <plait/blocks/model_parallel.hpp>
#include <plait/blocks/pipeline.hpp>
#include <plait/optim/lamb.hpp>
#include <plait/tune/calibrate.hpp>
#include <plait/tune/kernel_count.hpp>
#include <plait/tune/tune.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

namespace pl = plait;

/// Predicted and measured seconds of one schedule at one size.
struct prediction {
    std::string what;
    double predicted = 0;
    double measured = 0;
};

/// What the races have found beside their lines.
struct findings {
    std::vector<prediction> predictions;
    std::vector<std::string> counts;  // of schedules and of what the compiler instantiated for them
};

/// Spearman's rank correlation: 1 if the model orders all alike.
inline double rank_correlation(const std::vector<prediction>& all)
{
    const auto ranks = [&](auto&& key) {
        std::vector<std::size_t> order(all.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&](std::size_t i) { return key(all[i]); });
        std::vector<double> rank(all.size());
        for (std::size_t i = 0; i < order.size(); ++i) { rank[order[i]] = static_cast<double>(i); }
        return rank;
    };
    const auto a = ranks([](const prediction& p) { return p.predicted; });
    const auto b = ranks([](const prediction& p) { return p.measured; });
    const auto n = static_cast<double>(all.size());
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) { sum += (a[i] - b[i]) * (a[i] - b[i]); }
    return n < 2 ? 1 : 1 - 6 * sum / (n * (n * n - 1));
}

/// The buffers that a workload is called with at one size: kept here, named as the program names them.
template <class Comm>
class bound_numbers {
  public:
    explicit bound_numbers(Comm& comm) : comm_(comm) {}

    /// `bound`: else the memory alone, which all ranks of some fabrics must ask for together.
    void tensor(const char* name, std::int64_t count, float scale, bool bound = true)
    {
        buffers_.push_back(std::make_unique<buffer>(comm_.template symmetric<float>(static_cast<std::size_t>(count))));
        const std::span<float> values = *buffers_.back();
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = scale * 0.01F * static_cast<float>(static_cast<int>((i * 7919 + i / 201 + buffers_.size() * 31) % 201) - 100);
        }
        if (bound) { add({.what = pl::binding::kind::buffer, .name = name, .type = pl::dtype::f32, .data = values.data(), .count = count}); }
    }
    void extent(const char* name, std::int64_t count) { add({.what = pl::binding::kind::extent, .name = name, .count = count}); }
    void add(const pl::binding& b) { bindings_.push_back(b); }
    [[nodiscard]] std::span<const pl::binding> all() const { return bindings_; }

  private:
    using buffer = decltype(std::declval<Comm&>().template symmetric<float>(std::size_t{}));
    Comm& comm_;
    std::vector<std::unique_ptr<buffer>> buffers_;
    std::vector<pl::binding> bindings_;
};

/// What is run at which sizes: `bind(numbers, size)`.
struct tuned_setting {
    const options& o;
    std::string_view workload;
    const char* fabric;
    int rounds;
};

/// One line: the tuned program, the best of the schedules, and the unscheduled program.
inline void print_line(const tuned_setting& s, std::int64_t size, const std::vector<timing>& times, const pl::tuned_choice& c, const std::string& best)
{
    const std::string more = pl::text_of(c.chosen);
    const double spread = std::max({times[0].spread, times[1].spread, times[2].spread});
    std::printf("%-10s %9lld %11.2f %11.2f %11.2f   %6.2f %6.2f %6.0f%%  %s%s%s%s%s\n", std::string(s.workload).c_str(),
                static_cast<long long>(size), times[0].seconds * 1e6, times[1].seconds * 1e6, times[2].seconds * 1e6,
                times[1].seconds / times[0].seconds, times[2].seconds / times[0].seconds, 100 * spread, c.schedule.c_str(),
                more.empty() ? "" : ", ", more.c_str(), best == c.schedule ? "" : "; best fixed: ", best == c.schedule ? "" : best.c_str());
    std::fflush(stdout);
}

/// At every size all schedules are timed, and then, anew, the tuned program, the one that was the fastest, and the first: the
/// least of many numbers is low by luck as well, and would be no fair side of a comparison.
template <class Comm, class Schedules, class Bind>
void race_tuned(Comm& comm, const tuned_setting& s, const Schedules& list, const std::vector<std::int64_t>& sizes, Bind&& bind,
                const pl::machine& model, findings& found)
{
    const pl::kernel_count count = pl::count_kernels(list);
    found.counts.push_back(pl::joined({s.workload, ": ", Schedules::size, " schedules of ", count.passes, " passes, ", count.kernels, " kernels"}));
    auto tuned = pl::tune(list, comm, {.seconds = s.o.quick ? 0.1 : 0.5, .model = model});
    auto fixed = pl::detail::candidates_of<Comm>(list);
    for (auto& f : fixed) { f.made = f.make(comm); }
    for (const std::int64_t size : sizes) {
        bound_numbers<Comm> numbers(comm);
        bind(numbers, size);
        const auto all = numbers.all();
        tuned.run(all);
        std::vector<contestant> contestants;
        for (auto& f : fixed) { contestants.push_back({f.name, [&run = *f.made, all] { run.run(all); }}); }
        const std::vector<timing> each = race(comm, contestants, s.rounds, 1e-3);
        for (std::size_t i = 0; i < each.size(); ++i) {
            const double predicted = pl::detail::predicted(fixed[i].image, fixed[i].made->arguments(), model);
            found.predictions.push_back({std::string(s.workload) + " " + std::to_string(size) + " " + fixed[i].name, predicted, each[i].seconds});
        }
        const auto fastest = std::ranges::min_element(each, {}, &timing::seconds) - each.begin();
        const auto best = static_cast<std::size_t>(agreed(comm, static_cast<double>(fastest)));
        const std::vector<contestant> last{{"tuned", [&] { tuned.run(all); }}, contestants[best], contestants[0]};
        const std::vector<timing> times = race(comm, last, 2 * s.rounds + 1, 1e-3);
        if (comm.rank() != 0) { continue; }
        print_line(s, size, times, tuned.choices().back(), fixed[best].name);
        for (std::size_t i = 0; i < last.size(); ++i) {
            write(s.o, {.workload = std::string(s.workload),
                        .schedule = last[i].name,
                        .fabric = s.fabric,
                        .dtype = "f32",
                        .n = size,
                        .ranks = comm.size(),
                        .seconds = times[i].seconds,
                        .ratio_to_unscheduled = times[2].seconds / times[i].seconds,
                        .spread = times[i].spread});
        }
    }
}

/// What a tuned run takes beyond the same run of an executable, in seconds; both in turns.
template <class Comm>
double overhead_of_tuned(Comm& comm)
{
    using adam = pl::optim::adam<>;
    auto tuned = pl::tune(pl::candidates({"unscheduled"}, adam::unscheduled), comm, {.seconds = 0.05});
    pl::executable plain{adam::unscheduled, comm};
    bound_numbers<Comm> numbers(comm);
    for (const char* name : {"g", "p", "m", "v"}) { numbers.tensor(name, 16, 1); }
    for (const char* name : {"lr", "beta1", "beta2", "eps", "c1", "c2"}) { numbers.add(pl::detail::bind_scalar(name, 0.5F)); }
    const auto all = numbers.all();
    const auto times = race(comm, {{"plain", [&] { plain.run(all); }}, {"tuned", [&] { tuned.run(all); }}}, 101, 1e-3);
    return times[1].seconds - times[0].seconds;
}

template <class Comm>
void bind_adam(bound_numbers<Comm>& b, std::int64_t n)
{
    for (const char* name : {"g", "p"}) { b.tensor(name, n, 1); }
    for (const char* name : {"m", "v"}) { b.tensor(name, n, 0); }
    for (const auto& [name, x] : {std::pair{"lr", 1e-6F}, {"beta1", 0.9F}, {"beta2", 0.999F}, {"eps", 1e-8F}, {"c1", 0.1F}, {"c2", 0.01F}}) {
        b.add(pl::detail::bind_scalar(name, x));
    }
}

/// All workloads on the ranks of a communicator, whose sizes are powers of two: the elements of an optimizer's tensors, the
/// rows of a block.
template <class Comm>
void race_all_tuned(const options& o, Comm& comm, const char* fabric)
{
    const bool first = comm.rank() == 0;
    const pl::machine model = pl::calibrate(comm);
    findings found;
    const auto powers = [](int from, int to, int by) {
        std::vector<std::int64_t> all;
        for (int e = from; e <= to; e += by) { all.push_back(std::int64_t{1} << e); }
        return all;
    };
    if (first) {
        std::printf("%s, %d ranks, f32; microseconds, medians; ratios above 1: tuned is faster.\n\n%-10s %9s %11s %11s %11s   %6s %6s %7s  chosen\n",
                    fabric, comm.size(), "", "size", "tuned", "best fixed", "unsched.", "/best", "/unsch", "spread");
    }
    const tuned_setting adam{o, "adam", fabric, o.quick ? 9 : 21};
    const auto elements = o.quick ? powers(8, 20, 4) : powers(8, 26, 2);
    race_tuned(comm, adam, pl::explore(pl::optim::adam<>::unscheduled, pl::same_storage), elements,
               [](auto& b, std::int64_t n) { bind_adam(b, n); }, model, found);
    const tuned_setting lamb{o, "lamb", fabric, o.quick ? 9 : 21};
    race_tuned(comm, lamb, pl::explore(pl::optim::lamb<>::unscheduled, pl::same_storage), elements,
               [](auto& b, std::int64_t n) {
                   bind_adam(b, n);
                   b.add(pl::detail::bind_scalar("weight_decay", 0.01F));
               },
               model, found);

    // Slices along the rows or along the columns; not along the batch of two.
    constexpr auto by_rows_or_columns = [](std::string_view how) {
        return pl::same_storage(how) && how.find("split<sum>") == std::string_view::npos && how.find("overlap<mm1, mm>") == std::string_view::npos;
    };
    using pl::blocks::mlp;
    const tuned_setting block{o, "mlp", fabric, o.quick ? 7 : 15};
    const auto rows = o.quick ? powers(3, 7, 2) : powers(2, 9, 1);
    const auto parts = static_cast<std::int64_t>(comm.size());
    race_tuned(comm, block, pl::explore(mlp<>::unscheduled, by_rows_or_columns), rows,
               [&](auto& b, std::int64_t s) {
                   constexpr std::int64_t batch = 2, h = 256, k = 1024;
                   b.tensor("x", batch * s * h, 1);
                   b.tensor("w1", h * k / parts, 0.1F);
                   b.tensor("b1", k / parts, 1);
                   b.tensor("w2", k / parts * h, 0.1F);
                   b.tensor("bias", h, 1);
                   b.tensor("residual", batch * s * h, 1);
                   b.tensor("y", batch * s * h, 1);
                   for (const auto& [name, n] : {std::pair{"B", batch}, {"S", s}, {"H", h}, {"K", k}}) { b.extent(name, n); }
                   b.add(pl::detail::bind_scalar("p", 0.1F));
                   b.add(pl::detail::bind_scalar("seed", std::int64_t{1}));
               },
               model, found);
    const tuned_setting pipeline{o, "pipeline", fabric, o.quick ? 7 : 15};
    race_tuned(comm, pipeline, pl::explore(pl::blocks::pipeline<>::unscheduled, by_rows_or_columns), o.quick ? rows : powers(2, 12, 2),
               [&](auto& b, std::int64_t s) {
                   constexpr std::int64_t batch = 2, h = 256;
                   const bool sends = comm.rank() < comm.size() / 2;
                   b.tensor("x", batch * s * h, 1, sends);
                   b.tensor("bias", h, 1, sends);
                   b.tensor("residual", batch * s * h, 1, sends);
                   b.tensor("out", batch * s * h, 1, !sends);
                   for (const auto& [name, n] : {std::pair{"B", batch}, {"S", s}, {"H", h}}) { b.extent(name, n); }
                   b.add(pl::detail::bind_scalar("p", 0.1F));
                   b.add(pl::detail::bind_scalar("seed", std::int64_t{1}));
               },
               model, found);
    const double overhead = overhead_of_tuned(comm);
    if (!first) { return; }
    std::printf("\nA tuned run takes %.0f ns more than the same run of an executable (goal: below 1000).\n", overhead * 1e9);
    for (const std::string& c : found.counts) { std::printf("%s\n", c.c_str()); }
    const std::vector<prediction>& predictions = found.predictions;
    const auto off = [](const prediction& p) { return std::max(p.predicted / p.measured, p.measured / p.predicted); };
    const auto worst = std::ranges::max_element(predictions, {}, off);
    std::vector<double> factors;
    for (const prediction& p : predictions) { factors.push_back(off(p)); }
    std::ranges::sort(factors);
    std::printf("The cost model on this machine, as calibrated: rank correlation %.3f over %zu schedules and sizes; off by a factor of %.2f in "
                "the median, %.2f at worst (%s: %.1f us predicted, %.1f measured).\n",
                rank_correlation(predictions), predictions.size(), factors[factors.size() / 2], off(*worst), worst->what.c_str(),
                worst->predicted * 1e6, worst->measured * 1e6);
}

}  // namespace bench
