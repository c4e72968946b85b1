// Bad arguments: an error on every rank that names the tensor and the rule, before anything is written.
#include "run/forwarding.hpp"

#include <plait/fabric/threads.hpp>
#include <plait/lang/program.hpp>
#include <plait/run/executable.hpp>
#include <plait/schedule/schedule.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto M = pl::dim<"M">;
constexpr auto g = pl::tensor<"g", float>(pl::local, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto m = pl::tensor<"m", float>(pl::replicated, N);
constexpr auto lr = pl::scalar<"lr">;
constexpr auto avg = pl::label<"avg">(pl::all_reduce(pl::sum, g));
constexpr auto whole = pl::program<"sgd">(pl::update(p, p - lr * avg), pl::update(m, m + avg));
constexpr auto fused = whole | pl::split<"avg"> | pl::reorder<"avg"> | pl::as_slice<"m"> | pl::fuse;

constexpr std::size_t n = 100;
constexpr int ranks = 3;

/// A rank's buffers, and what they must still hold after an error.
struct buffers {
    std::vector<float> gradient = std::vector<float>(n, 1.0F);
    std::vector<float> parameters = std::vector<float>(n, 2.0F);
    std::vector<float> state = std::vector<float>(n, 3.0F);
    bool operator==(const buffers&) const = default;
};

using executable = pl::executable<pl::thread_communicator>;

/// Runs `call` on every rank; each must throw an error with these words, and nothing may be written. Then a right call
/// must work on the same executable.
template <class Program, class Call>
void refused(Program program, Call call, const std::string& words)
{
    std::array<std::string, ranks> errors;
    pl::threads::run(ranks, [&](pl::thread_communicator& comm) {
        executable run{program, comm};
        buffers mine;
        std::string& what = errors[static_cast<std::size_t>(comm.rank())];
        try {
            call(run, mine, comm.rank());
        } catch (const pl::error& e) {
            what = e.what();
        }
        if (mine != buffers{}) { what += " (but buffers were written)"; }
        const bool sliced = program.graph[program.graph.tensor("m")].layout == pl::layout_kind::sliced;
        const auto part = sliced ? static_cast<std::size_t>(pl::slice_of(n, comm.rank(), ranks).count) : n;
        run(g = mine.gradient, p = mine.parameters, m = std::span(mine.state).first(part), lr = 0.5F);
        if (mine.parameters[0] != 0.5F) { what += " (and a right call fails afterwards)"; }
    });
    for (const std::string& what : errors) {
        CAPTURE(what);
        CHECK(what.find(words) != std::string::npos);
        CHECK(what.starts_with("plait: "));
        CHECK(what.find("(but") == std::string::npos);
        CHECK(what.find("(and") == std::string::npos);
    }
}

TEST_CASE("missing, doubled and unknown bindings")
{
    refused(
        whole, [](executable& run, buffers& b, int) { run(g = b.gradient, m = b.state, lr = 1.0F); },
        "tensor \"p\" is not bound");
    refused(
        whole, [](executable& run, buffers& b, int) { run(g = b.gradient, p = b.parameters, m = b.state); },
        "scalar \"lr\" is not bound");
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            run(g = b.gradient, p = b.parameters, p = b.parameters, m = b.state, lr = 1.0F);
        },
        "\"p\" is bound twice");
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F, pl::scalar<"mu"> = 2.0F);
        },
        "\"mu\" is bound, but the program has no such name");
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F, N = 100, N = 100);
        },
        "dimension \"N\" is bound twice");
}

TEST_CASE("on one rank only: every rank throws, and says whose fault it is")
{
    refused(
        whole,
        [](executable& run, buffers& b, int rank) {
            if (rank == 1) { run(g = b.gradient, m = b.state, lr = 1.0F); }
            run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F);
        },
        "tensor \"p\" is not bound");
    std::array<std::string, ranks> errors;
    pl::threads::run(ranks, [&](pl::thread_communicator& comm) {
        executable run{whole, comm};
        buffers b;
        try {
            if (comm.rank() == 1) { b.parameters.pop_back(); }
            run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F);
        } catch (const pl::error& e) {
            errors[static_cast<std::size_t>(comm.rank())] = e.what();
        }
    });
    const std::string problem =
        "program \"sgd\": tensor \"g\" needs 99 elements, its buffer has 100; N = 99 was taken from tensor \"p\"";
    CHECK(errors[1] == "plait: " + problem);
    CHECK(errors[0] == "plait: rank 1: " + problem);
    CHECK(errors[2] == errors[0]);
}

