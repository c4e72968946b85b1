// The barrier: visibility for many ranks in random order, deadlines, failure.
#include "delays.hpp"

#include <plait/core/error.hpp>
#include <plait/fabric/rendezvous.hpp>
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

// The cells are plain ints: ThreadSanitizer judges whether barriers alone order the accesses.
TEST_CASE("what any rank wrote before a barrier, every rank reads after it")
{
    for (int n : {1, 2, 3, 5, 8, 16, 32}) {
        CAPTURE(n);
        const int rounds = n <= 2 ? 20000 : n <= 8 ? 3000 : 500;
        std::vector<int> cells(index(n), -1);
        std::atomic<int> wrong = 0;
        plait::threads::run(n, [&](plait::thread_communicator& comm) {
            delays delay(1, comm.rank());
            for (int round = 0; round < rounds; ++round) {
                cells[index(comm.rank())] = round * n + comm.rank();
                delay();
                comm.barrier("written");
                for (int r = 0; r < n; ++r) { wrong += cells[index(r)] != round * n + r; }
                delay();
                comm.barrier("read");
            }
        });
        CHECK(wrong == 0);
        for (int r = 0; r < n; ++r) { CHECK(cells[index(r)] == (rounds - 1) * n + r); }
    }
}

TEST_CASE("no rank leaves a barrier before all have come")
{
    const int n = 5;
    std::atomic<int> arrived = 0;
    std::atomic<int> early = 0;
    plait::threads::run(n, [&](plait::thread_communicator& comm) {
        delays delay(2, comm.rank());
        for (int round = 1; round <= 1000; ++round) {
            delay();
            ++arrived;
            comm.barrier("arrive");
            early += arrived < round * n;
        }
    });
    CHECK(early == 0);
    CHECK(arrived == 1000 * n);
}

TEST_CASE("ranks that sleep in a barrier are woken by the last")
{
    std::atomic<int> through = 0;
    plait::threads::run(3, [&](plait::thread_communicator& comm) {
        for (int round = 0; round < 9; ++round) {
            if (comm.rank() == round % 3) { std::this_thread::sleep_for(20ms); }
            comm.barrier("late rank");
            ++through;
        }
    });
    CHECK(through == 27);
}

TEST_CASE("a deadline names the waiting rank, the stage and exactly the ranks that have not arrived")
{
    const int n = 5;  // ranks 1 and 3 stay away, rank 2 waits with a deadline, ranks 0 and 4 wait with none
    plait::detail::rendezvous meeting(n, 0ns);
    meeting.set_deadline(2, 50ms);
    std::vector<std::string> texts(index(n));
    std::vector<std::thread> ranks;
    for (int r : {0, 2, 4}) {
        ranks.emplace_back([&, r] {
            try {
                // rank 2 starts when the others wait, so that they are no longer missing at its deadline
                while (r == 2 && (meeting.meetings(0) == 0 || meeting.meetings(4) == 0)) { std::this_thread::yield(); }
                meeting.meet(r, "halo");
            } catch (const plait::error& e) {
                texts[index(r)] = e.what();
            }
        });
    }
    for (std::thread& t : ranks) { t.join(); }
    for (int r : {0, 2, 4}) {
        CHECK(texts[index(r)] == "plait: rank 2 failed: waited 50 ms at 'halo'; not arrived: rank 1, 3");
    }
    CHECK(meeting.failed());
    CHECK(meeting.first_failed() == 2);
    CHECK_THROWS_WITH_AS(meeting.meet(1, "halo"),
                         "plait: rank 2 failed: waited 50 ms at 'halo'; not arrived: rank 1, 3", plait::error);
}

TEST_CASE("a wait within its deadline is no failure, and neither is one without limit or with a huge one")
{
    for (const std::chrono::nanoseconds limit : {0ns, std::chrono::nanoseconds(60s), std::chrono::nanoseconds::max()}) {
        CAPTURE(limit.count());
        plait::detail::rendezvous meeting(2, limit);
        CHECK(meeting.deadline(1) == limit);
        std::thread other([&] {
            std::this_thread::sleep_for(70ms);
            meeting.meet(1, "late");
        });
        CHECK_NOTHROW(meeting.meet(0, "late"));
        other.join();
        CHECK_FALSE(meeting.failed());
    }
}

TEST_CASE("failure ends all waits, keeps its first cause and lasts")
{
    plait::detail::rendezvous meeting(4, 60s);
    std::vector<std::string> texts(3);
    std::vector<std::thread> ranks;
    for (int r = 0; r < 3; ++r) {
        ranks.emplace_back([&, r] {
            try {
                meeting.meet(r, "never complete");
            } catch (const plait::error& e) {
                texts[index(r)] = e.what();
            }
        });
    }
    while (meeting.meetings(0) + meeting.meetings(1) + meeting.meetings(2) < 3) { std::this_thread::yield(); }
    meeting.fail(3, "disk full");
    meeting.fail(1, "a later cause");
    for (std::thread& t : ranks) { t.join(); }
    for (const std::string& text : texts) { CHECK(text == "plait: rank 3 failed: disk full"); }
    CHECK_THROWS_WITH_AS(meeting.meet(3, "x"), "plait: rank 3 failed: disk full", plait::error);
    CHECK(meeting.first_failed() == 3);
}

TEST_CASE("a failure after a meeting does not spoil it for ranks still on their way out")
{
    for (int repeat = 0; repeat < 200; ++repeat) {
        plait::detail::rendezvous meeting(4, 60s);
        std::atomic<int> through = 0;
        std::vector<std::thread> ranks;
        for (int r = 0; r < 4; ++r) {
            ranks.emplace_back([&, r] {
                try {
                    meeting.meet(r, "complete");
                    ++through;
                    if (r == repeat % 4) { meeting.fail(r, "afterwards"); }
                } catch (const plait::error&) {
                }
            });
        }
        for (std::thread& t : ranks) { t.join(); }
        CHECK(through == 4);
        CHECK(meeting.failed());
    }
}

TEST_CASE("many ranks may fail at once: one cause wins, all ranks report it")
{
    for (int repeat = 0; repeat < 50; ++repeat) {
        const int n = 8;
        plait::detail::rendezvous meeting(n, 60s);
        std::vector<std::string> texts(index(n));
        std::vector<std::thread> ranks;
        for (int r = 0; r < n; ++r) {
            ranks.emplace_back([&, r] {
                delays delay(static_cast<unsigned>(repeat), r);
                try {
                    for (int i = 0; i < 5; ++i) {
                        delay();
                        meeting.meet(r, "some");
                    }
                    if (r % 2 == 1) { meeting.fail(r, "cause " + std::to_string(r)); }
                    meeting.meet(r, "last");
                } catch (const plait::error& e) {
                    texts[index(r)] = e.what();
                }
            });
        }
        for (std::thread& t : ranks) { t.join(); }
        REQUIRE(meeting.failed());
        const std::string first = std::to_string(meeting.first_failed());
        CHECK(meeting.first_failed() % 2 == 1);
        for (const std::string& text : texts) { CHECK(text == "plait: rank " + first + " failed: cause " + first); }
    }
}

TEST_CASE("durations are printed in the largest unit that is exact")
{
    CHECK(plait::detail::text_of(60s) == "60 s");
    CHECK(plait::detail::text_of(1500ms) == "1500 ms");
    CHECK(plait::detail::text_of(1500us) == "1500000 ns");
    CHECK(plait::detail::text_of(7ns) == "7 ns");
}

}  // namespace
