// Steps of CUDA ranks side by side: what they do, where the program runs in the emulator; how long they take, on a
// device.
#pragma once

#include "../../tests/emulator/control.h"

#include <plait/cuda.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// There in the emulator alone.
extern "C" {
#pragma weak emulator_counters_json
#pragma weak emulator_clear_counters
}

namespace bench {

inline bool is_emulated() { return emulator_counters_json != nullptr; }

/// What all kernels of a step did, on all ranks.
struct counts {
    std::map<std::string, double> instructions;  // of threads, by class
    double all = 0;
    double loaded = 0, stored = 0;  // bytes
    double wide_bytes = 0;          // of requests of 16 bytes a lane
    double requests = 0;
    double sectors = 0;
    double local = 0;               // requests
    std::set<std::string> kernels;  // names
};

/// A side of a comparison, on one rank.
struct side {
    std::string name;
    std::function<void()> step;
};
struct outcome {
    std::string name;
    counts did;
    double microseconds = 0;  // median of the slowest ranks'
    double spread = 0;        // interquartile range over median
};

namespace detail {
/// The numbers that stand behind "key": in a text, added up.
inline double sum_of(std::string_view text, const std::string& key)
{
    double sum = 0;
    const std::string wanted = "\"" + key + "\": ";
    for (std::size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) {
        sum += std::strtod(text.data() + at + wanted.size(), nullptr);
    }
    return sum;
}
inline std::string between(std::string_view text, std::string_view from, std::string_view to)
{
    const std::size_t begin = text.find(from) + from.size();
    return std::string(text.substr(begin, text.find(to, begin) - begin));
}
}  // namespace detail

/// From the emulator's JSON: a line for each launch.
inline counts read_counts(std::string_view json)
{
    counts c;
    for (std::size_t at = json.find("{\"kernel\""); at != json.npos;) {
        const std::size_t end = std::min(json.find("{\"kernel\"", at + 1), json.size());
        const std::string launch(json.substr(at, end - at));
        at = end == json.size() ? json.npos : end;
        c.kernels.insert(detail::between(launch, "\"kernel\": \"", "\""));
        const std::string classes = detail::between(launch, "by_class\": {", "}");
        for (const char* k : {"integer", "f16", "f32", "f64", "special", "conversion", "move", "predicate", "control",
                              "memory", "atomic", "barrier", "warp", "matrix", "other"}) {
            c.instructions[k] += detail::sum_of(classes, k);
        }
        c.all += detail::sum_of(launch, "thread_instructions");
        const std::string global = detail::between(launch, "\"global\": {", "}");
        c.loaded += detail::sum_of(global, "bytes_loaded");
        c.stored += detail::sum_of(global, "bytes_stored");
        c.requests += detail::sum_of(global, "load_requests") + detail::sum_of(global, "store_requests");
        c.wide_bytes += detail::sum_of(global, "bytes_of_16_byte_requests");
        c.sectors += detail::sum_of(global, "sectors_loaded") + detail::sum_of(global, "sectors_stored");
        const std::string local = detail::between(launch, "\"local\": {", "}");
        c.local += detail::sum_of(local, "load_requests") + detail::sum_of(local, "store_requests");
    }
    return c;
}

/// Runs the sides, called by all ranks with the same ones; outcomes are rank 0's. In the emulator each runs once more
/// than it is counted; on a device they take turns, `rounds` times for at least `least` seconds.
inline std::vector<outcome> race(plait::cuda_communicator& comm, const std::vector<side>& sides, int rounds = 15,
                                 double least = 2e-3)
{
    std::vector<outcome> all;
    for (const side& s : sides) { all.push_back({s.name, {}, 0, 0}); }
    const auto meet = [&] {
        comm.synchronize();
        comm.barrier("between contestants");
    };
    if (is_emulated()) {
        for (std::size_t i = 0; i < sides.size(); ++i) {
            sides[i].step();
            meet();
            if (comm.rank() == 0) { emulator_clear_counters(); }
            meet();
            sides[i].step();
            comm.barrier("all are launched");  // before any begins: what ranks do while they wait for others is no work
            meet();
            if (comm.rank() == 0) { all[i].did = read_counts(emulator_counters_json()); }
            meet();
        }
        return all;
    }
    cudaEvent_t begin = nullptr, end = nullptr;
    plait::cuda::check(cudaEventCreate(&begin), "an event");
    plait::cuda::check(cudaEventCreate(&end), "an event");
    // All ranks time their own stream; a step takes as long as on the slowest.
    const auto time_of = [&](const side& s, int steps) {
        meet();
        plait::cuda::check(cudaEventRecord(begin, comm.stream()), "an event");
        for (int k = 0; k < steps; ++k) { s.step(); }
        plait::cuda::check(cudaEventRecord(end, comm.stream()), "an event");
        comm.synchronize();
        float ms = 0;
        plait::cuda::check(cudaEventElapsedTime(&ms, begin, end), "an event");
        double slowest = 0;
        for (const void* theirs : comm.exchange(&ms, sizeof ms, "times")) {
            slowest = std::max<double>(slowest, *static_cast<const float*>(theirs));
        }
        comm.barrier("times are read");
        return slowest * 1e-3 / steps;
    };
    std::vector<int> steps;
    for (const side& s : sides) {
        time_of(s, 2);
        steps.push_back(static_cast<int>(std::clamp(least / time_of(s, 5), 1.0, 1000.0)));
    }
    std::vector<std::vector<double>> samples(sides.size());
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t k = 0; k < sides.size(); ++k) {
            const std::size_t i = (k + static_cast<std::size_t>(round)) % sides.size();
            samples[i].push_back(time_of(sides[i], steps[i]));
        }
    }
    for (std::size_t i = 0; i < sides.size(); ++i) {
        std::vector<double>& x = samples[i];
        std::ranges::sort(x);
        const double median = x[x.size() / 2];
        all[i].microseconds = median * 1e6;
        all[i].spread = (x[x.size() * 3 / 4] - x[x.size() / 4]) / median;
    }
    static_cast<void>(cudaEventDestroy(begin));
    static_cast<void>(cudaEventDestroy(end));
    return all;
}

}  // namespace bench