TEST_CASE("wrong sizes")
{
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            run(g = b.gradient, p = b.parameters, m = std::span(b.state).first(99), lr = 1.0F);
        },
        "tensor \"m\" needs 100 elements, its buffer has 99");
    refused(
        fused, [](executable& run, buffers& b, int) { run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F); },
        "elements (this rank's slice, see slice_of), its buffer has 100");
    refused(
        whole,
        [](executable& run, buffers& b, int) { run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F, N = -1); },
        "dimension \"N\" is -1; it must be 0 or more");
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            run(g = b.gradient.data(), p = b.parameters.data(), m = b.state.data(), lr = 1.0F);
        },
        "dimension \"N\" is not known; bind it");
    refused(
        whole,
        [](executable& run, buffers& b, int) { run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F, N = 50); },
        "needs 50 elements, its buffer has 100");
}

TEST_CASE("wrong dtypes, and const buffers that are updated")
{
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            std::vector<double> wide(n);
            run(g = wide, p = b.parameters, m = b.state, lr = 1.0F);
        },
        "tensor \"g\" has dtype f32, its buffer f64");
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            const std::vector<float> fixed(n);
            run(g = b.gradient, p = fixed, m = b.state, lr = 1.0F);
        },
        "tensor \"p\" is updated, its buffer is const");
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            run(g = b.gradient, p = b.parameters, m = b.state, pl::scalar<"lr", double> = 1.0);
        },
        "scalar \"lr\" of dtype f32 is bound to something else");
    refused(
        whole,
        [](executable& run, buffers& b, int) { run(pl::scalar<"g"> = 1.0F, p = b.parameters, m = b.state, lr = 1.0F); },
        "tensor \"g\" is bound to a single value");
}

TEST_CASE("null pointers, which are right where there is nothing")
{
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            run(g = static_cast<float*>(nullptr), p = b.parameters, m = b.state, lr = 1.0F);
        },
        "tensor \"g\" is bound to a null pointer and has 100 elements");
    pl::threads::run(2, [](pl::thread_communicator& comm) {
        executable run{whole, comm};
        float* none = nullptr;
        run(g = none, p = none, m = none, lr = 1.0F, N = 0);
    });
}

TEST_CASE("ranks that differ: in extents, scalars, program")
{
    const auto shorter = [](executable& run, buffers& b, int rank) {
        const std::size_t count = rank == 2 ? n - 1 : n;
        const auto first = [count](std::vector<float>& x) { return std::span(x).first(count); };
        run(g = first(b.gradient), p = first(b.parameters), m = first(b.state), lr = 1.0F);
    };
    refused(whole, shorter, "program \"sgd\" differs between ranks: rank 2: extent N = 99, others 100");
    refused(
        whole,
        [](executable& run, buffers& b, int rank) {
            run(g = b.gradient, p = b.parameters, m = b.state, lr = rank == 0 ? 1.0F : 2.0F);
        },
        "rank 0: another value of scalar \"lr\" than rank 1");
    std::array<std::string, 3> errors;
    pl::threads::run(3, [&](pl::thread_communicator& comm) {
        buffers b;
        try {
            if (comm.rank() == 1) {
                executable run{whole | pl::split<"avg">, comm};
                run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F);
            } else {
                executable run{whole, comm};
                run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F);
            }
        } catch (const pl::error& e) {
            errors[static_cast<std::size_t>(comm.rank())] = e.what();
        }
        CHECK(b == buffers{});
    });
    for (const std::string& what : errors) {
        CHECK(what.find("rank 1: another program or schedule than rank 0") != std::string::npos);
    }
}

/// What each of three ranks throws that run `usual`, but rank 2 `odd`. Nothing is written.
template <class Usual, class Odd>
std::string difference(Usual usual, Odd odd)
{
    std::array<std::string, 3> errors;
    pl::threads::run(3, [&](pl::thread_communicator& comm) {
        try {
            comm.rank() == 2 ? odd(comm) : usual(comm);
        } catch (const pl::error& e) {
            errors[static_cast<std::size_t>(comm.rank())] = e.what();
        }
    });
    CHECK(errors[1] == errors[0]);
    CHECK(errors[2] == errors[0]);
    return errors[0];
}

