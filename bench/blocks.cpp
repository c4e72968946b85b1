// Model-parallel blocks on two ranks and the block between pipeline groups: plait's schedules against the same written by
// hand, through shared memory and over a simulated link.
#include "support/block_by_hand.hpp"
#include "support/main.hpp"
#include "support/measure.hpp"
#include "support/records.hpp"

#include <plait/plait.hpp>

#include <array>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <thread>

namespace {

namespace pl = plait;
using bench::block_shape;
using bench::contestant;
using bench::timing;
using pl::thread_communicator;

constexpr std::array chunk_counts = {2, 4, 8, 16};
constexpr std::chrono::microseconds latency{5};

/// What the threads of the side written by hand share.
struct shared_by_hand {
    explicit shared_by_hand(int ranks) : meeting(ranks), partial(static_cast<std::size_t>(ranks)), total(partial.size()) {}
    std::barrier<> meeting;
    std::vector<std::vector<float>> partial;
    std::vector<std::vector<float>> total;
};

using seconds = std::chrono::duration<double>;

void wait_for(seconds d)
{
    if (d.count() > 0) { std::this_thread::sleep_for(d); }
}

/// One rank's buffers of row_parallel (x w) or mlp (gelu(x w1 + b1) w2), both ways to compute it.
template <class Block>
class rank_of_block {
  public:
    static constexpr bool is_mlp = requires { Block::w1; };

    rank_of_block(const block_shape& s, thread_communicator& comm, shared_by_hand& shared)
        : s_(s),
          me_(static_cast<std::size_t>(comm.rank())),
          shared_(shared),
          x(bench::numbers(s.rows() * (is_mlp ? s.h : s.half()), is_mlp ? 7 : me_, 1)),
          w(bench::numbers(s.half() * s.h, 11 + me_, 0.1F)),
          w1(bench::numbers(is_mlp ? s.h * s.half() : 0, 21 + me_, 0.05F)),
          b1(bench::numbers(is_mlp ? s.half() : 0, 31 + me_, 1)),
          bias(bench::numbers(s.h, 41, 1)),
          residual(bench::numbers(s.elements(), 51, 1)),
          y(s.elements()),
          inner_(is_mlp ? s.rows() * s.half() : 0)
    {
        shared.partial[me_].resize(s.elements());
        shared.total[me_].resize(s.elements());
    }

    [[nodiscard]] std::vector<pl::binding> bindings()
    {
        using tail = typename Block::tail;
        std::vector<pl::binding> b{Block::x = x, tail::bias = bias,        tail::residual = residual,
                                   Block::y = y, tail::p = bench::drop, tail::seed = bench::drop_seed,
                                   pl::blocks::B = static_cast<std::int64_t>(s_.b),
                                   pl::blocks::S = static_cast<std::int64_t>(s_.s),
                                   pl::blocks::H = static_cast<std::int64_t>(s_.h),
                                   pl::blocks::K = static_cast<std::int64_t>(s_.k)};
        if constexpr (is_mlp) {
            const pl::binding more[] = {Block::w1 = w1, Block::b1 = b1, Block::w2 = w};
            b.insert(b.end(), std::begin(more), std::end(more));
        } else {
            b.push_back(Block::w = w);
        }
        return b;
    }

