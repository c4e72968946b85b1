// Ownership, alignment and sizes of memory that peers can touch.
#include "archetype.hpp"

#include <plait/core/error.hpp>
#include <plait/fabric/symmetric_buffer.hpp>
#include <plait/fabric/threads.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace {

using buffer = plait::symmetric_buffer<double, archetype::solo>;
static_assert(!std::is_copy_constructible_v<buffer>);
static_assert(std::is_nothrow_move_constructible_v<buffer> && std::is_nothrow_move_assignable_v<buffer>);

TEST_CASE("values are zeroed, aligned to 64 bytes and counted, for any size")
{
    plait::threads::run(1, [](plait::thread_communicator& comm) {
        for (std::size_t n : {0U, 1U, 2U, 7U, 8U, 9U, 63U, 64U, 65U, 1009U}) {
            const auto values = comm.symmetric<double>(n);
            CHECK(values.size() == n);
            CHECK(values.data() != nullptr);
            CHECK(reinterpret_cast<std::uintptr_t>(values.data()) % 64 == 0);
            CHECK(std::count(values.begin(), values.end(), 0.0) == static_cast<std::ptrdiff_t>(n));
            const std::span<double> view = values;
            CHECK(view.data() == values.data());
            CHECK(view.size() == n);
        }
    });
}

TEST_CASE("raw memory of 0 bytes has an address of its own")
{
    plait::threads::run(1, [](plait::thread_communicator& comm) {
        void* a = comm.allocate(0);
        void* b = comm.allocate(0);
        CHECK(a != nullptr);
        CHECK(a != b);
        comm.deallocate(a, 0);
        comm.deallocate(b, 0);
    });
}

TEST_CASE("moving hands the memory over, and each block is freed once")
{
    archetype::solo comm;
    {
        buffer a(comm, 3);
        a[2] = 5.0;
        double* const where = a.data();
        buffer b(std::move(a));
        CHECK(b.data() == where);
        CHECK(b[2] == 5.0);
        CHECK(comm.blocks == 1);
        buffer c(comm, 1);
        CHECK(comm.blocks == 2);
        c = std::move(b);
        CHECK(comm.blocks == 1);
        CHECK(c.data() == where);
        CHECK(c.size() == 3);
        buffer& itself = c;
        c = std::move(itself);
        CHECK(c.data() == where);
        CHECK(comm.blocks == 1);
    }
    CHECK(comm.blocks == 0);
}

TEST_CASE("a size beyond the address space is refused before anything is allocated")
{
    archetype::solo comm;
    const std::size_t too_many = std::numeric_limits<std::size_t>::max() / sizeof(double) + 2;
    CHECK_THROWS_AS(buffer(comm, too_many), plait::error);
    CHECK(comm.blocks == 0);
}

// Under AddressSanitizer this proves that the reads do not touch freed memory.
TEST_CASE("memory of a rank that fails stays while its peers read it")
{
    std::atomic<bool> unwound = false;
    const int* addresses[2] = {};
    int sum = 0;
    const auto share = [&](plait::thread_communicator& comm) {
        auto mine = comm.symmetric<int>(1000);
        std::fill(mine.begin(), mine.end(), comm.rank());
        const int*& address = addresses[comm.rank()];
        address = mine.data();
        const auto views = comm.exchange(&address, sizeof address, "address");
        if (comm.rank() == 1) { throw std::logic_error("rank 1 gives up"); }
        const int* const theirs = *static_cast<const int* const*>(views[1]);
        unwound.wait(false);
        sum = std::accumulate(theirs, theirs + 1000, 0);
    };
    const auto run = [&] {
        plait::threads::run(2, [&](plait::thread_communicator& comm) {
            try {
                share(comm);
            } catch (const std::logic_error&) {
                unwound = true;
                unwound.notify_all();
                throw;
            }
        });
    };
    CHECK_THROWS_WITH_AS(run(), "rank 1 gives up", std::logic_error);
    CHECK(sum == 1000);
}

}  // namespace
