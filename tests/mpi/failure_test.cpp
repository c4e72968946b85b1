// Failure reaches every rank, with the first cause and in bounded time.
#include "../fabric/delays.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

using support::index;

int world_size()
{
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}
int world_rank()
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
std::string of_rank(int rank, const std::string& what) { return "plait: rank " + std::to_string(rank) + " failed: " + what; }

/// Does `f(comm)` while all others wait in a way that only a failure ends.
template <class Wait, class F>
std::string failure_while(int failing, Wait wait, F f)
{
    return support::failure_of([&](plait::mpi_communicator& comm) {
        comm.barrier("all are here");
        if (comm.rank() == failing) { return f(comm); }
        wait(comm);
    });
}

TEST_CASE("a failure ends every kind of wait on every rank")
{
    const auto fails = [](plait::mpi_communicator& comm) {
        comm.fail("disk full");
        comm.fail("said twice");
        comm.barrier("x");
    };
    for (const int failing : {0, world_size() - 1}) {
        const std::string expected = of_rank(failing, "disk full");
        CHECK(failure_while(failing, [](auto& comm) { comm.barrier("x"); }, fails) == expected);
        CHECK(failure_while(failing, [](auto& comm) { comm.exchange("12345678", 8, "x"); }, fails) == expected);
        CHECK(failure_while(failing, [](auto& comm) { comm.wait([] { return false; }, "x"); }, fails) == expected);
        CHECK(failure_while(failing, [&](auto& comm) {
            int in = 0;
            comm.start_receive(&in, sizeof in, failing, 1);
            comm.finish("x");
        }, fails) == expected);
        if (!plait::detail::mpi_sharing_is_off() && !support::two_by_two) {
            CHECK(failure_while(failing, [](auto& comm) { comm.allocate(100); }, fails) == expected);
        }
    }
}

TEST_CASE("ranks that come to wait after a failure throw too, and a later failure changes nothing")
{
    const std::string text = support::failure_of([](plait::mpi_communicator& comm) {
        comm.barrier("all are here");
        if (comm.rank() == 0) { comm.fail("first"); }
        std::this_thread::sleep_for(50ms);
        try {
            comm.barrier("x");
        } catch (const plait::error&) {
            comm.fail("later");
            comm.barrier("y");
        }
    });
    CHECK(text == of_rank(0, "first"));
}

TEST_CASE("a rank that throws ends the others, with its text")
{
    for (const int thrower : {0, world_size() / 2, world_size() - 1}) {
        const std::string text = failure_while(thrower, [](auto& comm) { comm.barrier("x"); },
                                               [](auto&) { throw std::out_of_range("root cause"); });
        CHECK(text == (world_rank() == thrower ? "root cause" : of_rank(thrower, "root cause")));
    }
}

TEST_CASE("memory that one rank cannot have ends the run on every rank, and a new group works")
{
    for (const int failing : {0, world_size() - 1}) {
        const std::string text = support::failure_of([&](plait::mpi_communicator& comm) {
            comm.barrier("all are here");
            const auto mine = comm.symmetric<char>(comm.rank() == failing ? std::size_t{1} << 50 : 8);
            comm.barrier("memory is there");
        });
        CAPTURE(text);
        CHECK(text.find("more shared memory than its ") != std::string::npos);
        support::run([](plait::mpi_communicator& comm) {
            auto mine = comm.symmetric<int>(3);
            mine[2] = comm.rank();
            comm.barrier("written");
            CHECK(mine[2] == comm.rank());
        });
    }
}

TEST_CASE("a communicator that an exception destroys fails its group")
{
    std::string text;
    try {
        plait::mpi_communicator comm(MPI_COMM_WORLD, support::options());
        auto buffer = comm.symmetric<int>(10);
        comm.barrier("all are here");
        if (comm.rank() == 0) { throw std::runtime_error("root cause"); }
        comm.barrier("x");
    } catch (const std::exception& e) {
        text = e.what();
    }
    CHECK(text == (world_rank() == 0 ? "root cause" : of_rank(0, "an exception ended its part")));
}

