// Attention's output projection on two processes: plait's schedules over shared windows against OpenBLAS, MPI_Allreduce
// and a loop.
#include "support/block_by_hand.hpp"
#include "support/main_mpi.hpp"
#include "support/measure.hpp"
#include "support/records.hpp"
#include "support/shared_buffer.hpp"

#include <plait/fabric/mpi.hpp>
#include <plait/plait.hpp>

#include <cstdio>

namespace {

namespace pl = plait;
using bench::block_shape;
using bench::contestant;
using bench::timing;
using pl::mpi_communicator;

void projection(const bench::options& o, mpi_communicator& comm, const block_shape& s, int rounds)
{
    using block = pl::blocks::row_parallel<>;
    using rows = pl::blocks::row_parallel<float, 1>;
    using tail = block::tail;
    const auto me = static_cast<std::size_t>(comm.rank());
    std::vector<float> x = bench::numbers(s.rows() * s.half(), me, 1), w = bench::numbers(s.half() * s.h, 11 + me, 0.1F);
    std::vector<float> bias = bench::numbers(s.h, 41, 1), residual = bench::numbers(s.elements(), 51, 1);
    const auto n = static_cast<std::int64_t>(s.elements());
    bench::shared_buffer<float, mpi_communicator> y(comm, n), partial(comm, n);
    std::vector<float> total(s.elements());
    const std::vector<pl::binding> bindings{block::x = x,
                                            block::w = w,
                                            tail::bias = bias,
                                            tail::residual = residual,
                                            block::y = y.memory,
                                            tail::p = bench::drop,
                                            tail::seed = bench::drop_seed,
                                            pl::blocks::B = static_cast<std::int64_t>(s.b),
                                            pl::blocks::S = static_cast<std::int64_t>(s.s),
                                            pl::blocks::H = static_cast<std::int64_t>(s.h),
                                            pl::blocks::K = static_cast<std::int64_t>(s.k)};
    pl::executable unscheduled{block::unscheduled, comm};
    pl::executable sliced{block::sliced, comm};
    pl::executable fused{block::fused, comm};
    pl::executable overlapped{block::overlapped, comm};
    pl::executable by_rows{rows::overlapped, comm};
    const auto product = [&](bench::product_function by) {
        by(s.rows(), s.h, s.half(), x.data(), w.data(), partial.mine.data());
    };
    const auto all_reduce = [&] {
        MPI_Allreduce(partial.mine.data(), total.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    const auto finish = [&](std::size_t first, std::size_t count) {
        bench::epilogue(total.data(), bias.data(), residual.data(), y.mine.data(), first, count, s.h);
    };
    const auto bare_pass = [&] {
        comm.barrier("partial sums are there");
        const std::size_t half = s.elements() / 2, at = me * half;
        bench::bare_fused_pass(partial.mine.data() + at, partial.all[1 - me] + at, residual.data() + at,
                               y.mine.data() + at, y.all[1 - me] + at, half);
        comm.barrier("results are there");
    };
    const std::vector<contestant> all{{"by hand", [&] {
                                           product(bench::product);
                                           all_reduce();
                                           finish(0, s.rows());
                                       }},
                                      {"unscheduled", [&] { unscheduled.run(bindings); }},
                                      {"sliced", [&] { sliced.run(bindings); }},
                                      {"fused", [&] { fused.run(bindings); }},
                                      {"overlapped", [&] { overlapped.run(bindings); }},
                                      {"overlapped, axis S", [&] { by_rows.run(bindings); }},
                                      {"product", [&] { product(bench::product_of_plait); }},
                                      {"MPI_Allreduce", all_reduce},
                                      {"whole epilogue", [&] { finish(0, s.rows()); }},
                                      {"half epilogue", [&] { finish(me * s.rows() / 2, s.rows() / 2); }},
                                      {"bare pass", bare_pass}};
    constexpr std::size_t compared = 6;
    std::vector<float> expected;
    for (std::size_t c = 0; c < compared; ++c) {
        std::ranges::fill(y.mine, -1.0F);
        comm.barrier("all have begun anew");
        all[c].call();
        comm.barrier("results are there");
        if (c == 0) { expected.assign(y.mine.begin(), y.mine.end()); }
        bench::must_equal(all[c].name, y.mine, expected);
        comm.barrier("results have been compared");
    }
    const std::vector<timing> t = bench::race(comm, all, rounds, 2e-3);
    if (comm.rank() != 0) { return; }
    const auto ms = [](double seconds) { return seconds * 1e3; };
    const double ideal = t[6].seconds + t[10].seconds, least = t[6].least + t[10].least;
    std::printf(
        "\nrow_parallel %zux%zux%zu K=%zu: product alone %.3f ms, MPI_Allreduce alone %.3f, whole epilogue %.3f, half of it "
        "%.3f, bare fused pass %.3f\n  %-22s %9s %9s %7s %7s %9s %8s %9s %7s\n",
        s.b, s.s, s.h, s.k, ms(t[6].seconds), ms(t[7].seconds), ms(t[8].seconds), ms(t[9].seconds), ms(t[10].seconds),
        "schedule", "ms", "least", "/hand", "/unsch.", "exposed", "of ideal", "of least", "spread");
    const std::string workload = "row_parallel " + std::to_string(s.b) + "x" + std::to_string(s.s) + "x" +
                                 std::to_string(s.h) + " K=" + std::to_string(s.k);
    for (std::size_t i = 0; i < compared; ++i) {
        const timing& finishing = i < 2 ? t[8] : t[9];
        std::printf("  %-22s %9.3f %9.3f %7.2f %7.2f %9.3f %7.0f%% %8.0f%% %6.0f%%\n", all[i].name.c_str(), ms(t[i].seconds),
                    ms(t[i].least), t[0].seconds / t[i].seconds, t[1].seconds / t[i].seconds,
                    ms(t[i].seconds - t[6].seconds - finishing.seconds), 100 * ideal / t[i].seconds,
                    100 * least / t[i].least, 100 * t[i].spread);
        bench::write(o, {.workload = workload,
                         .schedule = all[i].name,
                         .fabric = "mpi",
                         .dtype = "f32",
                         .n = n,
                         .ranks = 2,
                         .seconds = t[i].seconds,
                         .ratio_to_baseline = t[0].seconds / t[i].seconds,
                         .ratio_to_unscheduled = t[1].seconds / t[i].seconds,
                         .percent_of_limit = 100 * ideal / t[i].seconds,
                         .spread = t[i].spread});
    }
    std::fflush(stdout);
}

void run(const bench::options& o, mpi_communicator& comm)
{
    if (comm.size() != 2) { throw std::runtime_error("takes 2 processes; run it with bench/run blocks_mpi"); }
    const int rounds = o.quick ? 9 : 21;
    if (comm.rank() == 0) {
        char library[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(library, &length);
        std::printf(
            "A projection in f32, 2 processes that share windows; medians of %d. MPI: %.20s. By hand: %s, MPI_Allreduce, one "
            "loop for the rest. Ratios above 1: faster than by hand, than unscheduled.\nexposed: the time without product and "
            "epilogue (of slices, where the schedule works on slices). ideal: product, and the fused pass at the speed of "
            "memory; by medians, then by least times.\n",
            rounds, library, bench::product_name());
    }
    const std::size_t length = o.quick ? 128 : 256;
    for (std::size_t h : o.quick ? std::vector<std::size_t>{256} : std::vector<std::size_t>{768, 1024}) {
        projection(o, comm, {2, length, h, h}, rounds);
        projection(o, comm, {2, length, h, 4 * h}, rounds);
    }
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of_processes("blocks_mpi", argc, argv, run); }