TEST_CASE("ranks that differ: in a dtype, a constant, an operator, a schedule, parameters")
{
    constexpr auto wide = pl::program<"sgd">(pl::update(pl::tensor<"p", double>(pl::replicated, N), pl::all_reduce(pl::sum, pl::tensor<"g", double>(pl::local, N))));
    constexpr auto narrow = pl::program<"sgd">(pl::update(p, avg));
    constexpr auto scaled = pl::program<"sgd">(pl::update(p, 0.5_c * avg));
    constexpr auto other_scale = pl::program<"sgd">(pl::update(p, 0.25_c * avg));
    constexpr auto largest = pl::program<"sgd">(pl::update(p, pl::all_reduce(pl::max, g)));
    const auto runs = []<class T>(auto program, T, pl::parameters chosen = {}) {
        return [program, chosen](pl::thread_communicator& comm) {
            std::vector<T> in(n, T(1)), out(n, T(2));
            executable run{program, comm};
            run.set_parameters(chosen);
            struct untouched {
                std::vector<T>& out;
                ~untouched() { CHECK(out == std::vector<T>(n, T(2))); }
            } check{out};
            run(pl::tensor<"g", T>(pl::local, N) = in, pl::tensor<"p", T>(pl::replicated, N) = out);
        };
    };
    const std::string program = "plait: program \"sgd\" differs between ranks: rank 2: another program or schedule than rank 0; give all ranks the same";
    CHECK(difference(runs(narrow, 0.0F), runs(wide, 0.0)) == program);
    CHECK(difference(runs(scaled, 0.0F), runs(other_scale, 0.0F)) == program);
    CHECK(difference(runs(narrow, 0.0F), runs(largest, 0.0F)) == program);
    CHECK(difference(runs(narrow, 0.0F), runs(narrow | pl::split<"avg">, 0.0F)) == program);
    CHECK(difference(runs(scaled, 0.0F), runs(scaled | pl::split<"avg"> | pl::reorder<"avg">, 0.0F)) == program);
    const auto set = [&](pl::parameters chosen) { return difference(runs(narrow, 0.0F), runs(narrow, 0.0F, chosen)); };
    CHECK(set({.chunks = 3}).find("rank 2: set to 3 chunks, others to ") != std::string::npos);
    CHECK(set({.all_reduce = pl::all_reduce_algorithm::two_shot}).find("rank 2: set to two-shot, others to ") != std::string::npos);
    CHECK(set({.stores = pl::peer_stores::cached}).find("rank 2: set to cached stores, others to ") != std::string::npos);
    CHECK(set({.multicast = true}).find("rank 2: set to multicast, others to ") != std::string::npos);
}

TEST_CASE("two ranks of five that differ are both named, and the others are the measure")
{
    std::array<std::string, 5> errors;
    pl::threads::run(5, [&](pl::thread_communicator& comm) {
        buffers b;
        executable run{whole, comm};
        try {
            run(g = b.gradient, p = b.parameters, m = b.state, lr = comm.rank() == 0 || comm.rank() == 3 ? 1.0F : 2.0F);
        } catch (const pl::error& e) {
            errors[static_cast<std::size_t>(comm.rank())] = e.what();
        }
    });
    for (const std::string& what : errors) {
        CHECK(what == "plait: program \"sgd\" differs between ranks: rank 0: another value of scalar \"lr\" than rank 1; rank 3: another value of "
                      "scalar \"lr\" than rank 1; give all ranks the same");
    }
}

TEST_CASE("buffers that overlap")
{
    refused(
        whole,
        [](executable& run, buffers& b, int) {
            std::vector<float> both(n + 10, 1.0F);
            run(g = b.gradient, p = std::span(both).first(n), m = std::span(both).last(n), lr = 1.0F);
        },
        "the buffers of tensor \"p\" and tensor \"m\" overlap in part and one is updated");
    refused(
        whole,
        [](executable& run, buffers& b, int) { run(g = b.gradient, p = b.parameters, m = b.parameters, lr = 1.0F); },
        "tensor \"p\" and tensor \"m\" share a buffer");
    refused(
        fused,
        [](executable& run, buffers& b, int rank) {
            const auto part = static_cast<std::size_t>(pl::slice_of(n, rank, ranks).count);
            run(g = b.parameters, p = b.parameters, m = std::span(b.state).first(part), lr = 1.0F);
        },
        "share a buffer that is still read when it has been updated");
}

