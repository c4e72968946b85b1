// A tuned program gives the unscheduled program's bits, whatever is chosen; all ranks choose alike; nothing is changed by
// choosing.
#include "run/fabric.hpp"

#include <plait/blocks/model_parallel.hpp>
#include <plait/fabric/threads.hpp>
#include <plait/optim/adam.hpp>
#include <plait/tune/tune.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace {

namespace pl = plait;
namespace fs = std::filesystem;
using namespace pl::literals;
using comm_t = pl::thread_communicator;

constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, N);
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
constexpr auto step = pl::program<"step">(pl::update(x, x - sum * 0.5_c), pl::update(y, y + sum * sum));
constexpr auto fused = step | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;

float value(std::size_t i, int salt) { return static_cast<float>((i * 31 + static_cast<std::size_t>(salt) * 17) % 64) - 32; }

/// The buffers of a rank of `step`.
struct buffers {
    std::vector<float> g, x, y;
    buffers(std::size_t n, int rank) : g(n), x(n), y(n)
    {
        for (std::size_t i = 0; i < n; ++i) {
            g[i] = value(i, rank);
            x[i] = value(i, 100);
            y[i] = value(i, 200);
        }
    }
};
/// What `steps` runs of step must give: small whole numbers and halves, so that every order of adding is exact.
buffers expected(std::size_t n, int ranks, int steps)
{
    buffers b(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        float s = 0;
        for (int r = 0; r < ranks; ++r) { s += value(i, r); }
        for (int k = 0; k < steps; ++k) {
            b.x[i] -= s * 0.5F;
            b.y[i] += s * s;
        }
    }
    return b;
}

pl::tune_options quick(std::vector<std::string>* said = nullptr)
{
    pl::tune_options o;
    o.seconds = 0.002;
    o.say = [said](std::string_view s) {
        if (said != nullptr) { said->emplace_back(s); }
    };
    return o;
}

struct scratch_file {
    std::string path = (fs::temp_directory_path() / ("plait_tune_" + std::to_string(::getpid()))).string();
    scratch_file() { clear(); }
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    ~scratch_file() { clear(); }
    void clear() const
    {
        fs::remove(path);
        fs::remove(path + ".lock");
    }
};

}  // namespace

TEST_CASE("measuring changes no tensor; the run itself does, once")
{
    for (int ranks : {1, 2, 3}) {
        std::mutex lock;
        std::vector<std::string> chosen;
        pl::threads::run(ranks, [&](comm_t& comm) {
            auto run = pl::tune(step, comm, quick());
            CHECK(run.schedules() == 5);
            for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{1023}, std::size_t{20011}}) {
                buffers b(n, comm.rank());
                for (int k = 1; k <= 3; ++k) {
                    run(g = b.g, x = b.x, y = b.y);
                    const buffers e = expected(n, ranks, k);
                    const std::lock_guard guard(lock);
                    CHECK(b.x == e.x);
                    CHECK(b.y == e.y);
                }
            }
            const std::lock_guard guard(lock);
            CHECK(run.choices().size() == 5);
            std::string all;
            for (const pl::tuned_choice& c : run.choices()) {
                all += c.sizes + ":" + c.schedule + ":" + pl::text_of(c.chosen) + ";";
                CHECK(c.seconds > 0);
                CHECK(c.seconds <= c.unscheduled);
                CHECK(!c.from_cache);
            }
            chosen.push_back(all);
        });
        for (const std::string& c : chosen) { CHECK(c == chosen[0]); }
    }
}

TEST_CASE("sizes of one class share a decision, and a known class is looked up")
{
    pl::threads::run(2, [&](comm_t& comm) {
        std::vector<std::string> said;
        auto run = pl::tune(step, comm, quick(&said));
        for (const std::size_t n : {1024, 2047, 1500, 100, 1024, 64}) {
            buffers b(n, comm.rank());
            run(g = b.g, x = b.x, y = b.y);
        }
        REQUIRE(run.choices().size() == 2);
        CHECK(run.choices()[0].sizes == "N=2^10");
        CHECK(run.choices()[1].sizes == "N=2^6");  // the last one
        CHECK(said.size() == (comm.rank() == 0 ? 2 : 0));
        if (comm.rank() == 0) { CHECK(said[0].starts_with("tune \"step\", N=2^10, 2 ranks: ")); }
    });
}

