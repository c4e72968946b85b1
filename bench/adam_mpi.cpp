// Adam on two processes: plait over shared windows against MPI_Allreduce and a loop, and against a fused loop by hand over
// the same windows.
#include "support/by_hand.hpp"
#include "support/main_mpi.hpp"
#include "support/measure.hpp"
#include "support/optimizer_race.hpp"
#include "support/records.hpp"
#include "support/shared_buffer.hpp"

#include <plait/fabric/mpi.hpp>
#include <plait/plait.hpp>

#include <sched.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <span>

namespace {

namespace pl = plait;
using bench::contestant;
using pl::mpi_communicator;

constexpr float lr = 1e-6F;
constexpr float beta1 = 0.9F;
constexpr float beta2 = 0.999F;
constexpr float eps = 1e-8F;
constexpr float c1 = 0.1F;
constexpr float c2 = 0.01F;
constexpr int ranks = 2;

/// The barrier of two ranks as one writes it by hand: each counts its arrivals in a window, on a line of its own.
class window_barrier {
  public:
    explicit window_barrier(mpi_communicator& comm) : rank_(comm.rank()), counts_(comm, 8) {}

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return ranks; }
    void barrier(const char* /*where*/)
    {
        ++meetings_;
        std::atomic_ref(*counts_.all[static_cast<std::size_t>(rank_)]).store(meetings_, std::memory_order_release);
        std::atomic_ref theirs(*counts_.all[static_cast<std::size_t>(1 - rank_)]);
        for (int i = 0; theirs.load(std::memory_order_acquire) < meetings_; ++i) {
            if (i < 1000) {
                pl::detail::pause_core();
            } else {
                sched_yield();
            }
        }
    }

  private:
    int rank_;
    bench::shared_buffer<std::uint64_t, mpi_communicator> counts_;
    std::uint64_t meetings_ = 0;
};

/// Adam in a single pass over whole buffers, from the sum of the gradients.
void adam_of_sum(const float* __restrict g, float* __restrict m, float* __restrict v, float* __restrict p, std::size_t n,
                 bench::adam_numbers a)
{
    for (std::size_t i = 0; i < n; ++i) {
        const float x = g[i] * a.inverse_ranks;
        const float m1 = a.beta1 * m[i] + (1 - a.beta1) * x;
        const float v1 = a.beta2 * v[i] + (1 - a.beta2) * x * x;
        m[i] = m1;
        v[i] = v1;
        p[i] -= a.lr * ((m1 * a.inverse_c1) / (std::sqrt(v1 * a.inverse_c2) + a.eps));
    }
}

