// Running a function on n ranks: every rank runs once, and the root cause of a failure comes out with its type.
#include "delays.hpp"

#include <plait/core/error.hpp>
#include <plait/fabric/threads.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

struct custom_exception {
    int code;
};

TEST_CASE("every rank runs once, rank 0 on the calling thread")
{
    for (int n : {1, 2, 3, 5, 8, 16, 32}) {
        CAPTURE(n);
        std::vector<int> calls(index(n), 0);
        std::vector<std::thread::id> ids(index(n));
        plait::threads::run(n, [&](plait::thread_communicator& comm) {
            ++calls[index(comm.rank())];
            ids[index(comm.rank())] = std::this_thread::get_id();
            CHECK(comm.size() == n);
        });
        CHECK(calls == std::vector<int>(index(n), 1));
        CHECK(ids[0] == std::this_thread::get_id());
        for (int r = 1; r < n; ++r) { CHECK(ids[index(r)] != ids[0]); }
    }
}

TEST_CASE("fewer than one rank is refused")
{
    int calls = 0;
    for (int n : {0, -3}) {
        CHECK_THROWS_WITH_AS(plait::threads::run(n, [&](plait::thread_communicator&) { ++calls; }),
                             ("plait: a group needs at least 1 rank, not " + std::to_string(n)).c_str(), plait::error);
    }
    CHECK(calls == 0);
}

TEST_CASE("the exception of the first rank to fail is rethrown with its type, whatever the others threw")
{
    for (int n : {1, 2, 3, 5, 8, 16}) {
        for (int thrower : {0, n / 2, n - 1}) {
            CAPTURE(n);
            CAPTURE(thrower);
            std::vector<std::string> follow_ups(index(n));
            const auto run = [&] {
                plait::threads::run(n, [&](plait::thread_communicator& comm) {
                    delays delay(4, comm.rank());
                    for (int i = 0; i < 20; ++i) {
                        delay();
                        comm.barrier("before");
                    }
                    if (comm.rank() == thrower) { throw std::out_of_range("root cause"); }
                    try {
                        comm.barrier("after");
                    } catch (const plait::error& e) {
                        follow_ups[index(comm.rank())] = e.what();
                        throw custom_exception{comm.rank()};
                    }
                });
            };
            CHECK_THROWS_WITH_AS(run(), "root cause", std::out_of_range);
            for (int r = 0; r < n; ++r) {
                const std::string expected =
                    r == thrower ? "" : "plait: rank " + std::to_string(thrower) + " failed: root cause";
                CHECK(follow_ups[index(r)] == expected);
            }
        }
    }
}

TEST_CASE("any type can be thrown, and peers learn what there is to say")
{
    std::string seen;
    const auto run = [&](auto exception) {
        plait::threads::run(2, [&](plait::thread_communicator& comm) {
            comm.barrier("both are here");
            if (comm.rank() == 1) { throw exception; }
            try {
                comm.barrier("wait");
            } catch (const plait::error& e) {
                seen = e.what();
            }
        });
    };
    try {
        run(custom_exception{42});
        FAIL("nothing was thrown");
    } catch (const custom_exception& e) {
        CHECK(e.code == 42);
    }
    CHECK(seen == "plait: rank 1 failed: an exception that is no std::exception");

    CHECK_THROWS_WITH_AS(run(plait::error("bad shape")), "plait: bad shape", plait::error);
    CHECK(seen == "plait: rank 1 failed: bad shape");
}

TEST_CASE("a rank that calls fail without throwing fails the run, even if no peer waits")
{
    const auto run = [](bool others_wait) {
        plait::threads::run(3, [&](plait::thread_communicator& comm) {
            if (comm.rank() == 2) {
                comm.fail("no more input");
                comm.fail("said twice");
            } else if (others_wait) {
                comm.barrier("wait");
            }
        });
    };
    CHECK_THROWS_WITH_AS(run(false), "plait: rank 2 failed: no more input", plait::error);
    CHECK_THROWS_WITH_AS(run(true), "plait: rank 2 failed: no more input", plait::error);
}

TEST_CASE("a rank that throws after its peers have finished fails the run")
{
    std::atomic<int> finished = 0;
    const auto run = [&] {
        plait::threads::run(4, [&](plait::thread_communicator& comm) {
            if (comm.rank() != 3) {
                ++finished;
                return;
            }
            while (finished < 3) { std::this_thread::yield(); }
            throw std::length_error("last");
        });
    };
    CHECK_THROWS_WITH_AS(run(), "last", std::length_error);
}

TEST_CASE("a rank that returns early is named when the deadline given to run has passed")
{
    const auto run = [] {
        plait::threads::run(2, [](plait::thread_communicator& comm) {
            CHECK(comm.deadline() == 50ms);
            if (comm.rank() == 0) { comm.barrier("alone"); }
        }, 50ms);
    };
    CHECK_THROWS_WITH_AS(run(), "plait: rank 0 failed: waited 50 ms at 'alone'; not arrived: rank 1", plait::error);
}

TEST_CASE("runs may nest and follow a failed one")
{
    const auto failing = [] {
        plait::threads::run(2, [](plait::thread_communicator& comm) {
            if (comm.rank() == 0) { throw std::runtime_error("once"); }
        });
    };
    CHECK_THROWS_WITH_AS(failing(), "once", std::runtime_error);

    std::atomic<int> inner = 0;
    plait::threads::run(2, [&](plait::thread_communicator& outer) {
        plait::threads::run(3, [&](plait::thread_communicator& comm) {
            comm.barrier("inner");
            ++inner;
        });
        outer.barrier("outer");
    });
    CHECK(inner == 6);
}

}  // namespace
