// What a benchmark measured, for people and programs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

namespace bench {

/// One line of the JSON output. What does not apply is null.
struct record {
    std::string workload;
    std::string schedule;
    std::string fabric;
    std::string dtype;
    std::int64_t n = 0;
    int ranks = 0;
    double seconds = 0;
    std::optional<double> ratio_to_baseline{};  // the baseline's time over this one's: above 1, this is faster
    std::optional<double> ratio_to_unscheduled{};
    std::optional<double> percent_of_limit{};
    std::optional<double> spread{};  // interquartile range over median
};

struct options {
    bool quick = false;
    std::string records;  // a file that records are appended to, or empty
};

inline options parse(int argc, char** argv)
{
    options o;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--quick") == 0) {
            o.quick = true;
        } else if (std::strcmp(argv[i], "--records") == 0 && i + 1 < argc) {
            o.records = argv[++i];
        } else {
            throw std::runtime_error(std::string("unknown option '") + argv[i] + "'; run benchmarks with bench/run");
        }
    }
    return o;
}

inline void write(const options& o, const record& r)
{
    if (o.records.empty()) { return; }
    const auto number = [](const std::optional<double>& x) {
        char text[32];
        if (!x) { return std::string("null"); }
        std::snprintf(text, sizeof text, "%.6g", *x);
        return std::string(text);
    };
    std::ofstream out(o.records, std::ios::app);
    out << "{\"workload\": \"" << r.workload << "\", \"schedule\": \"" << r.schedule << "\", \"fabric\": \"" << r.fabric
        << "\", \"dtype\": \"" << r.dtype << "\", \"n\": " << r.n << ", \"ranks\": " << r.ranks
        << ", \"seconds\": " << number(r.seconds) << ", \"ratio_to_baseline\": " << number(r.ratio_to_baseline)
        << ", \"ratio_to_unscheduled\": " << number(r.ratio_to_unscheduled)
        << ", \"percent_of_limit\": " << number(r.percent_of_limit) << ", \"spread\": " << number(r.spread) << "}\n";
    if (!out) { throw std::runtime_error("cannot write '" + o.records + "'"); }
}

}  // namespace bench
