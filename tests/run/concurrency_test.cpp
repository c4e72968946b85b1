// Programs beside each other: several communicators at once, one executable for two threads, many short runs in random order.
#include "fabric/delays.hpp"
#include "run/forwarding.hpp"
#include "slow.hpp"

#include <plait/plait.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace pl = plait;
using namespace pl::literals;
using namespace std::chrono_literals;

constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto m = pl::tensor<"m", float>(pl::replicated, N);
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
constexpr auto whole = pl::program<"add">(pl::update(p, p + sum), pl::update(m, sum));
constexpr auto fused = whole | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;
constexpr auto largest = pl::program<"largest">(pl::update(p, pl::all_reduce(pl::max, g)));

/// How many short runs: PLAIT_SOAK_RUNS in the environment, or few.
int runs()
{
    const char* set = std::getenv("PLAIT_SOAK_RUNS");
    return set != nullptr ? std::atoi(set) : runs_slowly ? 300 : 2000;
}

/// Comes to every meeting at another time.
class late : public harness::forwarding {
  public:
    explicit late(pl::thread_communicator& comm) : forwarding(comm), delay_(99, comm.rank()) {}
    void barrier(const char* where)
    {
        delay_();
        forwarding::barrier(where);
        delay_();
    }
    template <class Ready>
    void wait(Ready ready, const char* where)
    {
        delay_();
        forwarding::wait(ready, where);
    }
    auto exchange(const void* record, std::size_t bytes, const char* where)
    {
        delay_();
        const auto all = forwarding::exchange(record, bytes, where);
        delay_();
        return all;
    }
    template <class T>
    pl::symmetric_buffer<T, late> symmetric(std::size_t n)
    {
        return {*this, n};
    }

  private:
    delays delay_;
};

TEST_CASE("many short runs back to back, with delays before and after every meeting, and buffers that change")
{
    for (const int ranks : {1, 2, 3, 5}) {
        const int n = runs() / (ranks > 2 ? 4 : 1);
        std::atomic<int> wrong = 0;
        pl::threads::run(ranks, [&](pl::thread_communicator& threads) {
            late comm(threads);
            pl::executable first{whole, comm};
            pl::executable second{fused, comm};
            std::vector<float> mine[2] = {std::vector<float>(70), std::vector<float>(70)};
            std::vector<float> result[2] = {std::vector<float>(70), std::vector<float>(70)};
            std::vector<float> state(70);
            for (int i = 0; i < n; ++i) {
                const auto which = static_cast<std::size_t>(i / 3 % 2);  // known buffers, and buffers new to the run
                const std::size_t count = i % 50 == 0 ? 7 : 70;
                const float value = static_cast<float>(i % 100);
                for (float& x : mine[which]) { x = value + static_cast<float>(comm.rank()); }
                for (float& x : result[which]) { x = -1; }
                const auto part = [&](std::vector<float>& v) { return std::span(v).first(count); };
                pl::executable<late>& run = i % 2 == 0 ? first : second;
                run(g = part(mine[which]), p = part(result[which]), m = part(state));
                const float expected = value * static_cast<float>(ranks) + static_cast<float>(ranks * (ranks - 1) / 2);
                wrong += state[0] == expected && state[count - 1] == expected && result[which][count / 2] == expected - 1 ? 0 : 1;
            }
        });
        CAPTURE(ranks);
        CHECK(wrong == 0);
    }
}

TEST_CASE("two groups of threads run programs at the same time, and do not know of each other")
{
    std::vector<std::thread> groups;
    std::atomic<int> wrong = 0;
    for (const int ranks : {2, 3}) {
        groups.emplace_back([&wrong, ranks] {
            pl::threads::run(ranks, [&](pl::thread_communicator& comm) {
                std::vector<float> mine(100, static_cast<float>(ranks)), result(100), state(100);
                pl::executable run{fused, comm};
                for (int i = 1; i <= 300; ++i) {
                    run(g = mine, p = result, m = state);
                    wrong += result[99] == static_cast<float>(i * ranks * ranks) ? 0 : 1;
                }
            });
        });
    }
    for (std::thread& t : groups) { t.join(); }
    CHECK(wrong == 0);
}

TEST_CASE("one thread has ranks of two groups, and uses both in turn")
{
    pl::thread_group one(2);
    pl::thread_group other(2);
    std::atomic<int> wrong = 0;
    const auto work = [&](int rank) {
        pl::thread_communicator a = one.communicator(rank);
        pl::thread_communicator b = other.communicator(1 - rank);
        std::vector<float> mine(33, static_cast<float>(rank + 1)), result(33), state(33), high(33);
        pl::executable add{fused, a};
        pl::executable max{largest, b};
        for (int i = 1; i <= 200; ++i) {
            add(g = mine, p = result, m = state);
            max(g = mine, p = high);
            wrong += result[32] == static_cast<float>(3 * i) && high[0] == 2 ? 0 : 1;
        }
    };
    std::thread second(work, 1);
    work(0);
    second.join();
    CHECK(wrong == 0);
}

TEST_CASE("collectives in another order on two groups: a deadline ends it, and says what was waited for")
{
    pl::thread_group one(2, 300ms);
    pl::thread_group other(2, 300ms);
    std::string texts[2];
    const auto work = [&](int rank) {
        pl::thread_communicator a = one.communicator(rank);
        pl::thread_communicator b = other.communicator(rank);
        std::vector<float> mine(10, 1.0F), result(10), state(10);
        pl::executable add{whole, a};
        pl::executable max{largest, b};
        try {
            if (rank == 0) { add(g = mine, p = result, m = state); }
            max(g = mine, p = result);
            if (rank == 1) { add(g = mine, p = result, m = state); }
        } catch (const pl::error& e) {
            texts[rank] = e.what();
        }
    };
    std::thread second(work, 1);
    work(0);
    second.join();
    CHECK(texts[0].find("waited 300 ms at 'add: start'; not arrived: rank 1") != std::string::npos);
    CHECK(texts[1].find("waited 300 ms at 'largest: start'; not arrived: rank 0") != std::string::npos);
}

TEST_CASE("an executable that two threads call at once is refused to the second, and goes on for the first")
{
    std::atomic<bool> underway = false;
    std::atomic<bool> tried = false;
    std::string text;
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        std::vector<float> mine(10, 1.0F), result(10), state(10);
        pl::executable run{whole, comm};
        if (comm.rank() == 1) {  // comes when the other's executable has refused a second thread
            while (!tried) { std::this_thread::yield(); }
            run(g = mine, p = result, m = state);
            return;
        }
        std::thread intruder([&] {
            while (!underway) { std::this_thread::yield(); }
            std::this_thread::sleep_for(50ms);  // by then the first thread waits for rank 1 inside
            std::vector<float> buffer(10), other(10), third(10);
            try {
                run(g = buffer, p = other, m = third);
            } catch (const pl::error& e) {
                text = e.what();
            }
            tried = true;
        });
        underway = true;
        run(g = mine, p = result, m = state);
        intruder.join();
        CHECK(result == std::vector<float>(10, 2.0F));
    });
    CHECK(text == "plait: program \"add\": called by two threads at once; make an executable for each");
}

}  // namespace
