// The concept accepts its archetype and the thread fabric, refuses what lacks a part, and suffices to write against.
#include "archetype.hpp"

#include <plait/fabric/communicator.hpp>
#include <plait/fabric/threads.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <span>
#include <type_traits>

namespace {

static_assert(plait::communicator<archetype::solo>);
static_assert(plait::communicator<plait::thread_communicator>);
static_assert(!plait::communicator<int>);
static_assert(!plait::communicator<plait::thread_group>);

struct no_barrier : archetype::solo {
    void barrier(const char*) = delete;
};
struct rank_of_another_type : archetype::solo {
    long rank() const { return 0; }
};
struct deallocate_that_throws : archetype::solo {
    void deallocate(void*, std::size_t) {}
};
struct no_symmetric_memory : archetype::solo {
    template <class T>
    void symmetric(std::size_t) = delete;
};
struct no_wait : archetype::solo {
    template <class Ready>
    void wait(Ready, const char*) = delete;
};
struct shares_of_another_type : archetype::solo {
    int shares(int) const { return 1; }
};
static_assert(!plait::communicator<no_barrier>);
static_assert(!plait::communicator<no_wait>);
static_assert(!plait::communicator<shares_of_another_type>);
static_assert(!plait::communicator<rank_of_another_type>);
static_assert(!plait::communicator<deallocate_that_throws>);
static_assert(!plait::communicator<no_symmetric_memory>);

static_assert(sizeof(plait::buffer_handle) == 16);
static_assert(std::is_trivially_copyable_v<plait::buffer_handle>);

// Uses nothing but the concept: every rank adds up what all ranks that it shares memory with hold there, and waits for
// each of them to say that it has read.
template <plait::communicator C>
int sum_over_ranks(C& comm, int mine)
{
    auto buffer = comm.template symmetric<int>(2);
    const std::span<int> values = buffer;
    values[0] = mine;
    const plait::buffer_handle handle = comm.handle_of(values.data(), sizeof(int));
    const std::span<const void* const> handles = comm.exchange(&handle, sizeof handle, "handles");
    int sum = 0;
    int readers = 0;
    for (int r = 0; r < comm.size(); ++r) {
        if (!comm.shares(r)) { continue; }
        const auto h = *static_cast<const plait::buffer_handle*>(handles[static_cast<std::size_t>(r)]);
        int* theirs = static_cast<int*>(comm.resolve(r, h));
        sum += *theirs;
        std::atomic_ref(theirs[1]).fetch_add(1);
        ++readers;
    }
    comm.wait([&] { return std::atomic_ref(values[1]).load() == readers; }, "all have read");
    comm.barrier("the buffers may go");
    return sum;
}

TEST_CASE("a function written against the concept runs on every fabric")
{
    archetype::solo solo;
    CHECK(sum_over_ranks(solo, 7) == 7);
    CHECK(solo.blocks == 0);

    int sums[5] = {};
    plait::threads::run(5, [&](plait::thread_communicator& comm) {
        sums[comm.rank()] = sum_over_ranks(comm, 10 * (comm.rank() + 1));
    });
    for (int sum : sums) { CHECK(sum == 10 + 20 + 30 + 40 + 50); }
}

}  // namespace
