// Schedules on any number of ranks, as the discrete-event simulation of plait/tune/simulate.hpp predicts them: first against
// runs on a few ranks with a simulated link, then on described machines.
#include "support/main.hpp"
#include "support/tuned_race.hpp"

#include <plait/plait.hpp>
#include <plait/tune/simulate.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace pl = plait;
using adam = pl::optim::adam<>;
using lamb = pl::optim::lamb<>;
using mlp = pl::blocks::mlp<>;
using pipe = pl::blocks::pipeline<>;
using extents = std::vector<pl::named_extent>;

template <class Program>
pl::program_image image(Program)
{
    return pl::image_of<pl::lowered<Program>>();
}

struct schedule {
    const char* name;
    pl::program_image image;
};
struct workload {
    const char* name;
    extents sizes;
    std::vector<schedule> schedules;
};

std::vector<schedule> schedules_of_adam() { return {{"AR, C", image(adam::unscheduled)}, {"RS-C-AG", image(adam::sliced)}, {"fused", image(adam::fused)}}; }
std::vector<schedule> schedules_of_lamb() { return {{"AR, C", image(lamb::unscheduled)}, {"RS-C-AG", image(lamb::sliced)}, {"fused", image(lamb::fused)}}; }
std::vector<schedule> schedules_of_mlp()
{
    return {{"MM, AR, C", image(mlp::unscheduled)}, {"MM, RS-C-AG", image(mlp::sliced)}, {"MM, fused", image(mlp::fused)}, {"overlapped", image(mlp::overlapped)}};
}
std::vector<schedule> schedules_of_pipeline()
{
    return {{"AR, C, P2P", image(pipe::unscheduled)}, {"RS, C, P2P, AG", image(pipe::sliced)}, {"fused", image(pipe::fused)}, {"overlapped", image(pipe::overlapped)}};
}

/// One measured run: seconds of each schedule.
template <class Bind, class... Programs>
std::vector<double> measured(pl::thread_communicator& comm, int rounds, Bind&& bind, Programs... programs)
{
    using comm_t = pl::thread_communicator;
    bench::bound_numbers<comm_t> whole(comm);
    bench::bound_numbers<comm_t> sliced(comm);
    bind(whole, false);
    bind(sliced, true);
    std::vector<std::unique_ptr<pl::executable<comm_t>>> runs;
    (runs.push_back(std::make_unique<pl::executable<comm_t>>(programs, comm)), ...);
    std::vector<bench::contestant> all;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto bindings = i == 0 ? whole.all() : sliced.all();
        all.push_back({"", [&run = *runs[i], bindings] { run.run(bindings); }});
    }
    std::vector<double> seconds;
    for (const bench::timing& t : bench::race(comm, all, rounds, 1e-3)) { seconds.push_back(t.seconds); }
    return seconds;
}