    /// What comes before the product whose result is joined: nothing, or the first half of an MLP. By OpenBLAS, or by the
    /// product that plait would take, if that is faster: ideal times are made of it.
    void before(bench::product_function product = bench::product_of_plait)
    {
        if constexpr (is_mlp) {
            product(s_.rows(), s_.half(), s_.h, x.data(), w1.data(), inner_.data());
            bench::bias_gelu(inner_.data(), b1.data(), s_.rows(), s_.half());
        }
    }
    void last_product(bench::product_function product = bench::product_of_plait)
    {
        product(s_.rows(), s_.h, s_.half(), left(), w.data(), partial());
    }
    void last_product_in_chunks(int n)
    {
        bench::product_in_chunks(s_, left(), w.data(), partial(), static_cast<std::size_t>(n));
    }
    void finish(std::size_t first, std::size_t rows)
    {
        bench::epilogue(shared_.total[me_].data(), bias.data(), residual.data(), y.data(), first, rows, s_.h);
    }
    /// The reads and writes of the fused pass, between two meetings.
    void bare_pass()
    {
        shared_.meeting.arrive_and_wait();
        const std::size_t n = s_.elements() / 2, at = me_ * n;
        bench::bare_fused_pass(partial() + at, shared_.partial[1 - me_].data() + at, residual.data() + at,
                               shared_.total[me_].data() + at, shared_.total[1 - me_].data() + at, n);
        shared_.meeting.arrive_and_wait();
    }
    /// Product, all_reduce, epilogue. The link takes `delay`.
    void by_hand(seconds delay)
    {
        before(bench::product);
        last_product(bench::product);
        shared_.meeting.arrive_and_wait();
        wait_for(delay);
        const std::size_t n = s_.elements() / 2, at = me_ * n;
        bench::sum_to_both(partial() + at, shared_.partial[1 - me_].data() + at, shared_.total[me_].data() + at,
                           shared_.total[1 - me_].data() + at, n);
        shared_.meeting.arrive_and_wait();
        finish(0, s_.rows());
    }
    /// Half of the rows, as a schedule that works on slices has.
    void finish_half() { finish(me_ * s_.rows() / 2, s_.rows() / 2); }
    void finish_whole() { finish(0, s_.rows()); }

  private:
    [[nodiscard]] const float* left() const { return is_mlp ? inner_.data() : x.data(); }
    [[nodiscard]] float* partial() { return shared_.partial[me_].data(); }

    block_shape s_;
    std::size_t me_;
    shared_by_hand& shared_;

  public:
    std::vector<float> x, w, w1, b1, bias, residual, y;

  private:
    std::vector<float> inner_;
};

/// The pieces that ideal times are made of.
struct pieces {
    timing before, product, whole_epilogue, half_epilogue, bare_pass;
};

struct result {
    std::vector<std::string> names;
    std::vector<timing> times;

    [[nodiscard]] const timing& operator[](const std::string& name) const
    {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (names[i] == name) { return times[i]; }
        }
        throw std::runtime_error("no contestant '" + name + "'");
    }
    [[nodiscard]] pieces parts() const
    {
        return {(*this)["before"], (*this)["product"], (*this)["whole epilogue"], (*this)["half epilogue"],
                (*this)["bare pass"]};
    }
};

std::string with_chunks(const char* name, int chunks)
{
    return std::string(name) + ", " + std::to_string(chunks) + " chunks";
}

