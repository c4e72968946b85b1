// From a lane's address to bytes: the checks of every access, whatever instruction makes it.
#pragma once

#include "../check/report.hpp"
#include "../memory/windows.hpp"
#include "context.hpp"

#include <vector>

namespace emulator {

/// Bytes that a lane accesses.
struct place {
    std::uint8_t* bytes = nullptr;
    emulator::space space = space::global;  ///< global, shared or local
    std::uint64_t offset = 0;               ///< in the allocation, or in the block's shared memory
    allocation* memory = nullptr;           ///< of global memory
};

enum class access_kind : std::uint8_t { load, store, atomic };

/// Memory of kernels; the runtime allocates from it.
address_space& memory();

place locate_anywhere(context& c, const instruction& i, unsigned lane, std::uint64_t address, unsigned bytes,
                      access_kind kind);

/// The place of `bytes` bytes at an address of i.space. Ends the kernel when there is none.
inline place locate(context& c, const instruction& i, unsigned lane, std::uint64_t address, unsigned bytes,
                    access_kind kind)
{
    // Most instructions go on in the allocation where they were before.
    const bool of_allocation = i.space == space::global || i.space == space::generic;
    allocation* a = i.seen;
    if (of_allocation && a != nullptr && a->kind == memory_kind::device && a->live && a->holds(address, bytes) &&
        (a->devices >> c.k->device & 1) != 0 && (address & (bytes - 1)) == 0) {
        return {reinterpret_cast<std::uint8_t*>(address), space::global, address - a->begin, a};
    }
    return locate_anywhere(c, i, lane, address, bytes, kind);
}

/// The places of `bytes` bytes at a multicast address, one for each member. Ends the kernel when there are none.
std::vector<place> locate_multicast(context& c, const instruction& i, unsigned lane, std::uint64_t address,
                                    unsigned bytes, access_kind kind);

/// Reports that some byte was never written, if so.
void report_unwritten(context& c, const instruction& i, unsigned lane, const place& p, unsigned bytes);

inline void check_written(context& c, const instruction& i, unsigned lane, const place& p, unsigned bytes)
{
    const bool known = p.space == space::global   ? p.memory->written.covers(p.offset, bytes)
                       : p.space == space::shared ? c.b->shared_written.covers(p.offset, bytes)
                                                  : true;
    if (!known) { report_unwritten(c, i, lane, p, bytes); }
}

/// `lane`: whose ordinary store it was.
inline void mark_written(context& c, unsigned lane, const place& p, unsigned bytes)
{
    if (p.space == space::global) {
        p.memory->written.mark(p.offset, bytes);
    } else if (p.space == space::shared) {
        c.b->shared_written.mark(p.offset, bytes);
        auto& writes = c.b->generic_writes;
        if (writes.empty()) { writes.resize(c.b->shared.size() / 16 + 1); }
        for (std::uint64_t at = p.offset / 16; at <= (p.offset + bytes - 1) / 16; ++at) {
            writes[at] = {++c.b->proxy_time, c.w->number * n_lanes + lane};
        }
    }
}

/// The address in argument `arg` of a lane, plus the instruction's offset.
inline std::uint64_t lane_address(const context& c, const instruction& i, unsigned arg, unsigned lane)
{
    return read_bits(c, i.args[arg], lane) + static_cast<std::uint64_t>(i.immediate);
}

}  // namespace emulator
