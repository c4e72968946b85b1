// What the environment of a program, or the program itself, chose.
#pragma once

#include <cstdint>

namespace emulator {

struct device_model {
    int devices = 4;
    int multiprocessors = 4;
    int threads_per_multiprocessor = 2048;
    int blocks_per_multiprocessor = 32;
    int shared_per_multiprocessor = 228 << 10;
    int shared_per_block = 48 << 10;
    int shared_per_block_optin = 227 << 10;
    int reserved_shared = 1 << 10;
    std::uint64_t memory = std::uint64_t{8} << 30;
    int major = 9, minor = 0;
};

struct settings_type {
    std::uint64_t seed = 1;   ///< 0: fair, without skipping
    bool check_races = true;  ///< and stale loads
    bool check_uninitialised = true;
    bool stale_loads = true;  ///< weak and relaxed loads may return older values, where PTX allows it
    bool count = true;        ///< memory counters; instructions are always counted
    bool print_reports = true;
    bool fail_on_reports = true;            ///< reports that nobody read make the program's exit status 86
    std::uint64_t stuck_after = 300'000;  ///< warp instructions without a change, of warps that only load, that mean deadlock
    std::int64_t patience = 2000;  ///< milliseconds without a call of any host thread before a deadlock is believed
    device_model device;
};

/// Read from the environment at first use: see the README for the variables.
settings_type& settings();

}  // namespace emulator
