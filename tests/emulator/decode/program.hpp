// A kernel in the form that is executed: operands are offsets into rows of 32 lanes.
#pragma once

#include "../ptx/syntax.hpp"
#include "type.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emulator {

inline constexpr unsigned n_lanes = 32;

using ptx::space;

enum class bank : std::uint8_t {
    registers,  ///< of the current frame
    constants,  ///< of the function: immediate values and addresses of variables, the same in all lanes
};

/// A row of 32 lanes: of 4-byte slots for a width up to 4, of 8-byte slots for width 8; a predicate (width 0) is one
/// 32-bit mask, with a bit for each lane.
struct operand {
    std::uint32_t offset = 0;
    emulator::bank bank = bank::registers;
    std::uint8_t width = 4;  ///< bytes of the register's type
    bool negated = false;    ///< a predicate read as its complement
    bool absent = false;     ///< `_`, an operand that is not given
};

enum class ordering : std::uint8_t { weak, is_volatile, relaxed, acquire, release, acquire_release, sequential };
enum class scope : std::uint8_t { none, block, cluster, device, system };

/// What a statement counts as in the counters.
enum class instruction_class : std::uint8_t {
    integer,
    f16,
    f32,
    f64,
    special,
    conversion,
    move,
    predicate,
    control,
    memory,
    atomic,
    barrier,
    warp,
    matrix,
    warpgroup,
    multicast,
    other
};
inline constexpr std::size_t n_instruction_classes = 17;

struct allocation;
struct context;
struct function;

struct instruction {
    void (*execute)(context&, const instruction&) = nullptr;
    const operand* args = nullptr;
    std::int64_t immediate = 0;  ///< an address's offset, a table, a size: each opcode says
    const instruction* target = nullptr;
    const function* callee = nullptr;
    const ptx::statement* source = nullptr;
    std::uint32_t guard = no_guard;  ///< offset of the predicate
    bool guard_negated = false;
    bool flow = false;  ///< may change pc, wait, or end: the loop over straight code stops at it
    emulator::space space = space::generic;
    std::uint8_t elements = 1;  ///< of a vector access
    std::uint8_t n_args = 0;
    emulator::type type = type::none;
    emulator::ordering order = ordering::weak;
    emulator::scope scope = scope::none;
    emulator::instruction_class kind = instruction_class::other;
    std::uint8_t variant = 0;  ///< each opcode says
    std::uint8_t variant2 = 0;
    std::uint32_t index = 0;             ///< in the function
    mutable allocation* seen = nullptr;  ///< the memory it accessed last

    static constexpr std::uint32_t no_guard = ~0u;
};

/// A register row that holds a special register's value from the start.
enum class special : std::uint8_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    smid,
    nsmid,
    gridid,
    lanemask_eq,
    lanemask_le,
    lanemask_lt,
    lanemask_ge,
    lanemask_gt,
    envreg1,
    envreg2,
    dynamic_smem_size,
    total_smem_size,
    aggr_smem_size,
    cluster_ctaid_x,
    cluster_ctaid_y,
    cluster_ctaid_z,
    cluster_nctaid_x,
    cluster_nctaid_y,
    cluster_nctaid_z,
    cluster_ctarank,
    cluster_nctarank,
    clusterid_x,
    clusterid_y,
    clusterid_z,
    nclusterid_x,
    nclusterid_y,
    nclusterid_z,
    is_explicit_cluster,
    // Read anew by each mov:
    clock,
    clock64,
    globaltimer,
    globaltimer_lo,
    globaltimer_hi
};

struct special_row {
    special which;
    std::uint32_t offset;
};

/// A register row that holds an address in the frame's local memory.
struct local_row {
    std::uint32_t offset;
    std::uint64_t address;
};

struct parameter_slot {
    std::string name;
    std::uint32_t offset;
    std::uint32_t size;
};

/// A row of constants that holds a variable's address: known only for a device.
struct symbol_row {
    std::uint32_t offset;  ///< of a row of 8-byte slots
    std::string symbol;
    std::int64_t addend;
};

struct module_image;

struct function {
    std::string name;
    const ptx::function* syntax = nullptr;
    module_image* owner = nullptr;
    std::vector<instruction> code;  ///< the last is a `ret` of its own
    std::vector<std::unique_ptr<operand[]>> operands;
    std::map<std::uint32_t, std::vector<const instruction*>> tables;  ///< targets of the indexed branches
    std::shared_ptr<const ptx::statement> end;                        ///< the statement of the last instruction
    std::uint32_t register_bytes = 0;
    std::vector<operand> rows;      ///< of all registers, special and local ones included
    std::vector<std::uint8_t> constants;
    std::vector<symbol_row> symbols;
    std::vector<special_row> specials;
    std::vector<local_row> locals;
    std::vector<parameter_slot> parameters;
    std::vector<parameter_slot> results;
    std::uint32_t parameter_bytes = 0;  ///< of an entry: what a launch copies
    std::uint32_t frame_bytes = 0;      ///< per lane: a device function's parameters and results, and .param of calls
    std::uint32_t local_bytes = 0;      ///< per lane
    std::uint32_t shared_bytes = 0;     ///< static, of the whole module's shared variables and this function's
    std::uint32_t n_registers = 0;      ///< 32-bit ones, of those declared
};

}  // namespace emulator
