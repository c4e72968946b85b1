// The counters of all kernels that have ended.
#pragma once

#include "launch_counters.hpp"

#include <memory>
#include <string>
#include <vector>

namespace emulator {

void log_launch(const launch& k);
const std::vector<std::shared_ptr<launch_counters>>& logged_launches();
void clear_log();

/// Executed instructions by class: those of warps, and of threads.
struct class_counts {
    std::array<std::uint64_t, n_instruction_classes> warps{};
    std::array<std::uint64_t, n_instruction_classes> threads{};
    std::uint64_t all_warps() const;
    std::uint64_t all_threads() const;
};
class_counts by_class(const launch_counters& c);
const char* name_of(instruction_class k);

std::string as_json(const std::vector<std::shared_ptr<launch_counters>>& launches);
std::string as_table(const std::vector<std::shared_ptr<launch_counters>>& launches);

}  // namespace emulator
