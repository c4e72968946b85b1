// Generated kernels against hand-written ones that do the same work: what they execute and move, where this runs in the
// emulator; how long they take, on a device. Both must give the same results before anything is counted or timed.
#include "support/cuda_by_hand.cuh"
#include "support/cuda_race.cuh"
#include "support/cuda_table.hpp"

#include <plait/optim/adam.hpp>
#include <plait/optim/lamb.hpp>
#include <plait/optim/sgd.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using bench::outcome;
using bench::side;
using pl::cuda_communicator;

template <class T>
using buffer = pl::device_buffer<T, cuda_communicator>;

/// This rank's part of a comparison.
template <int Ranks>
struct rank_of {
    cuda_communicator& comm;
    bench::settings const& options;
    std::int64_t n;
    pl::slice_range part = pl::slice_of(n, comm.rank(), Ranks);
    buffer<unsigned> signals{comm, static_cast<std::size_t>(pl::cuda::max_meeting_blocks) * (Ranks + 1)};

    /// Values that are the same in every run.
    template <class T>
    buffer<T> filled(std::int64_t count, int which, float scale)
    {
        std::vector<T> host(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < host.size(); ++i) {
            host[i] =
                T(scale *
                  (0.01F * static_cast<float>((i * 7919 + i / 201 + static_cast<std::size_t>(which) * 31) % 201) - 1));
        }
        buffer<T> b(comm, host.size());
        fill(b, host);
        return b;
    }
    template <class T>
    void fill(buffer<T>& b, const std::vector<T>& host)
    {
        pl::cuda::check(
            cudaMemcpyAsync(b.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice, comm.stream()),
            "filling");
        comm.synchronize();
    }
    template <class T>
    std::vector<T> copy_of(const buffer<T>& b)
    {
        std::vector<T> host(b.size());
        pl::cuda::check(
            cudaMemcpyAsync(host.data(), b.data(), host.size() * sizeof(T), cudaMemcpyDeviceToHost, comm.stream()),
            "fetching");
        comm.synchronize();
        return host;
    }
    /// The addresses of all ranks' buffers at one element; `own_first`: this rank's before those of the ranks after it.
    template <class As, class T>
    by_hand::of_ranks<As, Ranks> everywhere(const buffer<T>& b, std::int64_t at, bool own_first)
    {
        const T* mine = b.data();
        by_hand::of_ranks<As, Ranks> all{};
        const auto theirs = comm.exchange(&mine, sizeof mine, "addresses");
        for (int r = 0; r < Ranks; ++r) {
            const int from = own_first ? (comm.rank() + r) % Ranks : r;
            T* const p = *static_cast<T* const*>(theirs[static_cast<std::size_t>(from)]) + at;
            all.p[r] = reinterpret_cast<As*>(p);
        }
        comm.barrier("addresses are read");
        return all;
    }
    by_hand::rendezvous<Ranks> rendezvous()
    {
        by_hand::rendezvous<Ranks> m{};
        const auto all = everywhere<unsigned>(signals, 0, false);
        std::copy_n(all.p, Ranks, m.signals);
        m.epochs = signals.data() + pl::cuda::max_meeting_blocks * Ranks;
        m.rank = comm.rank();
        return m;
    }
    /// As many blocks as plait takes beside those of ranks on the same device.
    template <class Kernel>
    int blocks_for(Kernel* kernel, std::int64_t items)
    {
        int each = 0, multiprocessors = 0;
        pl::cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, by_hand::threads, 0), "occupancy");
        pl::cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, comm.device()),
                        "the device");
        const int sharing = comm.ranks_on_a_device();
        const int room =
            sharing > 1 ? std::min(each * multiprocessors, std::max(multiprocessors, sharing)) : each * multiprocessors;
        const std::int64_t resident = std::min(room / sharing, pl::cuda::max_meeting_blocks);
        return static_cast<int>(
            std::clamp<std::int64_t>((items + by_hand::threads - 1) / by_hand::threads, 1, resident));
    }
    template <class... Parameters, class... Given>
    void launch(void (*kernel)(Parameters...), int blocks, const Given&... given)
    {
        kernel<<<static_cast<unsigned>(blocks), by_hand::threads, 0, comm.stream()>>>(given...);
        pl::cuda::check(cudaGetLastError(), "a kernel by hand");
    }
};