TEST_CASE("decisions are kept in a file; what does not fit is measured anew")
{
    const scratch_file file;
    const auto once = [&](auto list, int ranks, std::vector<std::string>& said) {
        bool cached = false;
        pl::threads::run(ranks, [&](comm_t& comm) {
            pl::tune_options o = quick(&said);
            o.cache = file.path;
            auto run = pl::tune(list, comm, o);
            buffers b(500, comm.rank());
            run(g = b.g, x = b.x, y = b.y);
            const buffers e = expected(500, ranks, 1);
            if (comm.rank() == 0) {
                cached = run.choices()[0].from_cache;
                CHECK(b.x == e.x);
                CHECK(b.y == e.y);
            }
        });
        return cached;
    };
    const auto two = pl::candidates({"unscheduled", "fused"}, step, fused);
    std::vector<std::string> said;
    CHECK(!once(two, 2, said));
    CHECK(once(two, 2, said));
    CHECK(said.back().find("(from the cache)") != std::string::npos);
    CHECK(!once(two, 3, said));
    CHECK(once(two, 2, said));
    CHECK(!once(pl::candidates({"unscheduled", "sliced"}, step, step | pl::split<"sum"> | pl::reorder<"sum">), 2, said));
    CHECK(std::ranges::none_of(said, [](const std::string& s) { return s.starts_with("warning"); }));

    pl::write_file(file.path, "not a cache");
    said.clear();
    CHECK(!once(two, 2, said));
    REQUIRE(!said.empty());
    CHECK(said[0].starts_with("warning: tuner cache '" + file.path + "' is ignored and will be written anew: "));
    CHECK(once(two, 2, said));

    // A decision for a schedule that is no longer there.
    std::string text = *pl::read_file(file.path);
    const std::size_t at = text.find("\"schedule_hash\": \"") + 18;
    text.replace(at, 16, "0000000000000000");
    pl::write_file(file.path, text);
    said.clear();
    CHECK(!once(two, 2, said));
    REQUIRE(!said.empty());
    CHECK(said[0].find("names a schedule that is not to choose from") != std::string::npos);

    // Where no file can be written, the decision still holds.
    fs::remove(file.path);
    fs::create_directory(file.path);
    said.clear();
    CHECK(!once(two, 2, said));
    CHECK(std::ranges::any_of(said, [](const std::string& s) { return s.starts_with("warning: tuner cache: cannot write"); }));
}

TEST_CASE("pipelines: chunks are tried, too, and the results stay")
{
    using block = pl::blocks::row_parallel<>;
    constexpr std::int64_t B = 2, S = 37, H = 24, K = 16;
    const auto numbers = [](std::int64_t n, int salt) {
        std::vector<float> v(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < v.size(); ++i) { v[i] = value(i, salt) / 64; }
        return v;
    };
    constexpr auto by_rows = [](std::string_view how) { return pl::same_storage(how) && how.find(", 1>") == std::string_view::npos && how.find(", 2>") == std::string_view::npos; };
    pl::threads::run(2, [&](comm_t& comm) {
        const auto bias = numbers(H, 1);
        const auto residual = numbers(B * S * H, 2);
        const auto xs = numbers(B * S * K / 2, 3 + comm.rank());
        const auto ws = numbers(K / 2 * H, 5 + comm.rank());
        std::vector<float> plain(static_cast<std::size_t>(B * S * H));
        std::vector<float> tuned(plain.size());
        const auto call = [&](auto& run, std::vector<float>& to) {
            run(block::x = xs, block::w = ws, block::y = to, block::tail::bias = bias, block::tail::residual = residual,
                block::tail::p = 0.25F, block::tail::seed = std::int64_t{3}, pl::blocks::B = B, pl::blocks::S = S, pl::blocks::K = K);
        };
        pl::executable unscheduled{block::unscheduled, comm};
        call(unscheduled, plain);
        auto run = pl::tune(pl::explore(block::unscheduled, by_rows), comm, quick());
        call(run, tuned);
        CHECK(tuned == plain);
        CHECK(run.choices().size() == 1);
        const bool chunked = run.choices()[0].chosen.chunks > 0;
        CHECK((!chunked || run.choices()[0].schedule.find("overlap") != std::string::npos));
    });
}

