// A PTX module as it is written: declarations, and functions as lists of items whose names are not looked up yet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulator::ptx {

enum class space : std::uint8_t { generic, global, shared, local, parameter, constant };

enum class operand_form : std::uint8_t {
    name,     ///< a register, special register, label or variable
    integer,  ///< value
    float32,  ///< value holds the bits
    float64,
    address,  ///< [base + value]; base may be empty
    vector,   ///< {a, b, ...}
    pair,     ///< a|b
    list      ///< (a, b, ...), of a call
};

struct operand {
    operand_form form = operand_form::name;
    std::string name;
    bool negated = false;  ///< !p
    std::int64_t value = 0;
    std::vector<operand> parts;
};

struct source_line {
    std::uint32_t file = 0;
    std::uint32_t line = 0;
};

/// One instruction. Opcode `ld`, modifiers `global`, `v4`, `u32`.
struct statement {
    std::string opcode;
    std::vector<std::string> modifiers;
    std::vector<operand> operands;
    std::string guard;
    bool guard_negated = false;
    unsigned line = 0;  ///< in the PTX text
    source_line source;
    std::string text;
};

/// Bytes of a variable's initial value that hold an address: of `symbol` plus `addend`.
struct relocation {
    std::uint64_t offset;
    std::string symbol;
    std::int64_t addend;
    bool generic;
};

struct variable {
    std::string name;
    ptx::space space = ptx::space::generic;
    std::string type;
    std::uint32_t align = 1;
    std::uint64_t size = 0;  ///< bytes; 0 for a dynamic shared array
    bool external = false;
    std::vector<std::uint8_t> bytes;  ///< the initial value; shorter than size means zeros follow
    std::vector<relocation> relocations;
};

/// `.reg .b32 %r<5>;` declares count registers with a number each; `.reg .b32 a;` declares one named so (count 0).
struct registers {
    std::string type;
    std::string name;
    std::uint32_t count = 0;
};

enum class item_kind : std::uint8_t {
    instruction,
    label,
    open_scope,
    close_scope,
    variable,
    registers,
    branch_targets
};

struct item {
    item_kind kind;
    statement instruction;
    std::string label;                 ///< of label and branch_targets
    std::vector<std::string> targets;  ///< of branch_targets
    ptx::variable variable;
    ptx::registers registers;
};

struct function {
    std::string name;
    bool entry = false;
    bool has_body = false;
    std::vector<variable> results;
    std::vector<variable> parameters;
    std::vector<item> body;
    std::uint32_t max_threads = 0;       ///< of .maxntid, .reqntid; 0 when not given
    std::uint32_t required_threads = 0;  ///< of .reqntid
    std::uint32_t cluster = 0;           ///< blocks of .reqnctapercluster
};

struct module {
    std::string target;
    std::vector<variable> variables;
    std::vector<function> functions;
    std::map<std::uint32_t, std::string> files;  ///< of .file directives
};

/// Throws `unsupported` with the line of what it does not know.
module parse(const std::string& text);

}  // namespace emulator::ptx