/// Each step once from the same state: the buffers must then agree. Then counted or timed. `reset` restores the state.
template <int Ranks, class T>
std::vector<outcome> compare(rank_of<Ranks>& r, const std::string& what, const std::vector<side>& sides,
                             const buffer<T>& result, const std::function<void()>& reset, double tolerance)
{
    std::vector<T> expected;
    for (const side& s : sides) {
        reset();
        r.comm.barrier("a state is reset");
        s.step();
        r.comm.synchronize();
        r.comm.barrier("a step is done");
        const std::vector<T> got = r.copy_of(result);
        if (expected.empty()) { expected = got; }
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double a = static_cast<float>(expected[i]), b = static_cast<float>(got[i]);
            if (!(std::abs(a - b) <= tolerance * std::max(1.0, std::abs(a)))) {
                throw std::runtime_error(what + ": element " + std::to_string(i) + " is " + std::to_string(a) + " by " +
                                         sides[0].name + ", " + std::to_string(b) + " by " + s.name);
            }
        }
    }
    reset();
    r.comm.barrier("a state is reset");
    return bench::race(r.comm, sides, r.options.rounds);
}

constexpr float lr = 0.01F, beta1 = 0.9F, beta2 = 0.999F, eps = 1e-8F, c1 = 0.1F, c2 = 0.01F, momentum = 0.9F,
                decay = 0.01F;

template <int Ranks>
std::vector<outcome> sgd(rank_of<Ranks>& r)
{
    using o = pl::optim::sgd<>;
    auto g = r.template filled<float>(r.n, r.comm.rank(), 1);
    auto p = r.template filled<float>(r.n, 9, 1);
    buffer<float> m(r.comm, static_cast<std::size_t>(r.part.count));
    const auto p0 = r.copy_of(p), m0 = r.copy_of(m);
    pl::executable fused{o::fused, r.comm};
    const auto g_all = r.template everywhere<const float4>(g, r.part.begin, false);
    const auto p_all = r.template everywhere<float4>(p, r.part.begin, true);
    const auto meeting = r.rendezvous();
    const auto count = static_cast<unsigned>(r.part.count / 4);
    const int blocks = r.blocks_for(&by_hand::sgd_kernel<Ranks>, count);
    return compare(
        r, "sgd",
        {{"plait",
          [&] { fused(o::g = g, o::p = p, o::m = m, o::lr = lr, o::momentum = momentum, o::weight_decay = decay); }},
         {"by hand",
          [&] {
              r.launch(&by_hand::sgd_kernel<Ranks>, blocks, g_all, p_all, reinterpret_cast<float4*>(m.data()), count,
                       by_hand::sgd_numbers{lr, momentum, decay, 1.0F / Ranks}, meeting, meeting);
          }}},
        p, [&] { r.fill(p, p0), r.fill(m, m0); }, 1e-6);
}