/// Races all schedules of a block, the side by hand and the pieces, with every result checked first. `Rows`: the same
/// block with slices along S.
template <class Block, class Rows>
result measure(const block_shape& s, const pl::link& link, int rounds)
{
    result r;
    shared_by_hand shared(2);
    const bool simulated = link.is_simulated();
    const auto work = [&](thread_communicator& comm) {
        rank_of_block<Block> data(s, comm, shared);
        const std::vector<pl::binding> bindings = data.bindings();
        pl::executable unscheduled{Block::unscheduled, comm};
        pl::executable sliced{Block::sliced, comm};
        pl::executable fused{Block::fused, comm};
        pl::executable overlapped{Block::overlapped, comm};
        pl::executable by_rows{Rows::overlapped, comm};
        // As plait's model has it for the all_reduce: half of the bytes in, half out, each with its latency.
        const double bytes = static_cast<double>(s.elements() * sizeof(float));
        const seconds delay = simulated ? seconds(2 * latency) + seconds(bytes / link.bytes_per_second) : seconds(0);
        std::vector<contestant> all{{"by hand", [&] { data.by_hand(delay); }},
                                    {"unscheduled", [&] { unscheduled.run(bindings); }},
                                    {"fused", [&] { fused.run(bindings); }}};
        const auto in_chunks = [&](auto& run, int n) {
            return [&run, &bindings, n] {
                run.set_chunks(n);
                run.run(bindings);
            };
        };
        if (simulated) {
            for (int n : chunk_counts) { all.push_back({with_chunks("overlapped", n), in_chunks(overlapped, n)}); }
            for (int n : chunk_counts) { all.push_back({with_chunks("overlapped, axis S", n), in_chunks(by_rows, n)}); }
        } else {
            all.push_back({"sliced", [&] { sliced.run(bindings); }});
            all.push_back({"overlapped", in_chunks(overlapped, 0)});
            all.push_back({"overlapped, axis S", in_chunks(by_rows, 0)});
        }
        const std::size_t checked = all.size();
        all.push_back({"before", [&] { data.before(); }});
        all.push_back({"product", [&] { data.last_product(); }});
        all.push_back({"whole epilogue", [&] { data.finish_whole(); }});
        all.push_back({"half epilogue", [&] { data.finish_half(); }});
        all.push_back({"bare pass", [&] { data.bare_pass(); }});
        for (int n : chunk_counts) {
            if (simulated) { all.push_back({with_chunks("product", n), [&, n] { data.last_product_in_chunks(n); }}); }
        }
        std::vector<float> expected;
        for (std::size_t c = 0; c < checked; ++c) {
            std::ranges::fill(data.y, -1.0F);
            comm.barrier("all have begun anew");
            all[c].call();
            comm.barrier("results are there");
            if (c == 0) { expected = data.y; }
            bench::must_equal(all[c].name, data.y, expected);
            comm.barrier("results have been compared");
        }
        const auto times = bench::race(comm, all, rounds, 2e-3);
        if (comm.rank() == 0) {
            r.times = times;
            for (const contestant& c : all) { r.names.push_back(c.name); }
        }
    };
    pl::threads::run(2, work, pl::default_deadline, link);
    return r;
}

double ms(double seconds) { return seconds * 1e3; }

void print_row(const char* name, const timing& t, const result& r, double exposed, double ideal, double least_ideal)
{
    std::printf("  %-30s %8.3f %8.3f %8.3f %6.2f %6.2f %6.2f %8.3f %8.0f%% %8.0f%% %6.0f%%\n", name, ms(t.seconds),
                ms(t.least), ms(t.busy), r["by hand"].seconds / t.seconds, r["unscheduled"].seconds / t.seconds,
                r["by hand"].busy / t.busy, ms(exposed), 100 * ideal / t.seconds, 100 * least_ideal / t.least,
                100 * t.spread);
}
void print_head(const char* what)
{
    std::printf("\n%s\n  %-30s %8s %8s %8s %6s %6s %6s %8s %9s %9s %7s\n", what, "schedule", "ms", "least", "busy", "/hand",
                "/unsch", "busy/h", "exposed", "of ideal", "of least", "spread");
}

void record_row(const bench::options& o, const std::string& workload, const std::string& fabric, const std::string& name,
                const block_shape& s, int ranks, const timing& t, const result& r, std::optional<double> ideal)
{
    bench::write(o, {.workload = workload,
                     .schedule = name,
                     .fabric = fabric,
                     .dtype = "f32",
                     .n = static_cast<std::int64_t>(s.elements()),
                     .ranks = ranks,
                     .seconds = t.seconds,
                     .ratio_to_baseline = r["by hand"].seconds / t.seconds,
                     .ratio_to_unscheduled = r["unscheduled"].seconds / t.seconds,
                     .percent_of_limit = ideal ? std::optional(100 * *ideal / t.seconds) : std::nullopt,
                     .spread = t.spread});
}

/// Whether a schedule finishes slices only.
bool on_slices(const std::string& name) { return name != "by hand" && name != "unscheduled"; }