TEST_CASE("a tensor may be updated in the very buffer that another one is read from, where nothing reads it later")
{
    constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
    constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
    constexpr auto prog = pl::program<"in place">(pl::update(y, x * 2_c));
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        std::vector<float> both(3000, 1.5F);
        executable run{prog, comm};
        run(x = both, y = both);
        CHECK(both == std::vector<float>(3000, 3.0F));
    });
}

TEST_CASE("scattered tensors and partitions")
{
    const auto in_pieces = [](std::vector<float>& x, std::vector<std::size_t> counts) {
        std::vector<std::span<float>> spans;
        std::size_t at = 0;
        for (std::size_t c : counts) {
            spans.push_back(std::span(x).subspan(at, c));
            at += c;
        }
        return pl::scattered(spans);
    };
    refused(
        whole,
        [&](executable& run, buffers& b, int) {
            run(g = in_pieces(b.gradient, {40, 60}), p = in_pieces(b.parameters, {60, 40}), m = b.state, lr = 1.0F);
        },
        " is scattered into other counts than another tensor of its dimension");
    refused(
        whole,
        [&](executable& run, buffers& b, int) {
            const std::array<std::int64_t, 2> counts{50, 50};
            run(g = in_pieces(b.gradient, {50, 50}), p = b.parameters, m = b.state, lr = 1.0F,
                N = pl::partition{counts});
        },
        "dimension \"N\" has a partition and a scattered tensor");
    refused(
        fused,
        [&](executable& run, buffers& b, int) {
            run(g = b.gradient, p = b.parameters, m = in_pieces(b.state, {50, 50}), lr = 1.0F);
        },
        "tensor \"m\" is bound to scattered buffers; that needs a whole tensor of one named dimension");
    refused(
        whole,
        [&](executable& run, buffers& b, int) {
            const std::vector<std::span<float>> spans{std::span(b.parameters).first(50),
                                                      std::span(b.parameters).subspan(40, 50)};
            run(g = b.gradient, p = pl::scattered(spans), m = b.state, lr = 1.0F);
        },
        "two pieces of tensor \"p\" overlap and it is updated");
    refused(
        whole,
        [&](executable& run, buffers& b, int rank) {
            const std::vector<std::size_t> counts =
                rank == 1 ? std::vector<std::size_t>{30, 70} : std::vector<std::size_t>{70, 30};
            run(g = in_pieces(b.gradient, counts), p = in_pieces(b.parameters, counts), m = b.state, lr = 1.0F);
        },
        "rank 1: other counts of the tensors of a dimension than rank 0");
    // Equal counts, but scattered here and a partition of one buffer there.
    refused(
        whole,
        [&](executable& run, buffers& b, int rank) {
            const std::array<std::int64_t, 2> counts{30, 70};
            const auto pieces = in_pieces(b.gradient, {30, 70});
            if (rank == 1) {
                run(g = pieces, p = b.parameters, m = b.state, lr = 1.0F);
            } else {
                run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F, N = pl::partition{counts});
            }
        },
        "tensor \"g\" is scattered on some ranks and one buffer on others; bind it alike on all ranks");
    refused(
        whole,
        [&](executable& run, buffers& b, int) {
            const std::array<std::int64_t, 2> counts{101, -1};
            run(g = b.gradient, p = b.parameters, m = b.state, lr = 1.0F, N = pl::partition{counts});
        },
        "dimension \"N\" has a partition with a count of -1");
}

/// A communicator whose rank 1 is ahead of the others after every exchange.
class uneven : public harness::forwarding {
  public:
    using forwarding::forwarding;
    auto exchange(const void* record, std::size_t bytes, const char* where)
    {
        const auto all = forwarding::exchange(record, bytes, where);
        if (rank() != 1) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }
        return all;
    }
};

