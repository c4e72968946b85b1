// Timing several contestants against each other, on all ranks of one group.
#pragma once

#include <plait/fabric/communicator.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One rank's side of something to time. All ranks have the same contestants in the same order.
struct contestant {
    std::string name;
    std::function<void()> call;
};

struct timing {
    double seconds = 0;  // median
    double spread = 0;   // interquartile range over median
    double least = 0;
    double busy = 0;  // median of the processor seconds of rank 0's thread: what others on the machine do hardly counts
};

inline double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Processor seconds of this thread.
inline double busy_now()
{
    std::timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct one_sample {
    double seconds = 0;
    double busy = 0;
};

inline timing summary(const std::vector<one_sample>& samples)
{
    std::vector<double> seconds, busy;
    for (const one_sample& s : samples) {
        seconds.push_back(s.seconds);
        busy.push_back(s.busy);
    }
    std::ranges::sort(seconds);
    std::ranges::sort(busy);
    const std::size_t n = samples.size();
    return {seconds[n / 2], (seconds[n * 3 / 4] - seconds[n / 4]) / seconds[n / 2], seconds[0], busy[n / 2]};
}

/// Rank 0's opinion, on every rank.
template <plait::communicator Comm>
double agreed(Comm& comm, double mine)
{
    const double of_rank_0 = *static_cast<const double*>(comm.exchange(&mine, sizeof mine, "opinion")[0]);
    comm.barrier("opinion has been read");
    return of_rank_0;
}

/// One sample of `calls` calls, between two meetings; seconds of one call.
template <plait::communicator Comm>
one_sample sample(Comm& comm, const contestant& c, int calls)
{
    comm.barrier("start of a sample");
    const double start = now();
    const double busy_before = busy_now();
    for (int i = 0; i < calls; ++i) { c.call(); }
    const double busy = busy_now() - busy_before;
    comm.barrier("end of a sample");
    return {(now() - start) / calls, busy / calls};
}

/// Times all contestants in turn, `rounds` samples each of at least `least` seconds, each round beginning with another
/// one: so that a slow or fast phase of the machine meets all alike. The result counts on rank 0.
template <plait::communicator Comm>
std::vector<timing> race(Comm& comm, const std::vector<contestant>& all, int rounds, double least)
{
    std::vector<int> calls;
    for (const contestant& c : all) {
        sample(comm, c, 1);  // warms up
        const double once = agreed(comm, sample(comm, c, 1).seconds);
        calls.push_back(std::max(1, static_cast<int>(least / once)));
    }
    std::vector<std::vector<one_sample>> samples(all.size());
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t k = 0; k < all.size(); ++k) {
            const std::size_t i = (k + static_cast<std::size_t>(round)) % all.size();
            samples[i].push_back(sample(comm, all[i], calls[i]));
        }
    }
    std::vector<timing> result;
    for (const auto& s : samples) { result.push_back(summary(s)); }
    return result;
}

}  // namespace bench
