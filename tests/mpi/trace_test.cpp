// Traces of ranks that are processes: gathered on rank 0, on one clock, with the messages of those that share no memory.
#include "support.hpp"

#include "run/json.hpp"

#include <plait/plait.hpp>
#include <plait/see.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

namespace pl = plait;
using block = pl::blocks::row_parallel<>;

TEST_CASE("gather: processes")
{
    support::run([](pl::mpi_communicator& comm) {
        constexpr std::int64_t s = 64, k = 32, h = 16;
        const auto part = static_cast<std::size_t>(pl::slice_of(k, comm.rank(), comm.size()).count);
        const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
        std::vector<float> x(size(s) * part, 1.0F), w(part * size(h), 1.0F);
        std::vector<float> bias(size(h)), residual(size(s * h)), y(size(s * h));
        pl::trace t;
        pl::executable whole{block::fused, comm};
        pl::executable chunked{block::overlapped, comm};
        chunked.set_chunks(4);
        whole.set_trace(&t);
        chunked.set_trace(&t, "in chunks");
        for (auto* run : {&whole, &chunked}) {
            (*run)(block::x = x, block::w = w, block::y = y, block::tail::bias = bias, block::tail::residual = residual,
                   block::tail::p = 0.0F, block::tail::seed = 1, pl::blocks::B = 1, pl::blocks::S = s, pl::blocks::K = k);
        }
        const std::int64_t before = pl::trace::now();
        const pl::timeline all = pl::gather(comm, t);
        const std::int64_t took = pl::trace::now() - before;
        bool alone = false;
        for (int r = 0; r < comm.size(); ++r) { alone = alone || !comm.shares(r); }
        if (comm.rank() != 0) {
            CHECK(all.events.empty());
            return;
        }
        CHECK(all.ranks == comm.size());
        CHECK(all.programs.size() == 2);
        CHECK((all.clock_error > 0) == alone);
        CHECK(all.clock_error < took);
        CHECK(checked::is_json(pl::chrome_json(all)));
        CHECK(checked::is_markup(pl::timeline_svg(pl::typical_run(all, 1))));
        for (int r = 0; r < comm.size(); ++r) {
            const auto count = [&](int program, pl::activity what) {
                return std::ranges::count_if(all.events, [&](const pl::trace_event& e) { return e.rank == r && e.program == program && e.what == what; });
            };
            for (int program = 0; program < 2; ++program) {
                CHECK(count(program, pl::activity::run) == 1);
                CHECK(count(program, pl::activity::compute) == (program == 0 ? 1 : 4));
                CHECK(count(program, pl::activity::fused) == (program == 0 ? 1 : 4));
            }
            if (comm.size() > 1 && !comm.shares((r + 1) % comm.size()) && r == 0) { CHECK(count(0, pl::activity::communication) == 2); }
        }
        for (const pl::trace_event& e : all.events) {  // all processes have this machine's clock
            CHECK(e.begin <= e.end);
            CHECK(e.end <= before + took + all.clock_error);
        }
    });
}

}  // namespace