/// Writes over a rank's buffers when their scope is left, as whatever gets their memory next would.
struct overwritten_at_the_end {
    std::span<float> buffer;
    ~overwritten_at_the_end() { std::ranges::fill(buffer, -1.0F); }
};

TEST_CASE("a rank that throws in a run keeps its buffers until its peers have left the run")
{
    // Rank 1 finds its bad index while the others have not even begun; then they read its gradient and write its sums.
    constexpr auto table = pl::tensor<"table", float>(pl::local, 10_c, 4_c);
    constexpr auto index = pl::tensor<"index", std::int32_t>(pl::local);
    constexpr auto row = pl::tensor<"row", float>(pl::local, 4_c);
    constexpr auto reads = pl::program<"reads">(pl::update(row, pl::embedding(table, index)),
                                                pl::update(p, pl::all_reduce(pl::sum, g)));
    std::array<std::vector<float>, ranks> gradients;
    std::array<std::vector<float>, ranks> sums;
    gradients.fill(std::vector<float>(n, 1.0F));
    sums.fill(std::vector<float>(n, 0.0F));
    const auto one_throws = [&] {
        pl::threads::run(ranks, [&](pl::thread_communicator& comm) {
            const auto r = static_cast<std::size_t>(comm.rank());
            const std::vector<float> embedded(40, 1.0F);
            const std::vector<std::int32_t> which(1, comm.rank() == 1 ? 10 : 0);
            std::vector<float> out(4);
            std::vector<float> nothing;
            const overwritten_at_the_end gradient{comm.rank() == 1 ? gradients[r] : nothing};
            const overwritten_at_the_end sum{comm.rank() == 1 ? sums[r] : nothing};
            uneven ranks_apart(comm);
            pl::executable run{reads, ranks_apart};
            run(table = embedded, index = which, row = out, g = gradients[r], p = sums[r]);
        });
    };
    CHECK_THROWS_WITH_AS(one_throws(), doctest::Contains("embedding: an index is 10"), pl::error);
    for (std::size_t r : {0, 2}) {  // nobody has read what was written over
        CHECK(std::ranges::count(sums[r], 0.0F) + std::ranges::count(sums[r], 3.0F) == n);
    }
    CHECK(sums[1] == std::vector<float>(n, -1.0F));  // and nobody has written there since
}

TEST_CASE("a scattered tensor that is broadcast, or reduced along its dimension, is refused")
{
    constexpr auto rows = pl::tensor<"rows", float>(pl::replicated, M, N);
    constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, N);
    constexpr auto add = pl::program<"add">(pl::update(rows, rows + bias));
    constexpr auto columns = pl::program<"columns">(pl::update(bias, pl::sum(rows, pl::axis<0>)));
    const auto check = [&](auto program, const char* name) {
        pl::threads::run(1, [&](pl::thread_communicator& comm) {
            std::vector<float> r(12, 1.0F);
            std::vector<float> first(1, 2.0F);
            std::vector<float> others(3, 2.0F);
            const pl::scattered pieces(std::vector<std::span<float>>{first, others});
            executable run{program, comm};
            const std::string words = std::string("program \"") + name + "\": tensor \"bias\" is scattered, but is not read and written "
                                      "element by element alone; bind one buffer";
            CHECK_THROWS_WITH_AS(run(rows = r, bias = pieces, M = 3), doctest::Contains(words.c_str()), pl::error);
            CHECK(r == std::vector<float>(12, 1.0F));
            CHECK(others == std::vector<float>(3, 2.0F));
        });
    };
    check(add, "add");
    check(columns, "columns");
}

TEST_CASE("what is bound may change from run to run")
{
    pl::threads::run(2, [](pl::thread_communicator& comm) {
        executable run{whole, comm};
        for (std::size_t size : {10, 10, 3, 2000, 10, 0, 1}) {
            std::vector<float> a(size, 1.0F);
            std::vector<float> b(size, 2.0F);
            std::vector<float> c(size, 0.0F);
            run(g = a, p = b, m = c, lr = 0.25F);
            CHECK(b == std::vector<float>(size, 1.5F));
            run(g = a, p = b, m = c, lr = 0.5F);  // the same buffers, another scalar
            CHECK(b == std::vector<float>(size, 0.5F));
            CHECK(c == std::vector<float>(size, 4.0F));
        }
    });
}

}  // namespace
