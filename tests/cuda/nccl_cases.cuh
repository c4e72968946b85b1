// What ranks of NCCL do and are told, whether or not they can load from each other.
#pragma once

#include "cuda/nccl_errors.cuh"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace nccl_test {

namespace pl = plait;
using namespace pl::literals;
using namespace std::chrono_literals;
using cuda_test::get;
using cuda_test::set;
using cuda_test::thrown_by;

inline constexpr auto N = pl::dim<"N">;
inline constexpr auto x = pl::tensor<"x", float>(pl::local, N);
inline constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
inline constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, x));
inline constexpr auto accumulate = pl::program<"accumulate">(pl::update(y, y + sum));
inline constexpr auto fused = accumulate | pl::split<"sum"> | pl::reorder<"sum"> | pl::fuse;

/// Domains of loads and stores have so many ranks while it lives; a group of as many is in one.
struct domains_of {
    explicit domains_of(const char* ranks) { ::setenv("EMULATOR_NCCL_LSA_SIZE", ranks, 1); }
    domains_of(const domains_of&) = delete;
    domains_of& operator=(const domains_of&) = delete;
    ~domains_of() { ::unsetenv("EMULATOR_NCCL_LSA_SIZE"); }
};

/// Records of any size, to and from all ranks, and again.
inline void check_records()
{
    run(3, [](pl::nccl_communicator& comm, ncclComm_t) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4080}, std::size_t{4081}, std::size_t{20000}}) {
            std::vector<unsigned char> mine(bytes);
            for (std::size_t i = 0; i < bytes; ++i) { mine[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(comm.rank())); }
            const auto all = comm.exchange(mine.data(), bytes, "bytes");
            comm.barrier("between");
            REQUIRE(all.size() == 3);
            for (std::size_t r = 0; r < 3; ++r) {
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < bytes; ++i) { wrong += static_cast<const unsigned char*>(all[r])[i] != static_cast<unsigned char>(i * 7 + r); }
                CHECK(wrong == 0);
            }
        }
    });
}
/// A wrong argument of one rank is an error on all, and the next run is fine.
inline void check_wrong_argument()
{
    run(3, [](pl::nccl_communicator& comm, ncclComm_t) {
        const auto mine = comm.symmetric<float>(9);
        const auto total = comm.symmetric<float>(9);
        set(comm, mine, 1);
        set(comm, total, 0);
        pl::executable run{fused, comm};
        const std::string what = thrown_by([&] {
            const std::size_t n = comm.rank() == 1 ? 8 : 9;
            run(x = std::span(mine.data(), n), y = total, N = 9);
        });
        CHECK(has(what, "tensor \"x\" needs 9 elements, its buffer has 8"));
        CHECK(has(what, "rank 1: ") == (comm.rank() != 1));
        run(x = mine, y = total);
        CHECK(get(comm, total) == std::vector<float>(9, 3));
    });
}
/// What three ranks throw of which the middle one does not come to a meeting.
inline std::vector<std::string> missing_at_meeting()
{
    done_count done;
    return thrown_on(3, [&](pl::nccl_communicator& comm, ncclComm_t) {
        if (comm.rank() == 1) { return done.wait_for(2); }
        comm.set_deadline(300ms);
        const std::string thrown = thrown_by([&] { comm.barrier("half-time"); });
        done.add();
        throw pl::error(thrown.substr(7));
    });
}
/// What two ranks throw of which the second one does not come to a run.
inline std::vector<std::string> missing_in_run(std::chrono::nanoseconds deadline)
{
    done_count done;
    return thrown_on(2, [&](pl::nccl_communicator& comm, ncclComm_t) {
        comm.set_deadline(deadline);
        const auto mine = comm.symmetric<float>(8);
        const auto total = comm.symmetric<float>(8);
        set(comm, mine, 1);
        set(comm, total, 0);
        pl::executable run{fused, comm};
        run(x = mine, y = total);
        comm.synchronize();
        if (comm.rank() == 1) { return done.wait_for(1); }
        const std::string thrown = thrown_by([&] {
            run(x = mine, y = total);
            comm.synchronize();
        });
        done.add();
        throw pl::error(thrown.substr(7));
    });
}
/// A rank that fails ends the waits of all, on the host and on streams.
inline void check_failing_rank()
{
    std::atomic<int> waiting = 0;
    const auto what = thrown_on(3, [&](pl::nccl_communicator& comm, ncclComm_t) {
        const auto mine = comm.symmetric<float>(8);
        const auto total = comm.symmetric<float>(8);
        set(comm, mine, 1);
        set(comm, total, 0);
        pl::executable run{fused, comm};
        run(x = mine, y = total);
        comm.synchronize();
        if (comm.rank() == 1) {
            while (waiting != 2) { std::this_thread::yield(); }
            std::this_thread::sleep_for(50ms);
            throw pl::error("no more");
        }
        if (comm.rank() == 0) { run(x = mine, y = total); }  // what is on its stream waits for the others
        ++waiting;
        comm.rank() == 0 ? comm.synchronize() : comm.barrier("the end of the day");
    });
    CHECK(has(what[0], "rank 1 failed: "));
    CHECK(has(what[2], "rank 1 failed: "));
}
/// Ranks that make different meetings, or show records of different sizes, are told.
inline void check_different_meetings()
{
    const auto sizes = thrown_on(2, [](pl::nccl_communicator& comm, ncclComm_t) {
        comm.exchange("12345678", static_cast<std::size_t>(4 + comm.rank()), "sizes");
    });
    for (const std::string& w : sizes) { CHECK(has(w, "'sizes': rank 1 shows 5 bytes, rank 0 4; records must have one size")); }
    const auto kinds = thrown_on(2, [](pl::nccl_communicator& comm, ncclComm_t) {
        comm.rank() == 0 ? comm.barrier("kinds") : static_cast<void>(comm.exchange("1", 1, "kinds"));
    });
    for (const std::string& w : kinds) { CHECK(has(w, "'kinds': rank 1 came to another meeting; all ranks must make the same calls in the same order")); }
}

}  // namespace nccl_test