template <int Ranks>
std::vector<outcome> adam(rank_of<Ranks>& r)
{
    using o = pl::optim::adam<>;
    auto g = r.template filled<float>(r.n, r.comm.rank(), 1);
    auto p = r.template filled<float>(r.n, 9, 1);
    buffer<float> m(r.comm, static_cast<std::size_t>(r.part.count)), v(r.comm, static_cast<std::size_t>(r.part.count));
    const auto p0 = r.copy_of(p), m0 = r.copy_of(m);
    pl::executable fused{o::fused, r.comm};
    const auto g_all = r.template everywhere<const float4>(g, r.part.begin, false);
    const auto p_all = r.template everywhere<float4>(p, r.part.begin, true);
    const auto meeting = r.rendezvous();
    const auto count = static_cast<unsigned>(r.part.count / 4);
    const int blocks = r.blocks_for(&by_hand::adam_kernel<Ranks>, count);
    return compare(
        r, "adam",
        {{"plait",
          [&] {
              fused(o::g = g, o::p = p, o::m = m, o::v = v, o::lr = lr, o::beta1 = beta1, o::beta2 = beta2,
                    o::eps = eps, o::c1 = c1, o::c2 = c2);
          }},
         {"by hand",
          [&] {
              r.launch(&by_hand::adam_kernel<Ranks>, blocks, g_all, p_all, reinterpret_cast<float4*>(m.data()),
                       reinterpret_cast<float4*>(v.data()), count,
                       by_hand::adam_numbers{-lr, beta1, beta2, eps, 1 / c1, 1 / c2, 1.0F / Ranks}, meeting, meeting);
          }}},
        p, [&] { r.fill(p, p0), r.fill(m, m0), r.fill(v, m0); }, 1e-6);
}

template <int Ranks>
std::vector<outcome> adam_mixed(rank_of<Ranks>& r)
{
    using o = pl::optim::adam<pl::f16, pl::bf16>;
    const auto stored = static_cast<std::size_t>(r.part.count);
    auto g = r.template filled<pl::f16>(r.n, r.comm.rank(), 1);
    auto p = r.template filled<float>(r.part.count, 9, 1);
    buffer<pl::bf16> model(r.comm, static_cast<std::size_t>(r.n));
    buffer<float> m(r.comm, stored), v(r.comm, stored);
    const auto p0 = r.copy_of(p), m0 = r.copy_of(m);
    pl::executable fused{o::fused, r.comm};
    const auto g_all = r.template everywhere<const uint4>(g, r.part.begin, false);
    const auto model_all = r.template everywhere<uint4>(model, r.part.begin, true);
    const auto meeting = r.rendezvous();
    const auto count = static_cast<unsigned>(r.part.count / 8);
    const int blocks = r.blocks_for(&by_hand::adam_mixed_kernel<Ranks>, count);
    const auto four = [](buffer<float>& b) { return reinterpret_cast<float4*>(b.data()); };
    return compare(
        r, "adam mixed",
        {{"plait",
          [&] {
              fused(o::g = g, o::p = p, o::model = model, o::m = m, o::v = v, o::lr = lr, o::beta1 = beta1,
                    o::beta2 = beta2, o::eps = eps, o::c1 = c1, o::c2 = c2);
          }},
         {"by hand",
          [&] {
              r.launch(&by_hand::adam_mixed_kernel<Ranks>, blocks, g_all, model_all, four(p), four(m), four(v), count,
                       by_hand::adam_numbers{-lr, beta1, beta2, eps, 1 / c1, 1 / c2, 1.0F / Ranks}, meeting, meeting);
          }}},
        model, [&] { r.fill(p, p0), r.fill(m, m0), r.fill(v, m0); }, 1e-2);
}