template <class Block, class Rows>
void block(const bench::options& o, const char* name, const block_shape& s, int rounds)
{
    const std::string workload = std::string(name) + " " + std::to_string(s.b) + "x" + std::to_string(s.s) + "x" +
                                 std::to_string(s.h) + " K=" + std::to_string(s.k);
    const result direct = measure<Block, Rows>(s, {}, rounds);
    const pieces p = direct.parts();
    const double computed = p.before.seconds + p.product.seconds;
    std::printf("\n%s, 2 ranks\n  alone, ms (least, busy):", workload.c_str());
    const auto print_piece = [](const char* what, const timing& t) {
        std::printf(" %s %.3f (%.3f, %.3f)", what, ms(t.seconds), ms(t.least), ms(t.busy));
    };
    if (rank_of_block<Block>::is_mlp) { print_piece("first product and gelu", p.before); }
    print_piece("product", p.product);
    print_piece("epilogue", p.whole_epilogue);
    print_piece("half of it", p.half_epilogue);
    print_piece("bare fused pass", p.bare_pass);
    std::printf("\n");
    print_head("through shared memory; ideal: products, and the fused pass at the speed of memory");
    const double ideal = computed + p.bare_pass.seconds;
    const double least = p.before.least + p.product.least + p.bare_pass.least;
    for (std::size_t i = 0; i < direct.names.size() && direct.names[i] != "before"; ++i) {
        const std::string& c = direct.names[i];
        const timing& t = direct.times[i];
        const timing& finish = on_slices(c) ? p.half_epilogue : p.whole_epilogue;
        print_row(c.c_str(), t, direct, t.seconds - computed - finish.seconds, ideal, least);
        record_row(o, workload, "threads", c, s, 2, t, direct, ideal);
    }

    // The communication of one all_reduce, 2 (n - 1) / n of the bytes, n = 2, takes as long as the product.
    const double bytes = static_cast<double>(s.elements() * sizeof(float));
    const pl::link link{latency, bytes / p.product.seconds};
    const result r = measure<Block, Rows>(s, link, rounds);
    const pieces q = r.parts();
    char head[200];
    std::snprintf(head, sizeof head,
                  "simulated link of %.2f GB/s and 5 us: an all_reduce takes %.3f ms, the product %.3f now; ideal: the "
                  "longer of both, and a chunk of the shorter",
                  link.bytes_per_second * 1e-9, ms(bytes / link.bytes_per_second), ms(q.product.seconds));
    print_head(head);
    const double comm = bytes / link.bytes_per_second;
    std::string best;
    double best_percent = 0, best_least = 0;
    for (std::size_t i = 0; i < r.names.size() && r.names[i] != "before"; ++i) {
        const std::string& c = r.names[i];
        const timing& t = r.times[i];
        const timing& finish = on_slices(c) ? q.half_epilogue : q.whole_epilogue;
        const bool overlaps = c.starts_with("overlapped");
        const int chunks = overlaps ? std::stoi(c.substr(c.rfind(", ") + 2)) : 16;
        const auto ideal_of = [&](double before, double product, double epilogue) {
            const double work = product + epilogue;
            return before + std::max(work, comm) + std::min(work, comm) / chunks;
        };
        const double best_time = ideal_of(q.before.seconds, q.product.seconds, q.half_epilogue.seconds);
        const double least_time = ideal_of(q.before.least, q.product.least, q.half_epilogue.least);
        print_row(c.c_str(), t, r, t.seconds - q.before.seconds - q.product.seconds - finish.seconds, best_time, least_time);
        record_row(o, workload, "threads, simulated link", c, s, 2, t, r, best_time);
        if (overlaps && 100 * best_time / t.seconds > best_percent) {
            best = c;
            best_percent = 100 * best_time / t.seconds;
            best_least = 100 * least_time / t.least;
        }
    }
    std::printf("  the product in chunks (of rows, as the schedule cuts it) and nothing else:");
    for (int n : chunk_counts) {
        const timing& t = r[with_chunks("product", n)];
        std::printf("  %d: %.3f ms (least %.3f, busy %.3f)", n, ms(t.seconds), ms(t.least), ms(t.busy));
    }
    std::printf("; whole: %.3f (least %.3f, busy %.3f)\n  goal: 90%% of ideal for the best number of chunks: %s, %.0f%% by medians, %.0f%% by "
                "least times: %s\n",
                ms(q.product.seconds), ms(q.product.least), ms(q.product.busy), best.c_str(), best_percent, best_least,
                best_percent >= 90 ? "met" : "missed");
    std::fflush(stdout);
}

