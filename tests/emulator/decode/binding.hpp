// One statement while it is turned into an instruction: gives out its modifiers and operands, each once, and refuses
// what is left over.
#pragma once

#include "../error.hpp"
#include "program.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emulator {

/// What a statement's names mean; the function decoder implements it.
class name_lookup {
  public:
    virtual ~name_lookup() = default;
    virtual std::optional<operand> find_register(const std::string& name) = 0;
    /// A row that holds a special register, if it is one.
    virtual std::optional<operand> find_special(const std::string& name, unsigned width) = 0;
    /// A row of constants.
    virtual operand constant(std::uint64_t bits, unsigned width) = 0;
    /// The address of a variable, parameter or function plus an addend.
    struct address {
        operand row;
        std::int64_t offset = 0;
        emulator::space space = space::generic;
        bool of_frame = false;  ///< in a .param space that each lane has for itself
    };
    virtual std::optional<address> find_symbol(const std::string& name, std::int64_t addend) = 0;
    virtual const function* find_function(const std::string& name) = 0;
    virtual void branch_to(instruction& i, const std::string& label) = 0;
    virtual std::vector<std::string> branch_targets(const std::string& label) = 0;
};

class binding {
  public:
    binding(const ptx::statement& s, instruction& out, name_lookup& names)
        : s_{s}, out{out}, names{names}, used_(s.modifiers.size())
    {
    }

    const ptx::statement& statement() const { return s_; }
    [[noreturn]] void refuse(const std::string& why) const
    {
        throw unsupported("PTX line " + std::to_string(s_.line) + ", '" + s_.text + "': " + why);
    }

    /// Whether the modifier is there; it is then used up.
    bool has(std::string_view modifier);
    /// The first of the modifiers that is there, or -1.
    int one_of(std::initializer_list<std::string_view> modifiers);
    /// The next type among the modifiers, or none.
    emulator::type optional_type();
    emulator::type take_type();
    /// The next type, which must be one of these.
    emulator::type take_type(std::initializer_list<emulator::type> allowed);
    void finish();

    unsigned n_operands() const { return static_cast<unsigned>(s_.operands.size()); }
    void expect_operands(unsigned least, unsigned most);
    void expect_operands(unsigned n) { expect_operands(n, n); }
    const ptx::operand& syntax(unsigned i) const { return s_.operands[i]; }

    /// Appends an argument to the instruction: operand i, of the type's width exactly.
    void source(unsigned i, emulator::type t) { source(s_.operands[i], t); }
    void destination(unsigned i, emulator::type t) { destination(s_.operands[i], t); }
    void source(const ptx::operand& o, emulator::type t);
    void destination(const ptx::operand& o, emulator::type t);
    /// As ld, st and cvt allow: the register may be wider than the type.
    void wide_source(const ptx::operand& o, emulator::type t);
    void wide_destination(const ptx::operand& o, emulator::type t);
    void predicate(const ptx::operand& o);
    void predicate_destination(const ptx::operand& o);
    void absent();
    void append(operand o) { args_.push_back(o); }
    /// Appends the base of an address (8-byte or 4-byte register, or a row of constants), sets immediate and space.
    void address(const ptx::operand& o, bool& of_frame);
    void address(const ptx::operand& o);
    /// A number known from the text.
    std::int64_t integer(unsigned i);

    std::vector<operand>& args() { return args_; }

  private:
    operand find(const ptx::operand& o, unsigned width);

    const ptx::statement& s_;

  public:
    instruction& out;
    name_lookup& names;

  private:
    std::vector<bool> used_;
    std::vector<operand> args_;
};

using binder = void (*)(binding&);

struct opcode_entry {
    std::string_view opcode;
    binder bind;
};

/// The binder of an opcode, or null.
binder find_binder(std::string_view opcode);

}  // namespace emulator
