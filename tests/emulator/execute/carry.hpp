#pragma once

#include "../decode/binding.hpp"

namespace emulator {

/// Binds add, sub and mad with .cc; false when the statement has no .cc.
bool bind_carry_out(binding& b, type t);

}  // namespace emulator
