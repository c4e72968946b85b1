// Timing runs of executables against each other, on all ranks.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/parameters.hpp>
#include <plait/run/binding.hpp>
#include <plait/run/executable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace plait::detail {

/// Waits until the work of a rank's runs is done, on targets where a run only starts it.
template <class Communicator>
void settle(Communicator& comm)
{
    if constexpr (requires { comm.synchronize(); }) { comm.synchronize(); }
}

/// The largest of all ranks' numbers, one by one; the same on all ranks.
template <class Communicator>
void largest_of_ranks(Communicator& comm, std::vector<double>& numbers, const char* where)
{
    const std::size_t n = numbers.size();
    const auto all = comm.exchange(numbers.data(), n * sizeof(double), where);
    for (std::size_t i = 0; i < n; ++i) {
        for (const void* theirs : all) { numbers[i] = std::max(numbers[i], static_cast<const double*>(theirs)[i]); }
    }
}

inline double median_of(view<double> numbers)
{
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::ranges::nth_element(numbers, middle);
    return *middle;
}

/// A turn of a race is far longer than a clock's step and a meeting, and short runs are timed one after the other, as programs
/// call them: seconds. And there are at least so many turns.
inline constexpr double shortest_turn = 1e-3;
inline constexpr double fewest_turns = 5;

/// One side of a race.
template <class Communicator>
struct racer {
    executable<Communicator>* run;
    parameters chosen;
};

/// Seconds of a run of each side: in turns, so that what slows the machine down slows all of them; of a turn the slowest
/// rank counts. Of the first side it is the median; of each other one too, by how much it differs from the first in the same
/// round: slow and fast phases of the machine cancel. Takes about `budget` seconds. All ranks get the same numbers.
template <class Communicator>
std::vector<double> race(Communicator& comm, view<const racer<Communicator>> sides, view<const binding> bindings, double budget)
{
    using clock = std::chrono::steady_clock;
    constexpr const char* where = "tuning";
    const auto turn = [&](const racer<Communicator>& side, int runs) {
        side.run->set_parameters(side.chosen);
        side.run->run(bindings);  // untimed: what is new for this side is prepared, caches are its own
        settle(comm);
        comm.barrier(where);
        const clock::time_point begin = clock::now();
        for (int i = 0; i < runs; ++i) { side.run->run(bindings); }
        settle(comm);
        return std::chrono::duration<double>(clock::now() - begin).count() / runs;
    };
    std::vector<double> once;
    for (const racer<Communicator>& side : sides) { once.push_back(turn(side, 1)); }
    largest_of_ranks(comm, once, where);
    double all = 0;
    std::vector<int> runs;
    for (const double t : once) {
        runs.push_back(static_cast<int>(std::clamp(shortest_turn / t, 1.0, 1000.0)));
        all += t * (runs.back() + 1);
    }
    const auto turns = static_cast<std::size_t>(std::clamp(budget / all, fewest_turns, 101.0));
    const std::size_t n = sides.size();
    std::vector<double> times;
    for (std::size_t t = 0; t < turns; ++t) {
        for (std::size_t s = 0; s < n; ++s) { times.push_back(turn(sides[s], runs[s])); }
    }
    largest_of_ranks(comm, times, where);
    std::vector<double> medians;
    for (std::size_t s = 0; s < n; ++s) {
        std::vector<double> of_rounds;
        for (std::size_t t = 0; t < turns; ++t) { of_rounds.push_back(times[t * n + s] / (s == 0 ? 1 : times[t * n])); }
        medians.push_back(median_of(of_rounds) * (s == 0 ? 1 : medians[0]));
    }
    return medians;
}

}  // namespace plait::detail
