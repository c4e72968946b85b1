// Gathering traces, and what they are written as: JSON and pictures.
#include "run/check.hpp"
#include "run/json.hpp"

#include <plait/core/write_file.hpp>
#include <plait/plait.hpp>
#include <plait/run/chrome_json.hpp>
#include <plait/run/gather.hpp>
#include <plait/run/select_run.hpp>
#include <plait/run/timeline.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace pl = plait;
namespace fs = std::filesystem;
using namespace std::chrono_literals;
using block = pl::blocks::row_parallel<>;

/// Runs a schedule of a block, `runs` times with tracing.
template <class Program>
pl::timeline traced(Program program, int ranks, int runs, const pl::link& network = {}, std::size_t room = 1 << 12,
                    std::string_view name = {})
{
    pl::timeline all;
    pl::threads::run(
        ranks,
        [&](pl::thread_communicator& comm) {
            constexpr std::int64_t s = 64, k = 32, h = 16;
            const auto part = pl::slice_of(k, comm.rank(), ranks).count;
            std::vector<float> x(static_cast<std::size_t>(s * part), 1.0F), w(static_cast<std::size_t>(part * h), 1.0F);
            std::vector<float> bias(h), residual(s * h), y(s * h);
            pl::trace t(room);
            pl::executable run{program, comm};
            run.set_chunks(4);
            run.set_trace(&t, name);
            for (int i = 0; i < runs; ++i) {
                run(block::x = x, block::w = w, block::y = y, block::tail::bias = bias, block::tail::residual = residual,
                    block::tail::p = 0.0F, block::tail::seed = 1, pl::blocks::B = 1, pl::blocks::S = s, pl::blocks::K = k);
            }
            pl::timeline mine = pl::gather(comm, t);
            if (comm.rank() == 0) {
                all = std::move(mine);
            } else {
                CHECK(mine.events.empty());
            }
        },
        pl::default_deadline, network);
    return all;
}

