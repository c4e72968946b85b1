// Reports of races.
#pragma once

#include "../execute/access.hpp"
#include "clock.hpp"

namespace emulator {

/// The lane's access races with an earlier one.
void report_race(const context& c, const instruction& i, unsigned lane, const place& p, bool is_store,
                 const stamp& other, bool other_is_store, const instruction* other_where);
/// `kernel f, block (1,0,0), thread (2,0,0), at file.cu:3 ...`, or the name of a copy.
std::string describe_access(const stamp& by, const instruction* where);

}  // namespace emulator