template <int Ranks>
std::vector<outcome> lamb(rank_of<Ranks>& r)
{
    using o = pl::optim::lamb<>;
    const auto stored = static_cast<std::size_t>(r.part.count);
    auto g = r.template filled<float>(r.n, r.comm.rank(), 1);
    auto p = r.template filled<float>(r.n, 9, 1);
    buffer<float> m(r.comm, stored), v(r.comm, stored), u(r.comm, stored);
    const auto tiles = static_cast<unsigned>((r.part.count + 1023) / 1024);
    buffer<double> sums(r.comm, 2 * tiles), parts(r.comm, 2);
    buffer<unsigned> arrived(r.comm, 1);
    const auto p0 = r.copy_of(p), m0 = r.copy_of(m);
    pl::executable fused{o::fused, r.comm};
    const auto g_all = r.template everywhere<const float4>(g, r.part.begin, false);
    const auto p_all = r.template everywhere<float4>(p, r.part.begin, true);
    const auto parts_all = r.template everywhere<const double>(parts, 0, false);
    const auto meeting = r.rendezvous();
    const auto count = static_cast<unsigned>(r.part.count / 4);
    const int blocks = r.blocks_for(&by_hand::lamb_direction_kernel<Ranks>, (count + 7) / 8);
    const int step_blocks = r.blocks_for(&by_hand::lamb_step_kernel<Ranks>, count);
    const auto four = [](buffer<float>& b) { return reinterpret_cast<float4*>(b.data()); };
    const by_hand::lamb_numbers numbers{{-lr, beta1, beta2, eps, 1 / c1, 1 / c2, 1.0F / Ranks}, decay};
    return compare(
        r, "lamb",
        {{"plait",
          [&] {
              fused(o::g = g, o::p = p, o::m = m, o::v = v, o::lr = lr, o::beta1 = beta1, o::beta2 = beta2,
                    o::eps = eps, o::c1 = c1, o::c2 = c2, o::weight_decay = decay);
          }},
         {"by hand",
          [&] {
              r.launch(&by_hand::lamb_direction_kernel<Ranks>, blocks, g_all,
                       static_cast<const float4*>(four(p) + r.part.begin / 4), four(m), four(v), four(u), count,
                       numbers, by_hand::norm_sums{sums.data(), parts.data(), arrived.data(), tiles}, meeting);
              r.launch(&by_hand::lamb_step_kernel<Ranks>, step_blocks, static_cast<const float4*>(four(u)), p_all,
                       parts_all, count, lr, meeting, meeting);
          }}},
        p, [&] { r.fill(p, p0), r.fill(m, m0), r.fill(v, m0); }, 1e-5);
}

constexpr auto R = pl::dim<"R">;
constexpr auto W = pl::dim<"W">;
constexpr std::int64_t width = 512;
namespace rows {
constexpr auto x = pl::tensor<"x", float>(pl::local, R, W);
constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, W);
constexpr auto residual = pl::tensor<"residual", float>(pl::replicated, R, W);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, R, W);
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
constexpr auto epilogue = pl::program<"epilogue">(pl::update(y, residual + pl::dropout(sum + bias, 0.1_c, 1234_c)));
constexpr auto epilogue_fused = epilogue | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
constexpr auto gamma = pl::tensor<"gamma", float>(pl::replicated, W);
constexpr auto norm = pl::program<"norm">(pl::update(y, pl::rms_norm(residual + sum, gamma, 1e-5_c)));
constexpr auto norm_fused = norm | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
}  // namespace rows

template <int Ranks>
std::vector<outcome> epilogue(rank_of<Ranks>& r)
{
    const pl::slice_range part = pl::slice_of(r.n / width, r.comm.rank(), Ranks);
    auto x = r.template filled<float>(r.n, r.comm.rank(), 1);
    auto bias = r.template filled<float>(width, 7, 1);
    auto residual = r.template filled<float>(r.n, 8, 1);
    buffer<float> y(r.comm, static_cast<std::size_t>(r.n));
    const auto y0 = r.copy_of(y);
    pl::executable fused{rows::epilogue_fused, r.comm};
    const auto x_all = r.template everywhere<const float4>(x, part.begin * width, false);
    const auto y_all = r.template everywhere<float4>(y, part.begin * width, true);
    const auto meeting = r.rendezvous();
    const auto count = static_cast<unsigned>(part.count * width / 4);
    const int blocks = r.blocks_for(&by_hand::epilogue_kernel<Ranks>, count);
    const std::uint64_t threshold = pl::keep_threshold(0.1);
    return compare(
        r, "bias, dropout, residual",
        {{"plait",
          [&] {
              fused(rows::x = x, rows::bias = bias, rows::residual = residual, rows::y = y, R = r.n / width, W = width);
          }},
         {"by hand",
          [&] {
              r.launch(&by_hand::epilogue_kernel<Ranks>, blocks, x_all, reinterpret_cast<const float4*>(bias.data()),
                       reinterpret_cast<const float4*>(residual.data()) + part.begin * width / 4, y_all, count,
                       static_cast<unsigned>(width / 4), static_cast<std::uint64_t>(part.begin * width),
                       std::uint64_t{1234}, threshold, 0.9F, meeting, meeting);
          }}},
        y, [&] { r.fill(y, y0); }, 1e-6);
}

