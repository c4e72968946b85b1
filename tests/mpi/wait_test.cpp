// Waiting for signals in memory that processes share.
#include "../fabric/delays.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>

using namespace std::chrono_literals;

namespace {

using support::index;

TEST_CASE("what a rank wrote before its signal, the waiting rank reads after it")
{
    support::run([](plait::mpi_communicator& comm) {
        struct cell {
            int value = 0;
            int signal = 0;
        };
        auto mine = comm.symmetric<cell>(1);
        const plait::buffer_handle handle = comm.handle_of(mine.data(), sizeof(cell));
        const auto handles = comm.exchange(&handle, sizeof handle, "handles");
        cell* before = nullptr;  // the nearest rank before this one, around the circle, that shares memory
        int its_rank = comm.rank();
        do {
            its_rank = (its_rank + comm.size() - 1) % comm.size();
            before = static_cast<cell*>(
                comm.resolve(its_rank, *static_cast<const plait::buffer_handle*>(handles[index(its_rank)])));
        } while (before == nullptr);

        delays delay(15, comm.rank());
        int wrong = 0;
        for (int round = 1; round <= 200; ++round) {
            mine[0].value = 100 * round + comm.rank();
            delay();
            std::atomic_ref(mine[0].signal).store(round, std::memory_order_release);
            comm.wait([&] { return std::atomic_ref(before->signal).load(std::memory_order_acquire) >= round; }, "signal");
            wrong += before->value != 100 * round + its_rank;
            comm.barrier("read");
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("a wait that lasts too long names the rank and the stage, to all")
{
    const std::string text = support::failure_of([](plait::mpi_communicator& comm) {
        comm.barrier("all are here");
        if (comm.rank() != comm.size() - 1) { return comm.barrier("other"); }
        comm.set_deadline(50ms);
        CHECK(comm.deadline() == 50ms);
        comm.wait([] { return false; }, "halo");
    });
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(text == "plait: rank " + std::to_string(size - 1) + " failed: waited 50 ms at 'halo'");
}

TEST_CASE("messages advance while a rank waits")
{
    support::run([](plait::mpi_communicator& comm) {
        int in = -1;
        const int out = comm.rank();
        const int ticket = comm.start_receive(&in, sizeof in, (comm.rank() + 1) % comm.size(), 3);
        comm.start_send(&out, sizeof out, (comm.rank() + comm.size() - 1) % comm.size(), 3);
        comm.wait([&] { return comm.done(ticket); }, "message");
        CHECK(in == (comm.rank() + 1) % comm.size());
        comm.finish("sent");
    });
}

}  // namespace
