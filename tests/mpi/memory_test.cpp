// Symmetric memory of ranks that are processes: shared windows, handles, and blocks that serve again.
#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace {

using support::index;

std::vector<void*> found_by_rank(plait::mpi_communicator& comm, const void* p, std::size_t bytes)
{
    const plait::buffer_handle handle = comm.handle_of(p, bytes);
    const auto handles = comm.exchange(&handle, sizeof handle, "handles");
    std::vector<void*> found;
    for (int r = 0; r < comm.size(); ++r) {
        found.push_back(comm.resolve(r, *static_cast<const plait::buffer_handle*>(handles[index(r)])));
    }
    return found;
}

TEST_CASE("blocks of any size are aligned, zeroed when symmetric, and can be written by the ranks that share them")
{
    support::run([](plait::mpi_communicator& comm) {
        for (const int n : {0, 1, 3, 1000, 1 << 20}) {
            CAPTURE(n);
            auto mine = comm.symmetric<int>(index(n));
            CHECK(reinterpret_cast<std::uintptr_t>(mine.data()) % 64 == 0);
            CHECK(std::ranges::all_of(mine, [](int i) { return i == 0; }));
            if (n == 0) { continue; }
            const auto found = found_by_rank(comm, mine.data(), index(n) * sizeof(int));
            for (int r = 0; r < comm.size(); ++r) {
                if (!comm.shares(r)) { continue; }
                int* theirs = static_cast<int*>(found[index(r)]);
                if (n > comm.size()) { theirs[n - 1 - comm.rank()] = 100 + comm.rank(); }
            }
            comm.barrier("written");
            for (int r = 0; r < comm.size() && n > comm.size(); ++r) {
                CHECK(mine[index(n - 1 - r)] == (comm.shares(r) ? 100 + r : 0));
            }
        }
    });
}

TEST_CASE("ranks may allocate different sizes")
{
    support::run([](plait::mpi_communicator& comm) {
        const int n = 1 + 5000 * comm.rank();
        auto mine = comm.symmetric<int>(index(n));
        mine[index(n - 1)] = comm.rank() + 1;
        const auto found = found_by_rank(comm, &mine[index(n - 1)], sizeof(int));
        comm.barrier("written");
        for (int r = 0; r < comm.size(); ++r) {
            if (comm.shares(r)) { CHECK(*static_cast<int*>(found[index(r)]) == r + 1); }
        }
        comm.barrier("read");
    });
}

TEST_CASE("handles name what lies in symmetric memory, and say of anything else that it is not reachable")
{
    support::run([](plait::mpi_communicator& comm) {
        std::vector<int> elsewhere(10);
        auto one = comm.symmetric<int>(100);
        auto two = comm.symmetric<int>(100);
        using comm_type = plait::mpi_communicator;
        CHECK(comm_type::reachable(comm.handle_of(one.data(), 400)));
        CHECK(comm_type::reachable(comm.handle_of(two.data() + 50, 200)));
        CHECK(comm.handle_of(one.data(), 4).space != comm.handle_of(two.data(), 4).space);
        CHECK_FALSE(comm_type::reachable(comm.handle_of(elsewhere.data(), 40)));
        CHECK_FALSE(comm_type::reachable(comm.handle_of(one.data() + 100, 4000)));
        CHECK_FALSE(comm_type::reachable(comm.handle_of(one.data(), std::size_t{1} << 40)));
        CHECK_FALSE(comm_type::reachable({}));
        CHECK(comm.resolve(comm.rank(), comm.handle_of(one.data() + 7, 4)) == one.data() + 7);
        CHECK(comm.resolve(comm.rank(), {}) == nullptr);
        CHECK(comm.resolve(comm.rank(), {99, 0}) == nullptr);

        const auto found = found_by_rank(comm, elsewhere.data(), 40);
        for (int r = 0; r < comm.size(); ++r) {
            CHECK(found[index(r)] == (r == comm.rank() ? elsewhere.data() : nullptr));
        }
    });
}

TEST_CASE("a block serves again once all ranks of the host have let go of it, and not before")
{
    support::run([](plait::mpi_communicator& comm) {
        void* const first = comm.allocate(1000);
        comm.deallocate(first, 1000);
        void* const second = comm.allocate(1000);
        CHECK(second == first);
        void* const other = comm.allocate(50000);
        CHECK(other != first);
        bool kept_by_one = false;
        for (int r = 0; r < comm.size(); ++r) { kept_by_one = kept_by_one || (comm.shares(r) && r == comm.size() - 1); }
        const bool keeps = comm.rank() == comm.size() - 1;
        if (!keeps) { comm.deallocate(second, 1000); }
        void* const third = comm.allocate(1000);
        CHECK((third == first) == !kept_by_one);
        if (keeps) { comm.deallocate(second, 1000); }
        comm.deallocate(third, 1000);
        comm.deallocate(other, 50000);
        comm.deallocate(nullptr, 0);

        std::optional<plait::symmetric_buffer<int, plait::mpi_communicator>> buffer;
        for (int round = 0; round < 300; ++round) {
            buffer.reset();
            buffer.emplace(comm, index(200 + round % 3));
        }
    });
}

}  // namespace
