// Waiting for a signal in symmetric memory: order, failure and deadlines.
#include "delays.hpp"

#include <plait/core/error.hpp>
#include <plait/fabric/threads.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// The cells are plain ints: ThreadSanitizer judges whether signals alone order the accesses.
TEST_CASE("what a rank wrote before its signal, the waiting rank reads after it")
{
    for (int n : {1, 2, 5, 16}) {
        CAPTURE(n);
        const int rounds = n <= 2 ? 5000 : 300;
        std::vector<int> cells(index(n), 0);
        std::vector<std::atomic<int>> signals(index(n));
        std::atomic<int> wrong = 0;
        plait::threads::run(n, [&](plait::thread_communicator& comm) {
            delays delay(5, comm.rank());
            const int before = (comm.rank() + n - 1) % n;
            for (int round = 1; round <= rounds; ++round) {
                cells[index(comm.rank())] = 100 * round + comm.rank();
                delay();
                signals[index(comm.rank())].store(round, std::memory_order_release);
                comm.wait([&] { return signals[index(before)].load(std::memory_order_acquire) >= round; }, "signal");
                wrong += cells[index(before)] != 100 * round + before;
                comm.barrier("read");
            }
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("a wait ends when the group fails, also one that begins later, but not one whose condition holds")
{
    plait::thread_group group{2};
    std::string text;
    std::thread other([&] {
        auto comm = group.communicator(1);
        try {
            comm.wait([] { return false; }, "never");
        } catch (const plait::error& e) {
            text = e.what();
        }
    });
    auto comm = group.communicator(0);
    std::this_thread::sleep_for(20ms);
    comm.fail("disk full");
    other.join();
    CHECK(text == "plait: rank 0 failed: disk full");
    CHECK_THROWS_WITH_AS(comm.wait([] { return false; }, "x"), "plait: rank 0 failed: disk full", plait::error);
    CHECK_NOTHROW(comm.wait([] { return true; }, "x"));
}

TEST_CASE("a wait that lasts too long names the rank and the stage")
{
    const auto run = [] {
        plait::threads::run(2, [](plait::thread_communicator& comm) {
            if (comm.rank() == 1) { comm.set_deadline(50ms); }
            if (comm.rank() == 0) { return comm.barrier("other"); }
            comm.wait([] { return false; }, "halo");
        });
    };
    CHECK_THROWS_WITH_AS(run(), "plait: rank 1 failed: waited 50 ms at 'halo'", plait::error);
}

TEST_CASE("a wait without limit, or with a huge one, is no failure")
{
    for (const std::chrono::nanoseconds limit : {0ns, std::chrono::nanoseconds::max()}) {
        plait::thread_group group(1, limit);
        auto comm = group.communicator(0);
        std::atomic<bool> flag = false;
        std::thread other([&] {
            std::this_thread::sleep_for(30ms);
            flag = true;
        });
        CHECK_NOTHROW(comm.wait([&] { return flag.load(); }, "flag"));
        other.join();
    }
}

}  // namespace