/// The block between two pipeline groups of n ranks each.
void pipeline(const bench::options& o, const block_shape& s, int n, const pl::link& link)
{
    using block_t = pl::blocks::pipeline<>;
    const int rounds = o.quick ? 9 : 31;
    const int world = 2 * n;
    const auto group_size = static_cast<std::size_t>(n);
    const bool simulated = link.is_simulated();
    result r;
    std::vector<std::uint64_t> sent;   // by contestant, bytes of rank 0 in one run
    std::vector<double> busiest;       // by contestant, bytes of the rank that moves most
    shared_by_hand shared(n);
    std::vector<float*> outs(static_cast<std::size_t>(world));
    const auto work = [&](thread_communicator& comm) {
        const auto me = static_cast<std::size_t>(comm.rank());
        const bool sends = me < group_size;
        std::vector<float> x = bench::numbers(s.elements(), me, 1), bias = bench::numbers(s.h, 41, 1);
        std::vector<float> residual = bench::numbers(s.elements(), 51, 1), out(s.elements()), finished(s.elements());
        if (sends) {
            shared.partial[me] = x;
            shared.total[me].resize(s.elements());
        }
        outs[me] = out.data();
        comm.barrier("buffers are there");
        const double bytes = static_cast<double>(s.elements() * sizeof(float));
        const auto takes = [&](double b, int messages) {
            return simulated ? seconds(b / link.bytes_per_second) + seconds(messages * latency) : seconds(0);
        };
        const seconds reduce_takes = takes(bytes * 2 * (n - 1) / n, 2);
        const seconds send_takes = takes(bytes, 1);
        const auto by_hand = [&] {
            if (sends) {
                const float* total = x.data();
                if (n > 1) {
                    shared.meeting.arrive_and_wait();
                    wait_for(reduce_takes);
                    const std::size_t half = s.elements() / 2, at = me * half;
                    bench::sum_to_both(shared.partial[0].data() + at, shared.partial[1].data() + at,
                                       shared.total[me].data() + at, shared.total[1 - me].data() + at, half);
                    shared.meeting.arrive_and_wait();
                    total = shared.total[me].data();
                }
                bench::epilogue(total, bias.data(), residual.data(), finished.data(), 0, s.rows(), s.h);
                wait_for(send_takes);
                std::copy_n(finished.data(), s.elements(), outs[me + group_size]);
            }
            comm.barrier("sent");
        };
        using tail = block_t::tail;
        const std::vector<pl::binding> bindings{block_t::x = x,     tail::bias = bias,     tail::residual = residual,
                                                block_t::out = out, tail::p = bench::drop, tail::seed = bench::drop_seed,
                                                pl::blocks::B = static_cast<std::int64_t>(s.b),
                                                pl::blocks::S = static_cast<std::int64_t>(s.s),
                                                pl::blocks::H = static_cast<std::int64_t>(s.h)};
        pl::executable unscheduled{block_t::unscheduled, comm};
        pl::executable sliced{block_t::sliced, comm};
        pl::executable fused_send{block_t::fused_send, comm};
        pl::executable fused{block_t::fused, comm};
        pl::executable overlapped{block_t::overlapped, comm};
        pl::executable fused_overlapped{block_t::fused_overlapped, comm};
        const std::vector<contestant> all{{"by hand", by_hand},
                                          {"unscheduled", [&] { unscheduled.run(bindings); }},
                                          {"sliced", [&] { sliced.run(bindings); }},
                                          {"RS, fuse(C-P2P), AG", [&] { fused_send.run(bindings); }},
                                          {"fuse(RS-C-P2P), AG", [&] { fused.run(bindings); }},
                                          {"overlap(RS, fuse(C-P2P), AG)", [&] { overlapped.run(bindings); }},
                                          {"overlap(fuse(RS-C-P2P), AG)", [&] { fused_overlapped.run(bindings); }}};
        std::vector<float> expected;
        for (const contestant& c : all) {
            std::ranges::fill(out, -1.0F);
            comm.barrier("all have begun anew");
            const std::uint64_t before = comm.wire().bytes();
            c.call();
            comm.barrier("results are there");
            const std::uint64_t moved = comm.wire().bytes() - before;
            double most = 0;
            for (const void* theirs : comm.exchange(&moved, sizeof moved, "bytes")) {
                most = std::max(most, static_cast<double>(*static_cast<const std::uint64_t*>(theirs)));
            }
            if (expected.empty()) { expected = out; }
            if (!sends) { bench::must_equal(c.name, out, expected); }
            if (me == 0) {
                sent.push_back(moved);
                busiest.push_back(most);
            }
            comm.barrier("results have been compared");
        }
        const auto times = bench::race(comm, all, rounds, 2e-3);
        if (me == 0) {
            r.times = times;
            for (const contestant& c : all) { r.names.push_back(c.name); }
        }
    };
    pl::threads::run(world, work, pl::default_deadline, link);
    // By hand nothing is counted: what its sleeps stand for.
    sent[0] = static_cast<std::uint64_t>(static_cast<double>(s.elements() * sizeof(float)) * (1 + 2.0 * (n - 1) / n));
    busiest[0] = static_cast<double>(sent[0]);
    std::printf("\npipeline %zux%zux%zu, 2 groups of %d, %s\n  %-30s %8s %8s %8s %6s %6s %13s %10s %7s\n", s.b, s.s, s.h, n,
                simulated ? "simulated link of 1 GB/s and 5 us" : "through shared memory", "schedule", "ms", "least", "busy",
                "/hand", "/unsch", "sender, bytes", "link alone", "spread");
    for (std::size_t i = 0; i < r.names.size(); ++i) {
        const timing& t = r.times[i];
        const double alone = simulated ? busiest[i] / link.bytes_per_second : 0;
        std::printf("  %-30s %8.3f %8.3f %8.3f %6.2f %6.2f %13llu %10.3f %6.0f%%\n", r.names[i].c_str(), ms(t.seconds), ms(t.least), ms(t.busy),
                    r["by hand"].seconds / t.seconds, r["unscheduled"].seconds / t.seconds,
                    static_cast<unsigned long long>(sent[i]), ms(alone), 100 * t.spread);
        record_row(o, "pipeline", simulated ? "threads, simulated link" : "threads", r.names[i], s, world, t, r,
                   simulated ? std::optional(alone) : std::nullopt);
    }
    std::fflush(stdout);
}

