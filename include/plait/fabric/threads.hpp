// Runs a function on n ranks, each a thread of this process.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/fabric/group.hpp>
#include <plait/fabric/thrown.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace plait::detail {

/// Calls f(rank) for all ranks of a group at the same time, rank 0 on the calling thread. If one throws, the group fails,
/// and what the first one threw is rethrown at the end.
template <class F>
requires std::invocable<F&, int>
void run_ranks(thread_group& group, F&& f)
{
    const int n = group.size();
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(n));
    const auto note_failure = [&](int rank) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
        group.fail(rank, text_of_current_exception());
    };
    const auto work = [&](int rank) noexcept {
        try {
            f(rank);
        } catch (...) {
            note_failure(rank);
        }
    };

    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(n - 1));
    int rank = 1;
    try {
        for (; rank < n; ++rank) { others.emplace_back(work, rank); }
    } catch (...) {
        note_failure(rank);  // no thread for this rank: the ranks already running must not wait for it
    }
    work(0);
    for (std::thread& t : others) { t.join(); }

    if (group.failed()) {
        const std::exception_ptr root = thrown[static_cast<std::size_t>(group.first_failed())];
        if (root) { std::rethrow_exception(root); }
        throw error(group.failure());
    }
}

}  // namespace plait::detail

namespace plait::threads {

/// Calls `f(comm)` once per rank, at the same time, with each rank's thread_communicator; rank 0 runs on the calling
/// thread. Returns when all ranks have. `n` may exceed the number of cores. `deadline` is the longest that a rank waits for
/// its peers (0: no limit). `simulated` is the link that programs move their data over (see link); the default is memory.
///
/// If a rank throws, the others stop at their current or next wait, and the exception of the rank that failed FIRST is
/// rethrown here with its type. Throws plait::error "rank R failed: what" if a rank called `fail` without throwing, and
/// if n < 1.
template <class F>
requires std::invocable<F&, thread_communicator&>
void run(int n, F&& f, std::chrono::nanoseconds deadline = default_deadline, const link& simulated = {})
{
    thread_group group(n, deadline, simulated);
    detail::run_ranks(group, [&](int rank) {
        thread_communicator comm = group.communicator(rank);
        f(comm);
    });
}

}  // namespace plait::threads