template <int Ranks>
std::vector<outcome> rms_norm(rank_of<Ranks>& r)
{
    const pl::slice_range part = pl::slice_of(r.n / width, r.comm.rank(), Ranks);
    auto x = r.template filled<float>(r.n, r.comm.rank(), 1);
    auto gamma = r.template filled<float>(width, 7, 1);
    auto residual = r.template filled<float>(r.n, 8, 1);
    buffer<float> y(r.comm, static_cast<std::size_t>(r.n));
    const auto y0 = r.copy_of(y);
    pl::executable fused{rows::norm_fused, r.comm};
    const auto x_all = r.template everywhere<const float4>(x, part.begin * width, false);
    const auto y_all = r.template everywhere<float4>(y, part.begin * width, true);
    const auto meeting = r.rendezvous();
    const auto count = static_cast<unsigned>(part.count);
    const int blocks = r.blocks_for(&by_hand::rms_norm_kernel<Ranks, width>, part.count * 32);
    return compare(
        r, "residual, RMSNorm",
        {{"plait",
          [&] {
              fused(rows::x = x, rows::gamma = gamma, rows::residual = residual, rows::y = y, R = r.n / width,
                    W = width);
          }},
         {"by hand",
          [&] {
              r.launch(&by_hand::rms_norm_kernel<Ranks, width>, blocks, x_all,
                       reinterpret_cast<const float4*>(residual.data()) + part.begin * width / 4,
                       reinterpret_cast<const float4*>(gamma.data()), y_all, count, 1e-5F, meeting, meeting);
          }}},
        y, [&] { r.fill(y, y0); }, 1e-5);
}

/// What a generated kernel may execute: by hand times this.
constexpr double most_instructions = 1.05;
/// A comparison, and the least that it can move: bytes for each element of the whole vector, on each rank.
struct comparison {
    std::string name;
    double least_bytes;  // of n ranks: whole + per_slice / n
    bool holds_columns;  // threads keep what is the same in all rows: they read it once, and by hand as often
    std::vector<outcome> sides;
    int ranks;
    std::int64_t n;
};
struct entry {
    const char* name;
    double whole, per_slice;
    bool holds_columns;
    std::vector<outcome> (*two)(rank_of<2>&);
    std::vector<outcome> (*four)(rank_of<4>&);
};
constexpr entry entries[] = {
    {"SGD, f32", 8, 12, false, &sgd<2>, &sgd<4>},
    {"Adam, f32", 8, 20, false, &adam<2>, &adam<4>},
    {"Adam, f16/bf16", 4, 24, false, &adam_mixed<2>, &adam_mixed<4>},
    {"LAMB, f32", 8, 32, false, &lamb<2>, &lamb<4>},
    {"bias, dropout, residual, f32", 8, 8, false, &epilogue<2>, &epilogue<4>},  // the bias is read again for every row
    {"residual, RMSNorm, f32", 8, 4, true, &rms_norm<2>, &rms_norm<4>},
};