TEST_CASE("a deadline names the waiting rank, the stage and exactly the ranks that have not arrived")
{
    const int size = world_size();
    if (size < 2) { return; }
    std::string missing;  // ranks 0 and 2 do not come, the last waits with a deadline
    for (const int r : {0, 2}) {
        if (r < size - 1) { missing += (missing.empty() ? "" : ", ") + std::to_string(r); }
    }
    const auto stays_away = [&](int rank) { return rank < size - 1 && (rank == 0 || rank == 2); };
    const std::string text = support::failure_of([&](plait::mpi_communicator& comm) {
        comm.barrier("all are here");
        if (stays_away(comm.rank())) { comm.wait([] { return false; }, "elsewhere"); }
        if (comm.rank() == size - 1) {
            std::this_thread::sleep_for(50ms);  // until the others wait, so that they are not missing
            comm.set_deadline(100ms);
        }
        comm.barrier("halo");
    });
    CHECK(text == of_rank(size - 1, "waited 100 ms at 'halo'; not arrived: rank " + missing));
}

TEST_CASE("a rank that ends early is named by those that wait for it")
{
    if (world_size() < 2) { return; }
    const std::string text = support::failure_of([](plait::mpi_communicator& comm) {
        if (comm.rank() != 1) { return; }
        comm.set_deadline(100ms);
        std::this_thread::sleep_for(20ms);
        comm.barrier("alone");
    });
    std::string missing = "0";
    for (int r = 2; r < world_size(); ++r) { missing += ", " + std::to_string(r); }
    CHECK(text == of_rank(1, "waited 100 ms at 'alone'; not arrived: rank " + missing));
}

TEST_CASE("a wait within its deadline is no failure, and neither is one without limit or with a huge one")
{
    for (const std::chrono::nanoseconds limit : {0ns, std::chrono::nanoseconds(30s), std::chrono::nanoseconds::max()}) {
        support::run([](plait::mpi_communicator& comm) {
            if (comm.rank() == 0) { std::this_thread::sleep_for(50ms); }
            comm.barrier("late");
        }, support::options(limit));
    }
}

TEST_CASE("a failure after a meeting does not spoil it for ranks still on their way out")
{
    for (int repeat = 0; repeat < 5; ++repeat) {
        int through = 0;
        const std::string text = support::failure_of([&](plait::mpi_communicator& comm) {
            delays delay(static_cast<unsigned>(repeat), comm.rank());
            delay();
            comm.barrier("good");
            ++through;
            if (comm.rank() == repeat % comm.size()) { comm.fail("after"); }
            comm.barrier("bad");
        });
        CHECK(through == 1);
        CHECK(text == of_rank(repeat % world_size(), "after"));
    }
}

TEST_CASE("ranks whose calls do not match fail with a text that says so")
{
    const int last = world_size() - 1;
    if (last == 0) { return; }
    const std::string other = support::failure_of([&](plait::mpi_communicator& comm) {
        if (comm.rank() == last) {
            comm.exchange("1234", 4, "yours");
        } else {
            comm.barrier("mine");
        }
        comm.barrier("x");
    });
    CHECK(other == of_rank(last, "exchange 'yours': rank 0 came to another meeting; all ranks must make the same calls "
                                 "in the same order"));
    const std::string sizes = support::failure_of([&](plait::mpi_communicator& comm) {
        comm.exchange("1234", comm.rank() == last ? 3 : 2, "sizes");
    });
    CHECK(sizes.find("exchange 'sizes': rank ") != std::string::npos);
    CHECK(sizes.find("; records must have one size") != std::string::npos);
}

TEST_CASE("long texts are cut, and reach all")
{
    const std::string text = support::failure_of([](plait::mpi_communicator& comm) {
        if (comm.rank() == 0) { comm.fail(std::string(5000, 'x')); }
        comm.barrier("x");
    });
    CHECK(text == of_rank(0, std::string(1000, 'x')));
}

}  // namespace
