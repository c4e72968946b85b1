// Messages between ranks, whether or not they share memory.
#include "support.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

using support::index;

std::byte value(std::size_t i, int from, int to) { return static_cast<std::byte>(i * 31 + i / 251 + index(from * 17 + to)); }

void all_to_all(plait::mpi_communicator& comm, std::size_t bytes)
{
    const std::uint64_t before = comm.bytes_sent();
    const auto buffers = [&] { return std::vector(index(comm.size()), std::vector<std::byte>(bytes)); };
    auto in = buffers();
    auto out = buffers();
    for (int r = 0; r < comm.size(); ++r) {
        for (std::size_t i = 0; i < bytes; ++i) { out[index(r)][i] = value(i, comm.rank(), r); }
        CHECK(comm.start_receive(in[index(r)].data(), bytes, r, 7) >= 0);
    }
    for (int r = 0; r < comm.size(); ++r) { CHECK(comm.start_send(out[index(r)].data(), bytes, r, 7) >= 0); }
    comm.finish("all to all");
    CHECK(comm.bytes_sent() - before == bytes * index(comm.size()));
    std::size_t wrong = 0;
    for (int r = 0; r < comm.size(); ++r) {
        for (std::size_t i = 0; i < bytes; ++i) { wrong += in[index(r)][i] != value(i, r, comm.rank()); }
    }
    CHECK(wrong == 0);
}

TEST_CASE("messages of any size arrive, from all to all")
{
    support::run([](plait::mpi_communicator& comm) {
        for (const std::size_t bytes : {0, 1, 7, 4096, 100003, 3000001}) {
            CAPTURE(bytes);
            all_to_all(comm, bytes);
        }
    });
}

TEST_CASE("long messages travel in pieces")
{
    plait::mpi_options options = support::options();
    options.longest_message = 1000;
    support::run([](plait::mpi_communicator& comm) {
        for (const std::size_t bytes : {999, 1000, 1001, 20500}) {
            CAPTURE(bytes);
            all_to_all(comm, bytes);
        }
    }, options);
}

TEST_CASE("messages with one tag keep their order, and tickets tell which are done")
{
    support::run([](plait::mpi_communicator& comm) {
        const int next = (comm.rank() + 1) % comm.size();
        const int before = (comm.rank() + comm.size() - 1) % comm.size();
        for (int round = 0; round < 100; ++round) {
            int out[4] = {round, round + 1, round + 2, round + 3};
            int in[4] = {};
            int tickets[4];
            for (int i = 0; i < 4; ++i) { tickets[i] = comm.start_receive(&in[i], sizeof(int), before, i / 2); }
            for (const int i : {2, 0, 3, 1}) { comm.start_send(&out[i], sizeof(int), next, i / 2); }
            for (const int i : {3, 1, 2, 0}) {
                comm.wait([&] { return comm.done(tickets[i]); }, "ticket");
                CHECK(in[i] == round + i);
            }
            comm.finish("round");
            for (const int ticket : tickets) { CHECK(comm.done(ticket)); }
        }
    });
}

TEST_CASE("messages to no rank or with no tag are refused")
{
    support::run([](plait::mpi_communicator& comm) {
        const std::string group = " in a group of " + std::to_string(comm.size());
        const std::string to = "plait: cannot send to rank " + std::to_string(comm.size()) + group;
        CHECK_THROWS_WITH_AS(comm.start_send("", 1, comm.size(), 0), to.c_str(), plait::error);
        CHECK_THROWS_WITH_AS(comm.start_receive(nullptr, 0, -1, 0), ("plait: cannot receive from rank -1" + group).c_str(),
                             plait::error);
        CHECK_THROWS_WITH_AS(comm.start_send("", 1, 0, -1), "plait: cannot send to rank 0 with tag -1; tags lie in [0, 32000]",
                             plait::error);
        CHECK(comm.bytes_sent() == 0);
        comm.finish("nothing");
    });
}

TEST_CASE("a message that does not come is named when the deadline has passed, and received nowhere later")
{
    std::vector<std::byte> in(1000000);
    const std::string text = support::failure_of([&](plait::mpi_communicator& comm) {
        comm.barrier("all are here");
        if (comm.rank() != 0) { return comm.wait([] { return false; }, "elsewhere"); }
        comm.set_deadline(50ms);
        comm.start_receive(in.data(), in.size(), comm.size() - 1, 5);
        comm.finish("halo");
    });
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(text == "plait: rank 0 failed: waited 50 ms at 'halo' for a message of 1000000 bytes from rank " +
                      std::to_string(size - 1) + " (tag 5)");
}

TEST_CASE("a large message whose receiver fails holds nobody up")
{
    const std::vector<std::byte> out(5000000);
    const std::string text = support::failure_of([&](plait::mpi_communicator& comm) {
        comm.barrier("all are here");
        if (comm.rank() == 0) { return comm.fail("no memory"); }
        comm.start_send(out.data(), out.size(), 0, 5);
        comm.finish("halo");
    });
    CHECK(text == "plait: rank 0 failed: no memory");
}

TEST_CASE("a message of another length than expected fails the group")
{
    const std::string text = support::failure_of([](plait::mpi_communicator& comm) {
        std::vector<std::byte> buffer(100);
        const std::vector<std::byte> other(60);
        comm.barrier("all are here");
        if (comm.rank() == 0) {
            comm.start_receive(buffer.data(), 100, 0, 2);
            comm.start_send(other.data(), 60, 0, 2);
            comm.finish("halo");
        }
        comm.barrier("x");
    });
    CHECK(text == "plait: rank 0 failed: a message of 100 bytes from rank 0 (tag 2) has another length: 60 bytes came of 100");
}

}  // namespace