template <int Ranks>
comparison run(const bench::settings& s, const entry& e, std::int64_t n)
{
    comparison c{e.name, e.whole + e.per_slice / Ranks, e.holds_columns, {}, Ranks, n};
    int devices = 0;
    pl::cuda::check(cudaGetDeviceCount(&devices), "devices");
    std::vector<int> used;
    for (int d = 0; d < (bench::is_emulated() ? 1 : devices); ++d) { used.push_back(d); }
    pl::cuda_peers::run(
        Ranks,
        [&](cuda_communicator& comm) {
            rank_of<Ranks> r{comm, s, n};
            std::vector<outcome> outcomes;
            if constexpr (Ranks == 2) {
                outcomes = e.two(r);
            } else {
                outcomes = e.four(r);
            }
            if (comm.rank() == 0) { c.sides = std::move(outcomes); }
        },
        used);
    return c;
}

/// The worst over a side's kernels and architectures.
bench::resources worst(const bench::settings& s, const outcome& o, const std::string& architecture)
{
    bench::resources all;
    for (const std::string& k : o.did.kernels) {
        const auto& table = s.ptxas.at(architecture);
        const auto found = table.find(k);
        if (found == table.end()) { continue; }
        all.registers = std::max(all.registers, found->second.registers);
        all.stack += found->second.stack;
        all.spills += found->second.spills;
    }
    return all;
}

int failures = 0;
void expect(bool ok, const comparison& c, const std::string& what)
{
    if (ok) { return; }
    ++failures;
    std::printf("not so: %s, 2^%d on %d ranks: %s\n", c.name.c_str(),
                static_cast<int>(std::log2(static_cast<double>(c.n))), c.ranks, what.c_str());
}

void print(const bench::settings& s, const comparison& c)
{
    const int e = static_cast<int>(std::log2(static_cast<double>(c.n)));
    if (!bench::is_emulated()) {
        const outcome& a = c.sides[0];
        const outcome& b = c.sides[1];
        std::printf("| %s | 2^%d | %d | %.1f | %.1f | %.2f | %.0f%% |\n", c.name.c_str(), e, c.ranks, a.microseconds,
                    b.microseconds, b.microseconds / a.microseconds, 100 * a.spread);
        return;
    }
    const outcome& a = c.sides[0];
    const outcome& b = c.sides[1];
    const double elements = static_cast<double>(c.n) * c.ranks;
    std::string registers;
    for (const auto& [architecture, table] : s.ptxas) {
        const auto ra = worst(s, a, architecture), rb = worst(s, b, architecture);
        registers +=
            (registers.empty() ? "" : ", ") + std::to_string(ra.registers) + " / " + std::to_string(rb.registers);
        if (s.check) {
            expect(ra.registers > 0 && ra.spills == 0 && ra.stack == 0, c,
                   architecture + ": ptxas reports " + std::to_string(ra.spills) + " bytes of spills, " +
                       std::to_string(ra.stack) + " of stack, " + std::to_string(ra.registers) + " registers");
        }
        registers += ra.spills + ra.stack > 0
                         ? " (spills " + std::to_string(ra.spills) + ", stack " + std::to_string(ra.stack) + ")"
                         : "";
    }
    const double ratio = a.did.all / b.did.all;
    const double wide = a.did.wide_bytes;
    std::printf("| %s | 2^%d | %d | %.2f | %.2f | %.3f | %.3f | %.3f | %.3f | %.2f%% | %.2f / %.2f | %s |\n",
                c.name.c_str(), e, c.ranks, a.did.all / elements, b.did.all / elements, ratio,
                (a.did.loaded + a.did.stored) / elements, (b.did.loaded + b.did.stored) / elements, c.least_bytes,
                100 * wide / (a.did.loaded + a.did.stored), a.did.sectors / a.did.requests,
                b.did.sectors / b.did.requests, registers.c_str());
    for (const auto& [k, count] : a.did.instructions) {
        const auto of_b = b.did.instructions.at(k);
        if (std::getenv("PLAIT_BENCH_CLASSES") != nullptr && (count > 0 || of_b > 0)) {
            std::printf("    %-10s %8.3f %8.3f\n", k.c_str(), count / elements, of_b / elements);
        }
    }
    std::fflush(stdout);
    if (!s.check) { return; }
    expect(ratio <= most_instructions, c, std::to_string(ratio) + " times the instructions");
    expect(a.did.local == 0, c, "local memory is used");
    // Data moves 16 bytes a lane, and is what must move; beside it there are the words by which ranks
    // meet, and parts of sums.
    const double moved = a.did.loaded + a.did.stored;
    expect(c.holds_columns ? wide == b.did.wide_bytes : wide == c.least_bytes * elements, c,
           "16-byte accesses move " + std::to_string(wide / elements) + " bytes an element");
    expect(moved - wide <= 0.02 * moved, c,
           "other accesses move " + std::to_string(moved - wide) + " bytes");
}