/// Runs on 2 to 6 ranks over a simulated link against the simulation of the machine as calibrated.
void check(const bench::options& o)
{
    std::printf("Against runs on threads over a simulated link of 50 us and 400 MB/s (two cores, so that more ranks share them); ms.\n\n"
                "%-9s %5s  %-16s %9s %9s %7s\n", "", "ranks", "schedule", "simulated", "measured", "error");
    std::vector<double> errors;
    const pl::link link{std::chrono::microseconds(50), 4e8};
    for (const int ranks : o.quick ? std::vector{2, 4} : std::vector{2, 3, 4, 6}) {
        pl::threads::run(
            ranks,
            [&](pl::thread_communicator& comm) {
                const pl::machine m = pl::calibrate(comm);
                const auto report = [&](const workload& w, int of_group, const std::vector<double>& seconds) {
                    if (comm.rank() != 0) { return; }
                    for (std::size_t i = 0; i < w.schedules.size(); ++i) {
                        const double t = pl::simulated_time(w.schedules[i].image, w.sizes, of_group, m);
                        errors.push_back(t / seconds[i] - 1);
                        std::printf("%-9s %5d  %-16s %9.3f %9.3f %6.0f%%\n", w.name, ranks, w.schedules[i].name, t * 1e3, seconds[i] * 1e3, 100 * errors.back());
                        std::fflush(stdout);
                        bench::write(o, {.workload = w.name, .schedule = w.schedules[i].name, .fabric = "threads, simulated link", .dtype = "f32",
                                         .n = w.sizes[0].number, .ranks = ranks, .seconds = seconds[i]});
                    }
                };
                const int rounds = o.quick ? 5 : 9;
                constexpr std::int64_t n = 1 << 18;
                report({"adam", {{"N", n}}, schedules_of_adam()}, ranks,
                       measured(comm, rounds,
                                [&](auto& b, bool sliced) {
                                    const std::int64_t part = sliced ? pl::slice_of(n, comm.rank(), comm.size()).count : n;
                                    for (const char* name : {"g", "p"}) { b.tensor(name, n, 1); }
                                    for (const char* name : {"m", "v"}) { b.tensor(name, part, 0); }
                                    for (const char* name : {"lr", "beta1", "beta2", "eps", "c1", "c2"}) { b.add(pl::detail::bind_scalar(name, 0.5F)); }
                                },
                                adam::unscheduled, adam::sliced, adam::fused));
                constexpr std::int64_t s = 128, h = 384, k = 1536;
                report({"mlp", {{"B", 2}, {"S", s}, {"H", h}, {"K", k}}, schedules_of_mlp()}, ranks,
                       measured(comm, rounds,
                                [&](auto& b, bool) {
                                    const auto part = pl::slice_of(k, comm.rank(), comm.size()).count;
                                    b.tensor("x", 2 * s * h, 1);
                                    b.tensor("w1", h * part, 0.1F);
                                    b.tensor("b1", part, 1);
                                    b.tensor("w2", part * h, 0.1F);
                                    for (const char* name : {"residual", "y"}) { b.tensor(name, 2 * s * h, 1); }
                                    b.tensor("bias", h, 1);
                                    for (const auto& [name, e] : {std::pair{"B", std::int64_t{2}}, {"S", s}, {"H", h}, {"K", k}}) { b.extent(name, e); }
                                    b.add(pl::detail::bind_scalar("p", 0.1F));
                                    b.add(pl::detail::bind_scalar("seed", std::int64_t{1}));
                                },
                                mlp::unscheduled, mlp::sliced, mlp::fused, mlp::overlapped));
                if (ranks % 2 != 0) { return; }
                report({"pipeline", {{"B", 2}, {"S", s}, {"H", h}}, schedules_of_pipeline()}, ranks / 2,
                       measured(comm, rounds,
                                [&](auto& b, bool) {
                                    if (comm.rank() < ranks / 2) {
                                        for (const char* name : {"x", "residual"}) { b.tensor(name, 2 * s * h, 1); }
                                        b.tensor("bias", h, 1);
                                    } else {
                                        b.tensor("out", 2 * s * h, 1);
                                    }
                                    for (const auto& [name, e] : {std::pair{"B", std::int64_t{2}}, {"S", s}, {"H", h}}) { b.extent(name, e); }
                                    b.add(pl::detail::bind_scalar("p", 0.1F));
                                    b.add(pl::detail::bind_scalar("seed", std::int64_t{1}));
                                },
                                pipe::unscheduled, pipe::sliced, pipe::fused, pipe::overlapped));
            },
            pl::default_deadline, link);
    }
    std::vector<double> sizes;
    for (const double e : errors) { sizes.push_back(std::abs(e)); }
    std::ranges::sort(sizes);
    std::printf("\n  error seen: %.0f%% in the median, %.0f%% at most, of %zu runs\n", 100 * sizes[sizes.size() / 2], 100 * sizes.back(), sizes.size());
}

struct described {
    const char* name;
    const char* assumptions;
    pl::machine m;
    bool has_gpus;
};

