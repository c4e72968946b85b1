// Whole steps of CUDA ranks, timed on a device: schedules against each other, as percent of what a copy on the device
// moves in the same time, or of the product alone. In the emulator each step runs once, and the table has no times.
#include "support/cuda_race.cuh"
#include "support/cuda_table.hpp"

#include <plait/blocks/model_parallel.hpp>
#include <plait/optim/adam.hpp>
#include <plait/optim/lamb.hpp>

#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using bench::outcome;
using bench::side;
using pl::cuda_communicator;
template <class T>
using buffer = pl::device_buffer<T, cuda_communicator>;

std::FILE* records = nullptr;

/// A row of the table. `bytes`: that the step moves at least, on each rank; 0: compared with the last side instead.
void report(const char* what, const std::vector<outcome>& sides, double bytes, double copied_per_us)
{
    for (const outcome& o : sides) {
        const bool timed = o.microseconds > 0;
        const double of = !timed      ? 0
                          : bytes > 0 ? 100 * bytes / o.microseconds / copied_per_us
                                      : 100 * sides.back().microseconds / o.microseconds;
        std::printf("| %s | %s | %.1f | %.0f%% | %s | %.0f%% |\n", what, o.name.c_str(), o.microseconds, of,
                    bytes > 0 ? "copy" : sides.back().name.c_str(), 100 * o.spread);
        if (records != nullptr) {
            std::fprintf(records,
                         "{\"what\": \"%s\", \"side\": \"%s\", \"microseconds\": %.3f, \"percent\": %.1f, \"of\": "
                         "\"%s\", \"spread\": %.3f}\n",
                         what, o.name.c_str(), o.microseconds, of, bytes > 0 ? "copy" : sides.back().name.c_str(),
                         o.spread);
        }
    }
    std::fflush(stdout);
}

constexpr auto R = pl::dim<"R">;
constexpr auto W = pl::dim<"W">;
constexpr auto x = pl::tensor<"x", float>(pl::local, R, W);
constexpr auto gamma_ = pl::tensor<"gamma", float>(pl::replicated, W);
constexpr auto residual = pl::tensor<"residual", float>(pl::replicated, R, W);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, R, W);
constexpr auto norm = pl::program<"norm">(
    pl::update(y, pl::rms_norm(residual + pl::label<"sum">(pl::all_reduce(pl::sum, x)), gamma_, 1e-5_c)));
constexpr auto norm_fused = norm | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
constexpr auto L = pl::dim<"L">;
constexpr auto M = pl::dim<"M">;
constexpr auto left = pl::tensor<"left", float>(pl::replicated, R, L);
constexpr auto right = pl::tensor<"right", float>(pl::replicated, L, M);
constexpr auto product = pl::tensor<"product", float>(pl::replicated, R, M);
constexpr auto alone = pl::program<"product">(pl::update(product, pl::matmul(left, right)));

struct sizes {
    std::int64_t n, rows, width, inner;
};

template <class O>
std::vector<pl::binding> bindings(buffer<float>& g, buffer<float>& p, std::span<float> m, std::span<float> v)
{
    std::vector<pl::binding> b{O::g = g,        O::p = p,          O::m = m,       O::v = v,     O::lr = 0.01F,
                               O::beta1 = 0.9F, O::beta2 = 0.999F, O::eps = 1e-8F, O::c1 = 0.1F, O::c2 = 0.01F};
    if constexpr (requires { O::weight_decay; }) { b.push_back(O::weight_decay = 0.01F); }
    return b;
}
template <class O>
void optimizer(cuda_communicator& comm, std::int64_t count, int rounds, const char* name, double bytes,
               double copied_per_us)
{
    const auto n = static_cast<std::size_t>(count);
    const auto part = static_cast<std::size_t>(pl::slice_of(count, comm.rank(), comm.size()).count);
    buffer<float> g(comm, n), p(comm, n), m(comm, n), v(comm, n);
    const std::span<float> all_m(m), all_v(v);
    const auto slice_m = all_m.first(part), slice_v = all_v.first(part);
    pl::executable unscheduled{O::unscheduled, comm}, sliced{O::sliced, comm}, fused{O::fused, comm};
    const auto sides = bench::race(comm,
                                   {{"AR, C", [&] { unscheduled.run(bindings<O>(g, p, all_m, all_v)); }},
                                    {"RS-C-AG", [&] { sliced.run(bindings<O>(g, p, slice_m, slice_v)); }},
                                    {"fuse(RS-C-AG)", [&] { fused.run(bindings<O>(g, p, slice_m, slice_v)); }}},
                                   rounds);
    if (comm.rank() == 0) { report(name, sides, bytes * static_cast<double>(n), copied_per_us); }
}