/// A product with a pass over elements after it: in the product's epilogue, and as a kernel of its own, which is what happens
/// where the product is stored as well.
template <class T>
struct with_epilogue {
    static constexpr auto L = pl::dim<"L">;
    static constexpr auto a = pl::tensor<"a", T>(pl::replicated, R, L);
    static constexpr auto b = pl::tensor<"b", T>(pl::replicated, L, W);
    static constexpr auto bias = pl::tensor<"bias", T>(pl::replicated, W);
    static constexpr auto residual = pl::tensor<"residual", T>(pl::replicated, R, W);
    static constexpr auto c = pl::tensor<"c", T>(pl::replicated, R, W);
    static constexpr auto y = pl::tensor<"y", T>(pl::replicated, R, W);
    static constexpr auto product = pl::matmul(a, b);
    static constexpr auto tail = residual + pl::dropout(pl::gelu(product + bias), 0.1_c, 1234_c);
    static constexpr auto alone = pl::program<"product">(pl::update(c, product));
    static constexpr auto one = pl::program<"one">(pl::update(y, tail));
    static constexpr auto two = pl::program<"two">(pl::update(c, product), pl::update(y, tail));

    /// The product alone, then both ways.
    static std::vector<outcome> run(rank_of<1>& r, std::int64_t m, std::int64_t k, std::int64_t n)
    {
        auto left = r.template filled<T>(m * k, 1, 0.1F);
        auto right = r.template filled<T>(k * n, 2, 0.1F);
        auto added = r.template filled<T>(n, 3, 1);
        auto kept = r.template filled<T>(m * n, 4, 1);
        buffer<T> stored(r.comm, static_cast<std::size_t>(m * n)), out(r.comm, static_cast<std::size_t>(m * n));
        pl::executable only{alone, r.comm}, fused{one, r.comm}, apart{two, r.comm};
        const auto reset = [&] { r.fill(out, std::vector<T>(out.size(), T(0.0F))); };
        std::vector<outcome> all = bench::race(r.comm, {{"product", [&] { only(a = left, b = right, c = stored, R = m, L = k, W = n); }}});
        const auto both = compare(
            r, "epilogue of a product",
            {{"one kernel", [&] { fused(a = left, b = right, bias = added, residual = kept, y = out, R = m, L = k, W = n); }},
             {"two kernels",
              [&] { apart(a = left, b = right, bias = added, residual = kept, c = stored, y = out, R = m, L = k, W = n); }}},
            out, reset, 0);
        all.insert(all.end(), both.begin(), both.end());
        return all;
    }
};