void run(const bench::options& o)
{
    std::printf(
        "Blocks in f32, ranks are threads; medians of %d (mlp: half as many). Ratios above 1: faster than by hand (%s, a sum through shared "
        "memory or a sleep as long as the link's, one loop for the rest), than unscheduled.\nexposed: the time without "
        "products and epilogue (of slices, where the schedule works on slices). of ideal by medians, of least by least "
        "times; busy: processor time of rank 0, which other work on the machine hardly changes, and busy/h that by hand over "
        "it.\n",
        o.quick ? 9 : 31, bench::product_name());
    const std::size_t length = o.quick ? 128 : 256;
    const int rounds = o.quick ? 9 : 31;
    using namespace pl::blocks;
    for (std::size_t h : o.quick ? std::vector<std::size_t>{256} : std::vector<std::size_t>{768, 1024}) {
        block<row_parallel<>, row_parallel<float, 1>>(o, "row_parallel", {2, length, h, h}, rounds);
        block<row_parallel<>, row_parallel<float, 1>>(o, "row_parallel", {2, length, h, 4 * h}, rounds);
        block<mlp<>, mlp<float, 1>>(o, "mlp", {2, length, h, 4 * h}, rounds / 2);
        for (int n : {1, 2}) {
            pipeline(o, {2, length, h, 0}, n, {});
            pipeline(o, {2, length, h, 0}, n, {latency, 1e9});
        }
    }
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("blocks", argc, argv, run); }
