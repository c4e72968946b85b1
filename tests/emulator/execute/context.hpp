// What an instruction's execution sees, and the loops over lanes.
#pragma once

#include "state.hpp"

#include <bit>
#include <string>

namespace emulator {

/// Thrown by an instruction that ends its kernel; the report was made.
struct kernel_fault {
    int error;  ///< a cudaError_t
};

struct context {
    std::uint8_t* bank[2] = {};
    std::uint32_t mask = 0;   ///< lanes that execute the instruction
    std::uint32_t group = 0;  ///< lanes at this instruction, whether their guard holds or not
    warp* w = nullptr;
    block* b = nullptr;
    launch* k = nullptr;
    frame* f = nullptr;

    // Set by instructions whose `flow` is set; with neither, execution goes on after the instruction.
    const instruction* jump = nullptr;  ///< where all lanes of the group go on
    bool split = false;                 ///< each lane's pc was stored, or it waits, or it has exited
    bool yield = false;                 ///< another warp should run next
};

template <class T>
const slot<T>* source(const context& c, const operand& o)
{
    return reinterpret_cast<const slot<T>*>(c.bank[static_cast<unsigned>(o.bank)] + o.offset);
}

template <class T>
slot<T>* destination(const context& c, const operand& o)
{
    return reinterpret_cast<slot<T>*>(c.bank[0] + o.offset);
}

/// A lane's value of type T from its slot, and back; narrow values leave the slot's other bits zero.
template <class T>
T from_slot(slot<T> s)
{
    if constexpr (sizeof(T) == sizeof(slot<T>)) {
        return std::bit_cast<T>(s);
    } else if constexpr (sizeof(T) == 2) {
        return std::bit_cast<T>(static_cast<std::uint16_t>(s));
    } else {
        return std::bit_cast<T>(static_cast<std::uint8_t>(s));
    }
}

template <class T>
slot<T> to_slot(T value)
{
    if constexpr (sizeof(T) == sizeof(slot<T>)) {
        return std::bit_cast<slot<T>>(value);
    } else if constexpr (sizeof(T) == 2) {
        return std::bit_cast<std::uint16_t>(value);
    } else {
        return std::bit_cast<std::uint8_t>(value);
    }
}

/// A lane's bits of any register or constant.
inline std::uint64_t read_bits(const context& c, const operand& o, unsigned lane)
{
    return o.width == 8 ? source<std::uint64_t>(c, o)[lane] : source<std::uint32_t>(c, o)[lane];
}

inline void write_bits(const context& c, const operand& o, unsigned lane, std::uint64_t bits)
{
    if (o.absent) { return; }
    if (o.width == 8) {
        destination<std::uint64_t>(c, o)[lane] = bits;
    } else {
        const std::uint64_t mask = (std::uint64_t{1} << (8 * o.width)) - 1;
        destination<std::uint32_t>(c, o)[lane] = static_cast<std::uint32_t>(bits & mask);
    }
}

/// A predicate in all lanes.
inline std::uint32_t read_predicate(const context& c, const operand& o)
{
    const std::uint32_t bits = *source<std::uint32_t>(c, o);
    return o.negated ? ~bits : bits;
}

inline void write_predicate(const context& c, const operand& o, std::uint32_t bits)
{
    if (o.absent) { return; }
    std::uint32_t& kept = *destination<std::uint32_t>(c, o);
    kept = (kept & ~c.mask) | (bits & c.mask);
}

template <class F>
[[gnu::always_inline]] inline void for_lanes(std::uint32_t mask, F&& f)
{
    if (mask == ~0u) {
        for (unsigned lane = 0; lane < n_lanes; ++lane) { f(lane); }
    } else {
        for (; mask != 0; mask &= mask - 1) { f(static_cast<unsigned>(std::countr_zero(mask))); }
    }
}

/// The same, where no lane reads what another writes: such loops become vector code.
template <class F>
[[gnu::always_inline]] inline void for_each_lane(std::uint32_t mask, F&& f)
{
    if (mask == ~0u) {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < n_lanes; ++lane) { f(lane); }
    } else {
        for (; mask != 0; mask &= mask - 1) { f(static_cast<unsigned>(std::countr_zero(mask))); }
    }
}

}  // namespace emulator
