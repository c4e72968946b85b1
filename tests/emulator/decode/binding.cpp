#include "binding.hpp"

namespace emulator {

bool binding::has(std::string_view modifier)
{
    for (std::size_t i = 0; i < used_.size(); ++i) {
        if (!used_[i] && s_.modifiers[i] == modifier) {
            used_[i] = true;
            return true;
        }
    }
    return false;
}

int binding::one_of(std::initializer_list<std::string_view> modifiers)
{
    int at = 0;
    for (std::string_view m : modifiers) {
        if (has(m)) { return at; }
        ++at;
    }
    return -1;
}

type binding::optional_type()
{
    for (std::size_t i = 0; i < used_.size(); ++i) {
        const emulator::type t = type_named(s_.modifiers[i]);
        if (!used_[i] && t != type::none) {
            used_[i] = true;
            return t;
        }
    }
    return type::none;
}

type binding::take_type()
{
    const emulator::type t = optional_type();
    if (t == type::none) { refuse("no type"); }
    return t;
}

type binding::take_type(std::initializer_list<emulator::type> allowed)
{
    const emulator::type t = take_type();
    for (emulator::type a : allowed) {
        if (a == t) { return t; }
    }
    refuse("not implemented for this type");
}

void binding::finish()
{
    for (std::size_t i = 0; i < used_.size(); ++i) {
        if (!used_[i]) { refuse("modifier ." + s_.modifiers[i] + " is not implemented"); }
    }
}

void binding::expect_operands(unsigned least, unsigned most)
{
    if (n_operands() < least || n_operands() > most) { refuse("unexpected number of operands"); }
}

operand binding::find(const ptx::operand& o, unsigned width)
{
    using form = ptx::operand_form;
    if (o.form == form::integer) { return names.constant(static_cast<std::uint64_t>(o.value), width); }
    if (o.form == form::float32 && width == 8) {
        const float value = __builtin_bit_cast(float, static_cast<std::uint32_t>(o.value));
        return names.constant(__builtin_bit_cast(std::uint64_t, static_cast<double>(value)), width);
    }
    if (o.form == form::float64 && width == 4) {
        const auto value = static_cast<float>(__builtin_bit_cast(double, o.value));
        return names.constant(__builtin_bit_cast(std::uint32_t, value), width);
    }
    if (o.form == form::float32 || o.form == form::float64) {
        return names.constant(static_cast<std::uint64_t>(o.value), width);
    }
    if (o.form != form::name) { refuse("an operand of this form is not implemented here"); }
    if (o.value == 0) {
        if (const auto r = names.find_register(o.name)) { return *r; }
        if (const auto r = names.find_special(o.name, width)) { return *r; }
    }
    if (const auto s = names.find_symbol(o.name, o.value)) {
        if (s->of_frame) { refuse("the address of a parameter of a device function is not implemented"); }
        return s->row;
    }
    refuse("unknown name " + o.name);
}

void binding::source(const ptx::operand& o, emulator::type t)
{
    const operand found = find(o, size_of(t));
    const bool symbol = found.bank == bank::constants && found.width == 8 && size_of(t) == 4;
    if (found.width != size_of(t) && !symbol) { refuse("operand " + o.name + " has not the size of the type"); }
    if (symbol && o.form == ptx::operand_form::name) {
        // The address of a shared variable as 32 bits.
        const auto s = names.find_symbol(o.name, o.value);
        if (s->space != space::shared && s->space != space::local) { refuse("a 64-bit address in 32 bits"); }
        args_.push_back(names.constant(static_cast<std::uint64_t>(s->offset), 4));
        return;
    }
    args_.push_back(found);
}

void binding::wide_source(const ptx::operand& o, emulator::type t)
{
    const operand found = find(o, size_of(t));
    if (found.width < size_of(t)) { refuse("operand " + o.name + " is smaller than the type"); }
    args_.push_back(found);
}

void binding::destination(const ptx::operand& o, emulator::type t)
{
    wide_destination(o, t);
    if (!args_.back().absent && args_.back().width != size_of(t)) {
        refuse("the destination has not the size of the type");
    }
}

void binding::wide_destination(const ptx::operand& o, emulator::type t)
{
    if (o.form == ptx::operand_form::name && o.name == "_") { return absent(); }
    const auto found = o.form == ptx::operand_form::name ? names.find_register(o.name) : std::nullopt;
    if (!found || found->width == 0) { refuse("a register expected as destination"); }
    if (found->width < size_of(t)) { refuse("the destination is smaller than the type"); }
    args_.push_back(*found);
}

void binding::predicate(const ptx::operand& o)
{
    if (o.form == ptx::operand_form::integer) {
        operand row = names.constant(o.value != 0 ? ~0ull : 0, 4);
        row.width = 0;
        return args_.push_back(row);
    }
    const auto found = names.find_register(o.name);
    if (!found || found->width != 0) { refuse("a predicate expected"); }
    args_.push_back(*found);
    args_.back().negated = o.negated;
}

void binding::predicate_destination(const ptx::operand& o)
{
    if (o.form == ptx::operand_form::name && o.name == "_") { return absent(); }
    predicate(o);
    if (args_.back().negated || args_.back().bank != bank::registers) { refuse("a predicate register expected"); }
}

void binding::absent()
{
    operand o;
    o.absent = true;
    args_.push_back(o);
}

void binding::address(const ptx::operand& o)
{
    bool of_frame = false;
    address(o, of_frame);
    if (of_frame) { refuse("a parameter is not allowed here"); }
}

void binding::address(const ptx::operand& o, bool& of_frame)
{
    if (o.form != ptx::operand_form::address || !o.parts.empty()) { refuse("an address expected"); }
    out.immediate = o.value;
    of_frame = false;
    if (o.name.empty()) {
        args_.push_back(names.constant(0, 8));
        return;
    }
    if (const auto r = names.find_register(o.name)) {
        if (r->width != 8 && r->width != 4) { refuse("an address register of 32 or 64 bits expected"); }
        args_.push_back(*r);
        return;
    }
    const auto s = names.find_symbol(o.name, 0);
    if (!s) { refuse("unknown name " + o.name); }
    args_.push_back(s->row);
    of_frame = s->of_frame;
    if (s->of_frame) { out.immediate += s->offset; }
}

std::int64_t binding::integer(unsigned i)
{
    if (i >= n_operands() || syntax(i).form != ptx::operand_form::integer) { refuse("a number expected"); }
    return syntax(i).value;
}

}  // namespace emulator