struct folder {
    fs::path path = fs::temp_directory_path() / ("plait-timeline-" + std::to_string(std::rand()));
    folder() { fs::create_directories(path); }
    ~folder() { fs::remove_all(path); }
};
std::string content(const fs::path& p)
{
    std::ifstream in(p, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
std::string refusal(const fs::path& p)
{
    try {
        pl::write_chrome_json(pl::trace{}, p);
    } catch (const pl::error& e) {
        return e.what();
    }
    return {};
}

TEST_CASE("gather: all ranks' events, in order, on one clock")
{
    for (int ranks = 1; ranks <= 4; ++ranks) {
        CAPTURE(ranks);
        const pl::timeline t = traced(block::overlapped, ranks, 2);
        CHECK(t.ranks == ranks);
        CHECK(t.programs.size() == 1);
        CHECK(t.clock_error == 0);
        for (int r = 0; r < ranks; ++r) {
            for (int pass = 0; pass < 2; ++pass) {
                const auto of_pass = [&](const pl::trace_event& e) { return e.rank == r && e.pass == pass && e.chunk >= 0; };
                CHECK(std::ranges::count_if(t.events, of_pass) == 8);  // chunks of two runs
            }
        }
        for (std::size_t i = 1; i < t.events.size(); ++i) {
            const auto &a = t.events[i - 1], &b = t.events[i];
            CHECK((a.rank < b.rank || (a.rank == b.rank && a.begin <= b.begin)));
        }
    }
}

TEST_CASE("gather: ranks that recorded different programs, and more than fits into one piece")
{
    pl::threads::run(3, [](pl::thread_communicator& comm) {
        constexpr auto n = pl::dim<"n">;
        constexpr auto a = pl::tensor<"a", float>(pl::local, n);
        constexpr auto one = pl::program<"one">(pl::update(a, a + a));
        pl::trace t;
        std::vector<float> v(4, 1.0F);
        pl::executable run{one, comm};
        pl::executable other{pl::program<"other">(pl::update(a, pl::relu(a))), comm};
        if (comm.rank() > 0) { run.set_trace(&t); }
        other.set_trace(&t);
        for (int i = 0; i < 1000 * comm.rank(); ++i) { t.add({}); }
        run(a = v);
        other(a = v);
        const pl::timeline all = pl::gather(comm, t);
        if (comm.rank() != 0) { return; }
        CHECK(all.programs.size() == 2);
        CHECK(all.events.size() > 3000);
        int seen[2]{};
        for (const pl::trace_event& e : all.events) {
            if (e.what == pl::activity::compute) { ++seen[e.program]; }
        }
        CHECK(all.programs[0].name == "other");
        CHECK(seen[0] == 3);
        CHECK(seen[1] == 2);
    });
}

TEST_CASE("gather: clocks that nobody shares are compared, within bounds")
{
    pl::threads::run(3, [](pl::thread_communicator& comm) {
        const auto bounds = pl::detail::compare_clocks(comm);
        REQUIRE(bounds.size() == 3);
        for (const auto& b : bounds) {  // here all ranks have the same clock
            CHECK(b.least <= 0);
            CHECK(b.most >= 0);
        }
    });
}

TEST_CASE("select: the run of median length, and what is hidden in it")
{
    const pl::link network{.latency = 5us, .bytes_per_second = 20e6};
    const pl::timeline t = traced(block::overlapped, 2, 5, network);
    const pl::timeline one = pl::typical_run(t);
    REQUIRE(!one.events.empty());
    CHECK(std::ranges::count_if(one.events, [](const auto& e) { return e.what == pl::activity::run; }) == 2);
    CHECK(std::ranges::all_of(one.events, [&](const auto& e) { return e.run == one.events[0].run; }));
    const pl::hidden_time h = pl::hidden_communication(one);
    CHECK(h.moving > 0);
    CHECK(h.hidden >= 0);
    CHECK(h.hidden <= h.moving);
    CHECK(pl::typical_run(pl::timeline{}).events.empty());
    CHECK(pl::hidden_communication(pl::timeline{}).moving == 0);

    pl::timeline made;
    made.programs.push_back({"p", 1, {{"a", pl::stage_kind::compute}}});
    made.events = {{.begin = 0, .end = 10, .pass = 0, .what = pl::activity::compute},
                   {.begin = 5, .end = 15, .pass = 0, .what = pl::activity::communication, .lane = pl::trace_lane::link},
                   {.begin = 12, .end = 30, .pass = 0, .what = pl::activity::compute},
                   {.begin = 15, .end = 20, .pass = 0, .what = pl::activity::communication, .lane = pl::trace_lane::link}};
    CHECK(pl::hidden_communication(made).moving == 15);
    CHECK(pl::hidden_communication(made).hidden == 13);
}

TEST_CASE("chrome_json: JSON, whatever programs are called")
{
    CHECK(checked::is_json(R"({"a": [1, -2.5e+3, true, null, "x\u00e9\n"], "b": {}})"));
    for (const char* bad : {"", "{", "[1,]", "{\"a\" 1}", "\"\n\"", "01", "[1] 2", "{\"a\": .5}", "\"\\x\""}) {
        CAPTURE(bad);
        CHECK(!checked::is_json(bad));
    }
    CHECK(checked::is_json(pl::chrome_json(pl::timeline{})));
    const std::string text = pl::chrome_json(traced(block::overlapped, 3, 1, {}, 1 << 12, "a \"quoted\"\\ <name>\n\x01&"));
    CHECK(checked::is_json(text));
    for (int r = 0; r < 3; ++r) { CHECK(text.find("\"name\": \"rank " + std::to_string(r)) != std::string::npos); }
    CHECK(text.find("\"cat\": \"fused\", \"name\": \"reduce_scatter sum + add, dropout + all_gather y\"") != std::string::npos);
    CHECK(text.find("a \\\"quoted\\\"\\\\ <name>\\u000a\\u0001&") != std::string::npos);
    CHECK(pl::detail::microseconds(1'234'567) == "1234.567");
    CHECK(pl::detail::microseconds(7) == "0.007");
    CHECK(pl::detail::microseconds(-1'000) == "-1.000");
    CHECK(pl::chrome_json(traced(block::fused, 2, 3, {}, 2)).find("\"dropped\": 0") == std::string::npos);
}

TEST_CASE("write_chrome_json: whole or not at all, and errors that name the path")
{
    const folder here;
    const fs::path file = here.path / "trace.json";
    pl::write_chrome_json(traced(block::fused, 2, 1), file);
    CHECK(checked::is_json(content(file)));
    pl::write_file(file, "");
    CHECK(content(file).empty());
    fs::create_symlink("trace.json", here.path / "link");
    pl::write_file(here.path / "link", "through a link");
    CHECK(content(file) == "through a link");
    CHECK(std::distance(fs::directory_iterator(here.path), {}) == 2);  // nothing temporary is left

    CHECK(refusal(here.path / "missing" / "t.json").find("cannot write \"" + (here.path / "missing" / "t.json").string() +
                                                         "\": No such file or directory") != std::string::npos);
    CHECK(refusal(here.path).find("irectory") != std::string::npos);
    CHECK(refusal(file / "below").find("Not a directory") != std::string::npos);
    CHECK(refusal("").find("cannot write \"\": ") != std::string::npos);
    CHECK(refusal("/dev/full").find("cannot write \"/dev/full\": No space left on device") != std::string::npos);
    CHECK(std::distance(fs::directory_iterator(here.path), {}) == 2);
    CHECK(fs::status("/dev/full").type() == fs::file_type::character);
    pl::write_file("/dev/null", "nothing");
    CHECK(fs::status("/dev/null").type() == fs::file_type::character);
}

TEST_CASE("timeline_svg: well-formed, with a box for everything that can be seen")
{
    CHECK(checked::is_markup("<a b=\"<\"/>") == false);
    CHECK(checked::is_markup("<a><b/></a>"));
    CHECK(!checked::is_markup("<a><b></a>"));
    CHECK(!checked::is_markup("a & b"));
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (const bool slow : {false, true}) {
            const pl::link network = slow ? pl::link{.latency = 5us, .bytes_per_second = 20e6} : pl::link{};
            const pl::timeline t = traced(block::overlapped, ranks, 2, network);
            const std::string svg = pl::timeline_svg(pl::typical_run(t), {.title = "a <title> & more"});
            CHECK(checked::is_markup(svg));
            CHECK(svg.find("a &lt;title&gt; &amp; more") != std::string::npos);
            for (int r = 0; r < ranks; ++r) { CHECK(svg.find(">rank " + std::to_string(r) + "<") != std::string::npos); }
            CHECK(svg.find("<title>matmul mm, ") != std::string::npos);  // chunks: narrow ones are one box
            CHECK((svg.find("transfer for") != std::string::npos) == (slow && ranks > 1));
        }
    }
    CHECK(checked::is_markup(pl::timeline_svg(pl::timeline{})));  // of nothing
    CHECK(checked::is_markup(pl::timeline_svg(pl::trace{})));
}

TEST_CASE("timeline_svg: many narrow boxes become one")
{
    pl::timeline t;
    t.programs.push_back({"p", 1, {{"a", pl::stage_kind::compute}}});
    for (int i = 0; i < 100'000; ++i) {
        t.events.push_back({.begin = i * 100, .end = i * 100 + 99, .pass = 0, .chunk = i, .what = pl::activity::compute});
    }
    const std::string svg = pl::timeline_svg(t);
    CHECK(svg.size() < 100'000);
    CHECK(svg.find(" of them") != std::string::npos);
    CHECK(pl::detail::duration_text(999) == "999 ns");
    CHECK(pl::detail::duration_text(1'500) == "1.50 µs");
    CHECK(pl::detail::duration_text(12'345'678) == "12.3 ms");
    CHECK(pl::detail::duration_text(2'000'000'000) == "2.00 s");
}

}  // namespace