void adam(const bench::options& o, mpi_communicator& comm, std::int64_t n, int rounds)
{
    using program = pl::optim::adam<>;
    const auto size = static_cast<std::size_t>(n);
    const auto part = pl::slice_of(n, comm.rank(), ranks);
    const auto begin = static_cast<std::size_t>(part.begin);
    bench::shared_buffer<float, mpi_communicator> g(comm, n), p(comm, n);
    window_barrier meeting(comm);
    std::vector<float> sum(size), m(size), v(size);
    const std::span sliced_m = std::span(m).first(static_cast<std::size_t>(part.count));
    const std::span sliced_v = std::span(v).first(static_cast<std::size_t>(part.count));
    const bench::all_buffers all{{g.all.begin(), g.all.end()}, p.all, {}};
    const bench::adam_numbers numbers{lr, beta1, beta2, eps, 1 / c1, 1 / c2, 1 / static_cast<float>(ranks)};

    pl::executable unscheduled{program::unscheduled, comm};
    pl::executable sliced{program::sliced, comm};
    pl::executable fused{program::fused, comm};
    const auto call = [&](auto& run, std::span<float> state_m, std::span<float> state_v) {
        run(program::g = g.memory, program::p = p.memory, program::m = state_m, program::v = state_v, program::lr = lr,
            program::beta1 = beta1, program::beta2 = beta2, program::eps = eps, program::c1 = c1, program::c2 = c2);
    };
    const auto all_reduce = [&] {
        MPI_Allreduce(g.mine.data(), sum.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    const auto by_hand = [&](bool streaming) {
        bench::fused_step<ranks>(meeting, all, n, streaming, [&](std::size_t at, std::size_t count, float* copy) {
            bench::fused_pass<ranks>(all.gradients.data(), at, sliced_m.data() + (at - begin),
                                     sliced_v.data() + (at - begin), p.mine.data() + at, copy, count, numbers);
        });
    };
    const std::vector<contestant> contestants{
        {"AR, C", [&] { call(unscheduled, m, v); }},
        {"RS-C-AG", [&] { call(sliced, sliced_m, sliced_v); }},
        {"fuse(RS-C-AG)", [&] { call(fused, sliced_m, sliced_v); }},
        {"MPI_Allreduce, Adam", [&] {
             all_reduce();
             adam_of_sum(sum.data(), m.data(), v.data(), p.mine.data(), size, numbers);
         }},
        {"by hand", [&] { by_hand(false); }},
        {"by hand, streaming", [&] { by_hand(true); }},
        {"MPI_Allreduce", all_reduce},
    };
    const auto t = bench::race_of_steps(comm, contestants, 6, g.mine, p.mine, m, v, rounds);
    if (comm.rank() != 0) { return; }
    const bench::timing& hand = t[4].seconds < t[5].seconds ? t[4] : t[5];
    const double least_hand = std::min(t[4].least, t[5].least);
    const auto us = [](double seconds) { return seconds * 1e6; };
    std::printf("%9lld %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f %7.2f %7.2f %8.0f%% %8.0f%% %6.0f%%\n",
                static_cast<long long>(n), us(t[0].seconds), us(t[1].seconds), us(t[2].seconds), us(t[3].seconds),
                us(t[6].seconds), us(t[4].seconds), us(t[5].seconds), t[3].seconds / t[2].seconds, t[3].least / t[2].least,
                100 * hand.seconds / t[2].seconds, 100 * least_hand / t[2].least, 100 * t[2].spread);
    if (n >= std::int64_t{1} << 24) {
        const double ratio = t[3].seconds / t[2].seconds, of_hand = 100 * hand.seconds / t[2].seconds;
        std::printf("  goal: 3.5 times MPI_Allreduce and Adam: %.2f, %s\n  goal: 95%% of the loop by hand: %.0f%%, %s\n", ratio,
                    ratio >= 3.5 ? "met" : "missed", of_hand, of_hand >= 95 ? "met" : "missed");
    }
    std::fflush(stdout);
    for (std::size_t i = 0; i < 6; ++i) {
        bench::write(o, {.workload = "adam",
                         .schedule = contestants[i].name,
                         .fabric = "mpi",
                         .dtype = "f32",
                         .n = n,
                         .ranks = ranks,
                         .seconds = t[i].seconds,
                         .ratio_to_baseline = t[3].seconds / t[i].seconds,
                         .ratio_to_unscheduled = t[0].seconds / t[i].seconds,
                         .percent_of_limit = 100 * hand.seconds / t[i].seconds,
                         .spread = t[i].spread});
    }
}

void run(const bench::options& o, mpi_communicator& comm)
{
    if (comm.size() != ranks) { throw std::runtime_error("takes 2 processes; run it with bench/run adam_mpi"); }
    const int rounds = o.quick ? 9 : 25;
    if (comm.rank() == 0) {
        char library[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(library, &length);
        std::printf(
            "Adam, f32, 2 processes that share windows; microseconds per step, medians of %d. MPI: %.20s.\n"
            "MPI: MPI_Allreduce and a loop over the whole; AR: MPI_Allreduce alone; by hand: a fused loop over windows, with "
            "plain and with streaming stores; of hand: of the better one.\n/MPI, of hand: above 1 and 100%%, fused is faster; by medians, then by "
            "least times.\n\n%9s %10s %10s %10s %10s %10s %10s %10s %7s %7s %9s %9s %7s\n",
            rounds, library, "N", "AR, C", "RS-C-AG", "fused", "MPI", "AR", "by hand", "streaming", "/MPI", "least", "of hand", "least",
            "spread");
    }
    for (int e : o.quick ? std::vector{10, 14, 20} : std::vector{10, 14, 18, 22, 24}) {
        adam(o, comm, std::int64_t{1} << e, rounds);
    }
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of_processes("adam_mpi", argc, argv, run); }
