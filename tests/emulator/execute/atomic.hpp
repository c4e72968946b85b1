// What read-modify-write operations make of a value.
#pragma once

#include "../decode/program.hpp"

#include <cstdint>

namespace emulator {

/// instruction::variant of atom, red and multimem.
enum atomic_operation : std::uint8_t {
    op_add,
    op_min,
    op_max,
    op_inc,
    op_dec,
    op_exch,
    op_cas,
    op_and,
    op_or,
    op_xor
};

/// The bits of i.type that i.variant makes of `old` and b; of a cas also of c.
std::uint64_t updated(const instruction& i, std::uint64_t old, std::uint64_t b, std::uint64_t c);

}  // namespace emulator