void on_rank(cuda_communicator& comm, const sizes& s, int rounds)
{
    const bool first = comm.rank() == 0;
    const int ranks = comm.size();
    const auto n = static_cast<std::size_t>(s.n);
    double copied_per_us = 1;
    {
        buffer<float> from(comm, n), to(comm, n);
        const auto copied = bench::race(comm,
                                        {{"copy",
                                          [&] {
                                              pl::cuda::check(cudaMemcpyAsync(to.data(), from.data(), n * sizeof(float),
                                                                              cudaMemcpyDeviceToDevice, comm.stream()),
                                                              "a copy");
                                          }}},
                                        rounds);
        if (copied[0].microseconds > 0) {
            copied_per_us = 8.0 * static_cast<double>(n) / copied[0].microseconds;
        }  // read and written
        if (first) { report("device copy", copied, 8.0 * static_cast<double>(n), copied_per_us); }
    }
    optimizer<pl::optim::adam<>>(comm, s.n, rounds, "Adam, f32", 8 + 20.0 / ranks, copied_per_us);
    optimizer<pl::optim::lamb<>>(comm, s.n, rounds, "LAMB, f32", 8 + 32.0 / ranks, copied_per_us);
    const auto elements = static_cast<std::size_t>(s.rows * s.width);
    {
        buffer<float> bx(comm, elements), br(comm, elements), by(comm, elements),
            bg(comm, static_cast<std::size_t>(s.width));
        pl::executable unscheduled{norm, comm}, fused{norm_fused, comm};
        const auto call = [&](auto& run) { run(x = bx, residual = br, gamma_ = bg, y = by, R = s.rows, W = s.width); };
        const auto sides =
            bench::race(comm, {{"AR, C", [&] { call(unscheduled); }}, {"fuse(RS-C-AG)", [&] { call(fused); }}}, rounds);
        if (first) {
            report("all_reduce, RMSNorm", sides, (8 + 4.0 / ranks) * static_cast<double>(elements), copied_per_us);
        }
    }
    {
        using block = pl::blocks::row_parallel<float, 1>;
        const std::int64_t half = s.inner / ranks;
        buffer<float> bx(comm, static_cast<std::size_t>(s.rows * half)),
            bw(comm, static_cast<std::size_t>(half * s.width)), bb(comm, static_cast<std::size_t>(s.width));
        buffer<float> br(comm, elements), by(comm, elements);
        pl::executable unscheduled{block::unscheduled, comm}, fused{block::fused, comm},
            overlapped{block::overlapped, comm}, bare{alone, comm};
        const auto call = [&](auto& run) {
            run(block::x = bx, block::w = bw, block::tail::bias = bb, block::tail::residual = br, block::y = by,
                block::tail::p = 0.1F, block::tail::seed = std::int64_t{1}, pl::blocks::B = 1, pl::blocks::S = s.rows,
                pl::blocks::H = s.width, pl::blocks::K = half * ranks);
        };
        const auto sides =
            bench::race(comm,
                        {{"MM, AR, C", [&] { call(unscheduled); }},
                         {"MM, fuse(RS-C-AG)", [&] { call(fused); }},
                         {"overlap(MM, fuse(RS-C-AG))", [&] { call(overlapped); }},
                         {"the product alone",
                          [&] { bare(left = bx, right = bw, product = by, R = s.rows, L = half, M = s.width); }}},
                        rounds);
        if (first) { report("product and collective", sides, 0, copied_per_us); }
    }
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        const bench::settings s = bench::parse_settings(argc, argv);
        if (!s.json.empty()) { records = std::fopen(s.json.c_str(), "a"); }
        int devices = 0;
        pl::cuda::check(cudaGetDeviceCount(&devices), "devices");
        if (bench::is_emulated()) { devices = 1; }
        std::vector<int> used;
        for (int d = 0; d < devices; ++d) { used.push_back(d); }
        const int ranks = std::max(2, devices);
        const sizes size =
            bench::is_emulated() ? sizes{4096, 16, 64, 64} : sizes{std::int64_t{1} << 24, 4096, 4096, 4096};
        std::printf(
            "%d ranks on %d device%s\n| step | schedule | us | percent | of | spread |\n|---|---|---|---|---|---|\n",
            ranks, devices, devices == 1 ? "" : "s");
        pl::cuda_peers::run(
            ranks, [&](cuda_communicator& comm) { on_rank(comm, size, s.rounds); }, used);
        if (records != nullptr) { std::fclose(records); }
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cuda_steps: %s\n", e.what());
        return 1;
    }
}