TEST_CASE("every parameter gives the same bits")
{
    for (int ranks : {1, 2, 4}) {
        pl::threads::run(ranks, [&](comm_t& comm) {
            for (const auto algorithm : {pl::all_reduce_algorithm::one_shot, pl::all_reduce_algorithm::two_shot}) {
                for (const auto stores : {pl::peer_stores::cached, pl::peer_stores::streaming}) {
                    pl::executable whole{step, comm};
                    pl::executable sliced{fused, comm};
                    whole.set_parameters({0, algorithm, stores});
                    sliced.set_parameters({0, algorithm, stores});
                    for (const std::size_t n : {1, 100, 5003}) {
                        const buffers e = expected(n, ranks, 1);
                        buffers a(n, comm.rank());
                        buffers b(n, comm.rank());
                        whole(g = a.g, x = a.x, y = a.y);
                        sliced(g = b.g, x = b.x, y = b.y);
                        CHECK(a.x == e.x);
                        CHECK(b.y == e.y);
                        CHECK(b.x == e.x);
                    }
                }
            }
        });
    }
}

TEST_CASE("bad arguments are an error on every rank, before and after tuning, and the next call is fine")
{
    pl::threads::run(2, [&](comm_t& comm) {
        auto run = pl::tune(step, comm, quick());
        buffers b(300, comm.rank());
        CHECK_THROWS_WITH_AS(run(g = b.g, x = b.x), "plait: program \"step\": tensor \"y\" is not bound; add an argument for it", pl::error);
        run(g = b.g, x = b.x, y = b.y);
        buffers other(comm.rank() == 0 ? 300 : 301, comm.rank());
        std::string text;
        try {
            run(g = other.g, x = other.x, y = other.y);
        } catch (const pl::error& e) {
            text = e.what();
        }
        CHECK(text.find("extent N = 30") != std::string::npos);
        CHECK(b.x == expected(300, 2, 1).x);
        run(g = b.g, x = b.x, y = b.y);
        CHECK(b.x == expected(300, 2, 2).x);
    });
}

TEST_CASE("ranks that set other parameters are told so")
{
    pl::threads::run(2, [&](comm_t& comm) {
        pl::executable run{step, comm};
        buffers b(10, comm.rank());
        if (comm.rank() == 1) { run.set_parameters({0, pl::all_reduce_algorithm::one_shot, pl::peer_stores::automatic}); }
        CHECK_THROWS_WITH_AS(run(g = b.g, x = b.x, y = b.y),
                             "plait: program \"step\" differs between ranks: rank 1: set to one-shot, others to plait's own choice; give all "
                             "ranks the same",
                             pl::error);
    });
}

TEST_CASE("two schedules of one name are refused")
{
    pl::threads::run(1, [&](comm_t& comm) {
        CHECK_THROWS_WITH_AS((pl::tuned<comm_t>(pl::candidates({"a", "a"}, step, fused), comm, {})),
                             "plait: tune: two schedules are called \"a\"; give each its own name", pl::error);
    });
}

TEST_CASE("a rank that fails while it measures ends the others")
{
    std::string failure;
    try {
        pl::threads::run(2, [&](comm_t& comm) {
            pl::tune_options o = quick();
            auto run = pl::tune(step, comm, o);
            buffers b(64, comm.rank());
            if (comm.rank() == 1) { throw std::runtime_error("gone"); }
            run(g = b.g, x = b.x, y = b.y);
        });
    } catch (const std::exception& e) {
        failure = e.what();
    }
    CHECK(failure == "gone");
}
