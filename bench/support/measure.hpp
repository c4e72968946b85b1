// Timing several contestants against each other, on all ranks of one group.
#pragma once

#include <plait/fabric/communicator.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
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
};

inline double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline timing summary(std::vector<double> samples)
{
    std::ranges::sort(samples);
    const std::size_t n = samples.size();
    return {samples[n / 2], (samples[n * 3 / 4] - samples[n / 4]) / samples[n / 2], samples[0]};
}

/// Rank 0's opinion, on every rank.
template <plait::communicator Comm>
double agreed(Comm& comm, double mine)
{
    const double of_rank_0 = *static_cast<const double*>(comm.exchange(&mine, sizeof mine, "opinion")[0]);
    comm.barrier("opinion has been read");
    return of_rank_0;
}

/// Seconds of one sample of `calls` calls, between two meetings.
template <plait::communicator Comm>
double sample(Comm& comm, const contestant& c, int calls)
{
    comm.barrier("start of a sample");
    const double start = now();
    for (int i = 0; i < calls; ++i) { c.call(); }
    comm.barrier("end of a sample");
    return (now() - start) / calls;
}

/// Times all contestants in turn, `rounds` samples each of at least `least` seconds, each round beginning with another
/// one: so that a slow or fast phase of the machine meets all alike. The result counts on rank 0.
template <plait::communicator Comm>
std::vector<timing> race(Comm& comm, const std::vector<contestant>& all, int rounds, double least)
{
    std::vector<int> calls;
    for (const contestant& c : all) {
        sample(comm, c, 1);  // warms up
        const double once = agreed(comm, sample(comm, c, 1));
        calls.push_back(std::max(1, static_cast<int>(least / once)));
    }
    std::vector<std::vector<double>> samples(all.size());
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
