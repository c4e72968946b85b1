// What fails in the middle of things, on ranks that are threads: an error on every rank, memory given back, and a new group works.
#include "run/forwarding.hpp"

#include <plait/plait.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using namespace std::chrono_literals;

constexpr auto M = pl::dim<"M">;
constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, M, N);
constexpr auto w = pl::tensor<"w", float>(pl::replicated, N, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, M, N);
constexpr auto total = pl::label<"sum">(pl::all_reduce(pl::sum, pl::label<"mm">(pl::matmul(g, w))));
constexpr auto whole = pl::program<"step">(pl::update(p, p + pl::tanh(total)));
constexpr auto fused = whole | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
constexpr auto overlapped = fused | pl::overlap<"mm", "sum">;

constexpr int ranks = 3;

/// A rank's buffers, and a call with them.
struct rank_buffers {
    std::vector<float> mine = std::vector<float>(40 * 16, 1.0F);
    std::vector<float> weights = std::vector<float>(16 * 16, 0.25F);
    std::vector<float> result = std::vector<float>(40 * 16, 2.0F);
    template <class Executable>
    void call(Executable& run)
    {
        run(g = mine, w = weights, p = result, N = 16);
    }
};

/// Runs f(comm, rank) on every rank; what each rank throws, or "".
template <class F>
std::array<std::string, ranks> failures(F&& f, std::chrono::nanoseconds deadline = 20s)
{
    std::array<std::string, ranks> texts;
    pl::thread_group group(ranks, deadline);
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r) {
        threads.emplace_back([&, r] {
            try {
                pl::thread_communicator comm = group.communicator(r);
                f(comm);
            } catch (const std::exception& e) {
                group.fail(r, e.what());
                texts[static_cast<std::size_t>(r)] = e.what();
            }
        });
    }
    for (std::thread& t : threads) { t.join(); }
    return texts;
}

/// A new group and a new executable do what they should, whatever has happened before.
template <class Program>
void works(Program program)
{
    pl::threads::run(ranks, [&](pl::thread_communicator& comm) {
        rank_buffers b;
        pl::executable run{program, comm};
        b.call(run);
        CHECK(b.result == std::vector<float>(40 * 16, 2.0F + std::tanh(12.0F)));
    });
}

template <class F>
void for_each_schedule(F&& f)
{
    f(whole);
    f(fused);
    f(overlapped);
}

TEST_CASE("a rank that throws between runs ends the others' next run, and a new group works")
{
    for_each_schedule([](auto program) {
        const auto texts = failures([&](pl::thread_communicator& comm) {
            rank_buffers b;
            pl::executable run{program, comm};
            for (int i = 0; i < 5; ++i) {
                if (comm.rank() == 1 && i == 3) { throw std::runtime_error("disk full"); }
                b.call(run);
            }
        });
        CHECK(texts[1] == "disk full");
        CHECK(texts[0] == "plait: rank 1 failed: disk full");
        CHECK(texts[2] == texts[0]);
        works(program);
    });
}

TEST_CASE("a rank whose thread ends early is named at the deadline, with program and stage")
{
    for_each_schedule([](auto program) {
        const auto texts = failures(
            [&](pl::thread_communicator& comm) {
                rank_buffers b;
                pl::executable run{program, comm};
                for (int i = 0; i < 5; ++i) {
                    if (comm.rank() == 2 && i == 2) { return; }
                    b.call(run);
                }
            },
            300ms);
        for (int r = 0; r < 2; ++r) {
            CAPTURE(texts[static_cast<std::size_t>(r)]);
            CHECK(texts[static_cast<std::size_t>(r)].find("waited 300 ms at 'step: start'; not arrived: rank 2") != std::string::npos);
        }
        works(program);
    });
}

/// Fails to allocate for rank 1, after so many times.
class short_of_memory : public harness::forwarding {
  public:
    short_of_memory(pl::thread_communicator& comm, int good) : forwarding(comm), good_(good) {}
    void* allocate(std::size_t bytes)
    {
        if (rank() == 1 && good_-- == 0) { throw std::bad_alloc(); }
        ++blocks;
        return forwarding::allocate(bytes);
    }
    void deallocate(void* at, std::size_t bytes) noexcept
    {
        --blocks;
        forwarding::deallocate(at, bytes);
    }
    template <class T>
    pl::symmetric_buffer<T, short_of_memory> symmetric(std::size_t n)
    {
        return {*this, n};
    }

    int blocks = 0;  // allocated and not yet deallocated

  private:
    int good_;
};

TEST_CASE("memory that cannot be had: an error on every rank, nothing written, nothing kept")
{
    int failed = 0;
    for_each_schedule([&](auto program) {
        for (int good = 0; good < 3; ++good) {
            std::array<int, ranks> kept{};
            std::array<bool, ranks> untouched{};
            const auto texts = failures([&](pl::thread_communicator& threads) {
                const auto r = static_cast<std::size_t>(threads.rank());
                rank_buffers b;
                short_of_memory comm(threads, good);
                try {
                    pl::executable run{program, comm};
                    b.call(run);
                } catch (...) {
                    kept[r] = comm.blocks;
                    untouched[r] = b.result == std::vector<float>(40 * 16, 2.0F);
                    throw;
                }
            });
            if (texts[1].empty()) { continue; }  // it needs fewer blocks than that
            ++failed;
            CHECK(texts[1].find("bad_alloc") != std::string::npos);
            CHECK(texts[0].find("rank 1 failed: ") != std::string::npos);
            CHECK(texts[2] == texts[0]);
            CHECK(std::ranges::count(kept, 0) == ranks);
            CHECK(std::ranges::count(untouched, true) == ranks);
        }
    });
    CHECK(failed >= 3);
}

TEST_CASE("memory that cannot be had when extents grow: the next run throws on every rank, and the last result stays")
{
    const auto texts = failures([&](pl::thread_communicator& threads) {
        short_of_memory comm(threads, 1);
        pl::executable run{whole, comm};
        std::vector<float> weights(16 * 16, 0.25F);
        for (const std::size_t rows : {4, 400}) {
            std::vector<float> mine(rows * 16, 1.0F);
            std::vector<float> result(rows * 16, 2.0F);
            try {
                run(g = mine, w = weights, p = result, N = 16);
                CHECK(rows == 4);
            } catch (const std::exception&) {
                CHECK(rows == 400);
                CHECK(result == std::vector<float>(rows * 16, 2.0F));
                throw;
            }
        }
    });
    CHECK(texts[1].find("bad_alloc") != std::string::npos);
    CHECK(texts[0].find("rank 1 failed: ") != std::string::npos);
}

}  // namespace
