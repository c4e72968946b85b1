// The code of docs/seeing.md.
#include "run/check.hpp"
#include "run/json.hpp"

#include <plait/core/write_file.hpp>
#include <plait/plait.hpp>
#include <plait/see.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace pl = plait;

std::string content(const std::filesystem::path& p)
{
    std::ifstream in(p, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("seeing: a program")
{
    const auto folder = std::filesystem::temp_directory_path() / "plait-seeing-program";
    std::filesystem::create_directories(folder);
    // [program]
    // #include <plait/see.hpp>
    using adam = pl::optim::adam<>;
    const std::string text = pl::print(adam::fused);                    // an operation a line, with its type
    pl::write_file(folder / "adam.dot", pl::to_dot(adam::fused));       // for Graphviz: dot -Tsvg adam.dot
    pl::write_file(folder / "adam.svg", pl::graph_svg(adam::fused));    // for any browser
    // [/program]
    CHECK(text.find("reduce_scatter<sum>") != std::string::npos);
    CHECK(content(folder / "adam.dot").starts_with("digraph \"adam\""));
    CHECK(checked::is_markup(content(folder / "adam.svg")));
    std::filesystem::remove_all(folder);
}

TEST_CASE("seeing: runs")
{
    using block = pl::blocks::row_parallel<>;
    const auto folder = std::filesystem::temp_directory_path() / "plait-seeing-runs";
    std::filesystem::create_directories(folder);
    const std::int64_t b = 1, s = 64, h = 32, k = 64;
    // [trace]
    const pl::link network{.latency = std::chrono::microseconds(5), .bytes_per_second = 1e9};
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        std::vector<float> x(b * s * k / 2, 1.0F), w(k / 2 * h, 1.0F), bias(h), residual(b * s * h), y(b * s * h);
        pl::executable run{block::overlapped, comm};
        pl::trace t;  // this rank's
        run.set_trace(&t);
        for (int i = 0; i < 5; ++i) {
            run(block::x = x, block::w = w, block::y = y, block::tail::bias = bias, block::tail::residual = residual,
                block::tail::p = 0.0F, block::tail::seed = 42, pl::blocks::B = b, pl::blocks::S = s, pl::blocks::K = k);
        }
        run.set_trace(nullptr);

        const pl::timeline all = pl::gather(comm, t);  // to rank 0, on one clock
        if (comm.rank() == 0) {
            pl::write_chrome_json(all, folder / "block.json");                              // ui.perfetto.dev, chrome://tracing
            pl::write_file(folder / "block.svg", pl::timeline_svg(pl::typical_run(all)));  // any browser
        }
    }, pl::default_deadline, network);
    // [/trace]
    CHECK(checked::is_json(content(folder / "block.json")));
    CHECK(checked::is_markup(content(folder / "block.svg")));
    CHECK(content(folder / "block.svg").find("transfer for") != std::string::npos);
    std::filesystem::remove_all(folder);
}

}  // namespace