std::vector<described> machines()
{
    pl::machine h100;
    h100.launch = 3e-6;
    h100.meeting = 4e-6;
    h100.bandwidth = h100.cache_bandwidth = 3.0e12;
    h100.product_rate = 6e14;
    h100.step_rate = 2e13;
    h100.levels[0] = {8, 1e-6, 8e11};
    h100.levels[1] = h100.levels[2] = {1 << 30, 5e-6, 8 * 9e10};
    pl::machine h200 = h100;
    h200.bandwidth = h200.cache_bandwidth = 4.3e12;
    pl::machine cpu;
    cpu.launch = 2e-6;
    cpu.meeting = 3e-6;
    cpu.bandwidth = 2e11;
    cpu.cache = 3e7;
    cpu.cache_bandwidth = 1e12;
    cpu.product_rate = 3e12;
    cpu.step_rate = 1e12;
    cpu.levels[0] = {2, 0, std::numeric_limits<double>::infinity()};
    cpu.levels[1] = cpu.levels[2] = {1 << 30, 2e-6, 2.2e10};
    return {{"H100, 8 a host with NVLink, InfiniBand",
             "memory 3.0 TB/s, products 600 TFLOP/s (bf16), NVLink 800 GB/s and 1 us, 90 GB/s and 5 us to the network for each GPU, launch 3 us", h100, true},
            {"H200, 8 a host with NVLink, InfiniBand", "as H100, memory 4.3 TB/s", h200, true},
            {"CPU cluster, 2 sockets a host, a rank each", "memory 200 GB/s, products 3 TFLOP/s (f32), network 22 GB/s and 2 us for each host", cpu, false}};
}

/// A bar for each number of ranks: how much faster the best schedule is.
std::string bar(double ratio)
{
    const int length = std::clamp(static_cast<int>(ratio * 20 + 0.5), 1, 80);
    return std::string(static_cast<std::size_t>(length), '=') + "|";
}

void predict(const bench::options& o)
{
    const std::vector<int> counts = o.quick ? std::vector{2, 8, 64, 1024, 16384} : std::vector{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
    for (const described& d : machines()) {
        std::printf("\n%s: %s\n", d.name, d.assumptions);
        const std::int64_t rows = d.has_gpus ? 1024 : 256;
        const std::vector<workload> all{
            {"adam", {{"N", 335707968}}, schedules_of_adam()},
            {"lamb", {{"N", 335707968}}, schedules_of_lamb()},
            {"mlp", {{"B", 8}, {"S", rows}, {"H", 3072}, {"K", 12288}}, schedules_of_mlp()},
            {"pipeline", {{"B", 8}, {"S", rows}, {"H", 3072}}, schedules_of_pipeline()},
        };
        for (const workload& w : all) {
            std::printf("\n  %s,", w.name);
            for (const pl::named_extent& e : w.sizes) { std::printf(" %s = %lld", std::string(e.name).c_str(), static_cast<long long>(e.number)); }
            std::printf("; ms\n  %6s", "ranks");
            for (const schedule& s : w.schedules) { std::printf(" %15s", s.name); }
            std::printf("   unscheduled / best\n");
            for (const int ranks : counts) {
                std::vector<double> times;
                for (const schedule& s : w.schedules) { times.push_back(pl::simulated_time(s.image, w.sizes, std::max(1, ranks / s.image.groups), d.m)); }
                std::printf("  %6d", ranks);
                for (const double t : times) { std::printf(" %15.3f", t * 1e3); }
                const double best = *std::ranges::min_element(times);
                std::printf("   %5.2f %s\n", times[0] / best, bar(times[0] / best).c_str());
                for (std::size_t i = 0; i < times.size(); ++i) {
                    bench::write(o, {.workload = w.name, .schedule = w.schedules[i].name, .fabric = std::string("simulated: ") + d.name, .dtype = d.has_gpus ? "bf16" : "f32",
                                     .n = w.sizes[0].number, .ranks = ranks, .seconds = times[i], .ratio_to_unscheduled = times[0] / times[i]});
                }
            }
        }
    }
    std::printf("\nAssumed: all ranks begin together and are equally fast; a collective takes log2 n messages and moves the least bytes, within hosts\n"
                "first; links carry what they are described with, whatever else runs; nothing else runs. The programs move f32, the products\n"
                "run at the rate given. No machine of these was at hand: these are predictions.\n");
}

void run(const bench::options& o)
{
    check(o);
    predict(o);
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("scaling", argc, argv, run); }