void print_product(const bench::settings& s, const char* name, std::int64_t m, std::int64_t k, std::int64_t n, int size,
                   const std::vector<outcome>& sides)
{
    const double elements = static_cast<double>(m * n);
    if (!bench::is_emulated()) {
        std::printf("| %s | %lld x %lld x %lld | %.1f | %.1f | %.1f | %.0f%% |\n", name, static_cast<long long>(m),
                    static_cast<long long>(n), static_cast<long long>(k), sides[0].microseconds, sides[1].microseconds,
                    sides[2].microseconds, 100 * sides[1].spread);
        return;
    }
    // What is moved beside the operands of the product: the bias is read again for every row.
    const double operands = sides[0].did.loaded;
    const double one = sides[1].did.loaded + sides[1].did.stored - operands;
    const double two = sides[2].did.loaded + sides[2].did.stored - operands;
    const double least = 3.0 * size;
    comparison c{name, least, false, {}, 1, m * n};
    std::string registers;
    for (const auto& [architecture, table] : s.ptxas) {
        const auto used = worst(s, sides[1], architecture);
        registers += (registers.empty() ? "" : ", ") + std::to_string(used.registers);
        if (s.check) {
            expect(used.registers > 0 && used.spills == 0 && used.stack == 0, c,
                   architecture + ": ptxas reports " + std::to_string(used.spills) + " bytes of spills, " +
                       std::to_string(used.stack) + " of stack, " + std::to_string(used.registers) + " registers");
        }
    }
    std::printf("| %s | %lld x %lld x %lld | %.3f | %.3f | %.3f | %.1f | %.1f | %s |\n", name, static_cast<long long>(m),
                static_cast<long long>(n), static_cast<long long>(k), one / elements, two / elements, least,
                sides[1].did.all / elements, sides[2].did.all / elements, registers.c_str());
    std::fflush(stdout);
    if (!s.check) { return; }
    expect(sides[1].did.kernels.size() == 1 && sides[2].did.kernels.size() == 2, c, "not one kernel against two");
    expect(one == least * elements, c, "the epilogue moves " + std::to_string(one / elements) + " bytes an element");
    expect(sides[1].did.local == 0, c, "local memory is used");
}

void compare_products(const bench::settings& s)
{
    std::printf(bench::is_emulated() ? "\n| product, then bias, gelu, dropout, residual | M x N x K | bytes / element beside the operands: "
                                       "one kernel | two | least | instructions / element | two | registers |\n"
                                       "|---|---|---|---|---|---|---|---|\n"
                                     : "\n| product, then bias, gelu, dropout, residual | M x N x K | product: us | one kernel | two | "
                                       "spread |\n|---|---|---|---|---|---|\n");
    const std::vector<int> device{0};
    const std::int64_t m = bench::is_emulated() ? 256 : 4096, k = bench::is_emulated() ? 64 : 1024, n = m;
    pl::cuda_peers::run(
        1,
        [&](cuda_communicator& comm) {
            rank_of<1> r{comm, s, m * n};
            print_product(s, "f32", m, k, n, 4, with_epilogue<float>::run(r, m, k, n));
            print_product(s, "f16", m, k, n, 2, with_epilogue<pl::f16>::run(r, m, k, n));
            print_product(s, "bf16", m, k, n, 2, with_epilogue<pl::bf16>::run(r, m, k, n));
        },
        device);
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        const bench::settings s = bench::parse_settings(argc, argv);
        if (bench::is_emulated()) {
            std::printf(
                "| kernel | N | ranks | instructions / element | by hand | ratio | bytes / element | by hand | least | "
                "128-bit | sectors / request | registers: generated / by hand "
                "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        } else {
            std::printf(
                "| kernel | N | ranks | us | by hand | by hand / plait | spread |\n|---|---|---|---|---|---|---|\n");
        }
        const std::vector<int> exponents = !bench::is_emulated() ? std::vector{20, 24, 26}
                                           : s.quick             ? std::vector{16}
                                                                 : std::vector{16, 18};
        for (const entry& e : entries) {
            for (const int n : exponents) {
                print(s, run<2>(s, e, std::int64_t{1} << n));
                print(s, run<4>(s, e, std::int64_t{1} << n));
            }
        }
        compare_products(s);
        return failures == 0 ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cuda_kernels: %s\n", e.what());
        return 1;
    }
}
