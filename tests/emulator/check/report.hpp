// Reports of what a kernel did wrong.
#pragma once

#include "../execute/context.hpp"

#include <string>
#include <vector>

namespace emulator {

enum class rule : std::uint8_t {
    bounds,
    misaligned,
    uninitialised,
    use_after_free,
    barrier_divergence,
    inactive_lane,
    race,
    deadlock,
    trap,
    assertion,
    invalid
};

struct report {
    emulator::rule rule;
    std::string text;
};

const char* name_of(rule r);

/// Prints a report that names kernel, block, thread, source line and PTX; the same rule at the same instruction is
/// printed once, and counted.
void make_report(const context& c, const instruction& i, unsigned lane, rule r, const std::string& text);
/// One that no single thread made.
void make_report(rule r, const std::string& text);

/// All reports since the last call of clear_reports, one for each rule and instruction.
const std::vector<report>& reports();
void clear_reports();

/// `kernel, block (1,0,0), thread (33,0,0), at file.cu:12 (PTX line 40: ld.global.f32 ...)`.
std::string where(const context& c, const instruction& i, unsigned lane);
std::string where(const block& b, const warp& w, const instruction& i, unsigned lane);
/// `(1,0,0)`.
std::string triple(std::uint64_t x, std::uint64_t y, std::uint64_t z);
std::string source_of(const instruction& i, const function& f);

}  // namespace emulator
