// Exchanges, handles and failure through communicators, with threads of one's own.
#include "delays.hpp"

#include <plait/core/error.hpp>
#include <plait/fabric/group.hpp>
#include <plait/fabric/threads.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

struct record {
    int rank;
    int round;
    std::array<int, 5> values;
};

int value(int rank, int round, int i) { return 10007 * round + 101 * rank + i; }

// Each rank spoils its record as soon as the exchange has returned, while peers may still read it: they read a copy.
TEST_CASE("an exchange shows every rank's current record to every rank")
{
    for (int n : {1, 2, 3, 5, 8, 16, 32}) {
        CAPTURE(n);
        const int rounds = n <= 2 ? 20000 : n <= 8 ? 3000 : 500;
        std::atomic<int> wrong = 0;
        plait::threads::run(n, [&](plait::thread_communicator& comm) {
            delays delay(3, comm.rank());
            for (int round = 0; round < rounds; ++round) {
                record current = {comm.rank(), round, {}};
                for (int i = 0; i < 5; ++i) { current.values[index(i)] = value(comm.rank(), round, i); }
                delay();
                const auto views = comm.exchange(&current, sizeof current, "records");
                current = {};
                delay();
                if (views.size() != index(n)) { ++wrong; }
                for (int r = 0; r < n; ++r) {
                    const record& theirs = *static_cast<const record*>(views[index(r)]);
                    wrong += theirs.rank != r || theirs.round != round;
                    for (int i = 0; i < 5; ++i) { wrong += theirs.values[index(i)] != value(r, round, i); }
                }
                // barriers between exchanges must not disturb the turn of the records
                for (int extra = round % 4; extra > 0; --extra) { comm.barrier("between"); }
            }
            comm.barrier("records may go");
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("records stay readable across barriers until the next exchange")
{
    std::atomic<int> wrong = 0;
    plait::threads::run(3, [&](plait::thread_communicator& comm) {
        for (int round = 0; round < 500; ++round) {
            int current = 10 * round + comm.rank();
            const auto views = comm.exchange(&current, sizeof current, "numbers");
            current = -1;  // it was copied
            for (int again = 0; again < 3; ++again) {
                for (int r = 0; r < 3; ++r) {
                    wrong += *static_cast<const int*>(views[index(r)]) != 10 * round + r;
                }
                comm.barrier("again");
            }
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("empty records can be exchanged")
{
    std::atomic<int> wrong = 0;
    plait::threads::run(2, [&](plait::thread_communicator& comm) {
        const int here = 0;
        const auto views = comm.exchange(comm.rank() == 0 ? &here : nullptr, 0, "nothing");
        wrong += views.size() != 2;
        comm.barrier("read");
    });
    CHECK(wrong == 0);
}

TEST_CASE("a handle leads peers to the buffer that it names")
{
    std::vector<int> buffers[3];
    plait::threads::run(3, [&](plait::thread_communicator& comm) {
        std::vector<int>& mine = buffers[comm.rank()];
        mine.assign(17, comm.rank());
        const plait::buffer_handle handle = comm.handle_of(mine.data() + 1, 16 * sizeof(int));
        const auto handles = comm.exchange(&handle, sizeof handle, "handles");
        const int next = (comm.rank() + 1) % 3;
        const auto h = *static_cast<const plait::buffer_handle*>(handles[index(next)]);
        static_cast<int*>(comm.resolve(next, h))[comm.rank()] = 100 + comm.rank();  // write into the neighbour's buffer
        comm.barrier("written");
    });
    CHECK(buffers[1][1 + 0] == 100);
    CHECK(buffers[2][1 + 1] == 101);
    CHECK(buffers[0][1 + 2] == 102);
    CHECK(buffers[0][0] == 0);
}

TEST_CASE("ranks whose calls do not match fail with a text that says so")
{
    const auto meetings_differ = [] {
        plait::threads::run(2, [](plait::thread_communicator& comm) {
            if (comm.rank() == 0) {
                comm.barrier("mine");
            } else {
                const int record = 0;
                static_cast<void>(comm.exchange(&record, sizeof record, "yours"));
            }
        });
    };
    CHECK_THROWS_WITH_AS(meetings_differ(),
                         "plait: rank 1 failed: exchange 'yours': rank 0 came to another meeting; all ranks must make "
                         "the same calls in the same order",
                         plait::error);

    const auto sizes_differ = [] {
        plait::thread_group group{2};
        const char record[3] = {};
        std::string text;
        std::thread other([&] {
            auto comm = group.communicator(1);
            try {
                static_cast<void>(comm.exchange(record, 3, "sizes"));
            } catch (const plait::error& e) {
                text = e.what();
            }
        });
        auto comm = group.communicator(0);
        std::string own;
        try {
            static_cast<void>(comm.exchange(record, 2, "sizes"));
        } catch (const plait::error& e) {
            own = e.what();
        }
        other.join();
        CHECK(own == text);
        return own;
    };
    const std::string said = sizes_differ();  // whichever rank is first to notice
    const std::string by_0 = "plait: rank 0 failed: exchange 'sizes': rank 1 shows 3 bytes, rank 0 2; ";
    const std::string by_1 = "plait: rank 1 failed: exchange 'sizes': rank 0 shows 2 bytes, rank 1 3; ";
    const std::string rule = "records must have one size";
    CHECK((said == by_0 + rule || said == by_1 + rule));
}

TEST_CASE("threads of one's own, each asking for its communicator, more than once")
{
    plait::thread_group group{3};
    CHECK(group.size() == 3);
    std::atomic<int> sum = 0;
    std::vector<std::thread> ranks;
    for (int r = 0; r < 3; ++r) {
        ranks.emplace_back([&, r] {
            int mine[2] = {r, 10 * r};
            for (int time = 0; time < 2; ++time) {
                auto comm = group.communicator(r);
                CHECK(comm.rank() == r);
                CHECK(comm.size() == 3);
                for (const void* theirs : comm.exchange(&mine[time], sizeof(int), "sum")) {
                    sum += *static_cast<const int*>(theirs);
                }
            }
            group.communicator(r).barrier("records may go");
        });
    }
    for (std::thread& t : ranks) { t.join(); }
    CHECK(sum == 3 * (0 + 1 + 2) + 3 * (0 + 10 + 20));
    CHECK_FALSE(group.failed());
}

TEST_CASE("groups without ranks and ranks without seats are refused")
{
    for (int n : {0, -1}) {
        CHECK_THROWS_WITH_AS(plait::thread_group{n},
                             ("plait: a group needs at least 1 rank, not " + std::to_string(n)).c_str(), plait::error);
    }
    plait::thread_group group{3};
    CHECK_THROWS_WITH_AS(group.communicator(3), "plait: there is no rank 3 in a group of 3", plait::error);
    CHECK_THROWS_WITH_AS(group.communicator(-1), "plait: there is no rank -1 in a group of 3", plait::error);
}

TEST_CASE("a group that has failed is refused, by its communicators and for new ones")
{
    plait::thread_group group{2};
    auto comm = group.communicator(0);
    CHECK_FALSE(group.failed());
    group.fail(1, "its thread ended");
    comm.fail("too late to be the cause");
    CHECK(group.failed());
    CHECK(group.first_failed() == 1);
    CHECK(group.failure() == "rank 1 failed: its thread ended");
    CHECK_THROWS_WITH_AS(comm.barrier("x"), "plait: rank 1 failed: its thread ended", plait::error);
    CHECK_THROWS_WITH_AS(comm.exchange(&comm, 1, "x"), "plait: rank 1 failed: its thread ended", plait::error);
    CHECK_THROWS_WITH_AS(
        group.communicator(1),
        "plait: this group cannot be used again, make a new one: rank 1 failed: its thread ended", plait::error);
}

TEST_CASE("the deadline is the group's until a rank sets its own")
{
    using namespace std::chrono_literals;
    plait::thread_group group{2, 5s};
    auto comm = group.communicator(0);
    CHECK(comm.deadline() == 5s);
    comm.set_deadline(50ms);
    CHECK(comm.deadline() == 50ms);
    CHECK(group.communicator(1).deadline() == 5s);
    CHECK_THROWS_WITH_AS(comm.barrier("alone"),
                         "plait: rank 0 failed: waited 50 ms at 'alone'; not arrived: rank 1", plait::error);
    CHECK(plait::thread_group{1}.communicator(0).deadline() == 60s);
}

}  // namespace
