// What a call costs beside its work: with known buffers, with buffers new to the run, with other extents, and the first one.
#include "support/main.hpp"
#include "support/measure.hpp"

#include <plait/plait.hpp>

#include <cstdio>
#include <optional>
#include <vector>

namespace {

namespace pl = plait;

/// Adam fused, whose state, parameters and gradients a call with few elements hardly works on.
using adam = pl::optim::adam<>;

struct rank_state {
    explicit rank_state(std::int64_t n, pl::thread_communicator& comm)
        : g(static_cast<std::size_t>(n)), p(static_cast<std::size_t>(n)), m(static_cast<std::size_t>(pl::slice_of(n, comm.rank(), comm.size()).count)), v(m.size())
    {
    }
    void call(pl::executable<pl::thread_communicator>& run)
    {
        run(adam::g = g, adam::p = p, adam::m = m, adam::v = v, adam::lr = 0.1F, adam::beta1 = 0.9F, adam::beta2 = 0.99F, adam::eps = 1e-8F,
            adam::c1 = 1.0F, adam::c2 = 1.0F);
    }
    std::vector<float> g, p, m, v;
};

void calls(const bench::options& o, int ranks)
{
    std::vector<bench::timing> times;
    const std::vector<std::string> names = {"known buffers", "buffers new to the run", "other extents", "a new executable"};
    pl::threads::run(ranks, [&](pl::thread_communicator& comm) {
        rank_state one(64, comm), other(64, comm), longer(72, comm);
        pl::executable known{adam::fused, comm}, fresh{adam::fused, comm}, extents{adam::fused, comm};
        bool odd = false;
        const std::vector<bench::contestant> all = {
            {names[0], [&] { one.call(known); }},
            {names[1], [&] { ((odd = !odd) ? other : one).call(fresh); }},
            {names[2], [&] { ((odd = !odd) ? longer : one).call(extents); }},
            {names[3], [&] {
                 pl::executable first{adam::fused, comm};
                 one.call(first);
             }},
        };
        const auto measured = bench::race(comm, all, o.quick ? 9 : 25, 5e-3);
        if (comm.rank() == 0) { times = measured; }
    });
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool first = i == 0;
        std::printf("%5d  %-24s %10.2f %14.2f %9.0f%%\n", ranks, names[i].c_str(), 1e6 * times[i].seconds,
                    1e6 * (times[i].seconds - (first ? 0 : times[0].seconds)), 100 * times[i].spread);
        bench::write(o, {.workload = "call", .schedule = names[i], .fabric = "threads", .dtype = "f32", .n = 64, .ranks = ranks,
                         .seconds = times[i].seconds, .spread = times[i].spread});
    }
}

void run(const bench::options& o)
{
    std::printf("A call of fused Adam on 64 elements, microseconds; more: than with known buffers, which is what agreeing on new ones costs.\n\n"
                "%5s  %-24s %10s %14s %10s\n", "ranks", "called with", "call", "more", "spread");
    for (const int ranks : {1, 2, 4}) { calls(o, ranks); }
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("calls", argc, argv, run); }
