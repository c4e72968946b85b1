// Barriers and exchanges of ranks that are processes.
#include "../fabric/delays.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <vector>

namespace {

using support::index;

static_assert(plait::communicator<plait::mpi_communicator>);
static_assert(plait::remote_communicator<plait::mpi_communicator>);

TEST_CASE("a communicator knows its ranks, and who shares memory")
{
    support::run([](plait::mpi_communicator& comm) {
        int rank = -1;
        int size = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        CHECK(comm.rank() == rank);
        CHECK(comm.size() == size);
        CHECK(comm.shares(rank));
        CHECK_FALSE(comm.shares(-1));
        CHECK_FALSE(comm.shares(size));
        for (int r = 0; r < size; ++r) {
            if (plait::detail::mpi_sharing_is_off()) {
                CHECK(comm.shares(r) == (r == rank));
            } else if (support::two_by_two) {
                CHECK(comm.shares(r) == (r / 2 == rank / 2));
            } else {
                CHECK(comm.shares(r));
            }
        }
    });
}

TEST_CASE("thousands of barriers, with random delays and without")
{
    support::run([](plait::mpi_communicator& comm) {
        for (int i = 0; i < support::rounds(comm, 3000); ++i) { comm.barrier("race"); }
        delays delay(11, comm.rank());
        for (int i = 0; i < support::rounds(comm, 300); ++i) {
            delay();
            comm.barrier("delayed");
        }
    });
}

// The cells are plain ints: barriers alone order the accesses.
TEST_CASE("what a rank wrote before a barrier, the ranks that share its memory read after it")
{
    support::run([](plait::mpi_communicator& comm) {
        auto mine = comm.symmetric<int>(1);
        const plait::buffer_handle handle = comm.handle_of(mine.data(), sizeof(int));
        const auto handles = comm.exchange(&handle, sizeof handle, "handles");
        std::vector<const int*> cells;
        for (int r = 0; r < comm.size(); ++r) {
            const auto h = *static_cast<const plait::buffer_handle*>(handles[index(r)]);
            cells.push_back(static_cast<const int*>(comm.resolve(r, h)));
            CHECK((cells.back() != nullptr) == comm.shares(r));
        }
        delays delay(12, comm.rank());
        int wrong = 0;
        for (int round = 0; round < support::rounds(comm, 500); ++round) {
            mine[0] = 100 * round + comm.rank();
            delay();
            comm.barrier("written");
            for (int r = 0; r < comm.size(); ++r) {
                if (comm.shares(r)) { wrong += *cells[index(r)] != 100 * round + r; }
            }
            comm.barrier("read");
        }
        CHECK(wrong == 0);
    });
}

std::byte value(std::size_t i, int rank, int round) { return static_cast<std::byte>(i * 7 + index(rank * 13 + round)); }

TEST_CASE("an exchange shows every rank's record to every rank, whatever its size")
{
    support::run([](plait::mpi_communicator& comm) {
        for (const std::size_t bytes : {0, 1, 8, 111, 112, 113, 500, 4031, 4032, 4033, 8064, 20001}) {
            CAPTURE(bytes);
            delays delay(13, comm.rank());
            int wrong = 0;
            for (int round = 0; round < 20; ++round) {
                std::vector<std::byte> record(bytes);
                for (std::size_t i = 0; i < bytes; ++i) { record[i] = value(i, comm.rank(), round); }
                delay();
                const auto views = comm.exchange(record.data(), bytes, "records");
                record.assign(bytes, std::byte{0xff});  // it was copied
                delay();
                for (int extra = round % 3; extra > 0; --extra) { comm.barrier("between"); }
                wrong += views.size() != index(comm.size());
                for (int r = 0; r < comm.size(); ++r) {
                    const auto* theirs = static_cast<const std::byte*>(views[index(r)]);
                    for (std::size_t i = 0; i < bytes; ++i) { wrong += theirs[i] != value(i, r, round); }
                }
            }
            CHECK(wrong == 0);
        }
    });
}

TEST_CASE("records stay readable while memory is allocated")
{
    support::run([](plait::mpi_communicator& comm) {
        int wrong = 0;
        for (int round = 0; round < 200; ++round) {
            const int mine = 100 * round + comm.rank();
            const auto views = comm.exchange(&mine, sizeof mine, "numbers");
            const auto buffer = comm.symmetric<int>(10);
            for (int r = 0; r < comm.size(); ++r) {
                wrong += *static_cast<const int*>(views[index(r)]) != 100 * round + r;
            }
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("communicators live side by side, and over some of the ranks")
{
    support::run([](plait::mpi_communicator& all) {
        MPI_Comm half = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, all.rank() % 2, -all.rank(), &half);
        {
            plait::mpi_communicator comm(half, support::options());
            CHECK(comm.size() == (all.size() + 1 - all.rank() % 2) / 2);
            const int mine = all.rank();
            const auto views = comm.exchange(&mine, sizeof mine, "ranks");
            const int last = all.size() - 1 - (all.size() - 1 - all.rank() % 2) % 2;
            for (int r = 0; r < comm.size(); ++r) { CHECK(*static_cast<const int*>(views[index(r)]) == last - 2 * r); }
            all.barrier("all");
            comm.barrier("half");
        }
        MPI_Comm_free(&half);
    });
}

TEST_CASE("what is no group of ranks is refused")
{
    CHECK_THROWS_WITH_AS(plait::mpi_communicator(MPI_COMM_NULL),
                         "plait: an mpi_communicator needs an MPI communicator of one group, not MPI_COMM_NULL or one "
                         "of two",
                         plait::error);
}

}  // namespace
