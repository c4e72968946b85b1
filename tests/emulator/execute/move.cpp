// mov, cvta, isspacep and the like (PTX ISA, "Data Movement and Conversion Instructions").
#include "../decode/special.hpp"
#include "../memory/windows.hpp"
#include "../schedule/progress.hpp"
#include "../schedule/time.hpp"
#include "access.hpp"
#include "lanewise.hpp"

namespace emulator {
namespace {

template <class T>
void move(context& c, const instruction& i)
{
    auto* d = destination<T>(c, i.args[0]);
    const auto* a = source<T>(c, i.args[1]);
    for_each_lane(c.mask, [&](unsigned l) { d[l] = a[l]; });
}

void move_predicate(context& c, const instruction& i) { write_predicate(c, i.args[0], read_predicate(c, i.args[1])); }

/// {a, b, ...} packed into one register, the first lowest.
void pack(context& c, const instruction& i)
{
    for_lanes(c.mask, [&](unsigned l) {
        std::uint64_t bits = 0;
        unsigned at = 0;
        for (unsigned k = 1; k < i.n_args; ++k) {
            bits |= read_bits(c, i.args[k], l) << at;
            at += 8 * i.elements;
        }
        write_bits(c, i.args[0], l, bits);
    });
}

void unpack(context& c, const instruction& i)
{
    for_lanes(c.mask, [&](unsigned l) {
        const std::uint64_t bits = read_bits(c, i.args[0], l);
        for (unsigned k = 1; k < i.n_args; ++k) {
            const std::uint64_t part = bits >> (8 * i.elements * (k - 1));
            write_bits(c, i.args[k], l, i.elements == 8 ? part : part & ((std::uint64_t{1} << (8 * i.elements)) - 1));
        }
    });
}

void read_clock(context& c, const instruction& i)
{
    const std::uint64_t now = emulated_nanoseconds();
    clock_read_at = progress_count;
    const auto which = static_cast<special>(i.variant);
    const std::uint64_t value = which == special::globaltimer_hi ? now >> 32 : now;
    for_lanes(c.mask, [&](unsigned l) { write_bits(c, i.args[0], l, value); });
}

type part_type(unsigned bytes) { return bytes == 1 ? type::b8 : bytes == 2 ? type::b16 : type::b32; }

void bind_vector_move(binding& b, type t)
{
    const bool packs = b.syntax(1).form == ptx::operand_form::vector;
    const ptx::operand& vector = b.syntax(packs ? 1 : 0);
    const auto part = size_of(t) / static_cast<unsigned>(vector.parts.size());
    b.out.elements = static_cast<std::uint8_t>(part);
    if (t == type::b128) { b.refuse("not implemented for b128"); }
    if (packs) {
        b.destination(0, t);
        for (const ptx::operand& o : vector.parts) { b.source(o, part_type(part)); }
        b.out.execute = &pack;
    } else {
        b.source(1, t);
        for (const ptx::operand& o : vector.parts) { b.destination(o, part_type(part)); }
        b.out.execute = &unpack;
    }
}

void bind_mov(binding& b)
{
    const type t = b.take_type();
    b.expect_operands(2);
    b.out.kind = instruction_class::move;
    using form = ptx::operand_form;
    if (b.syntax(0).form == form::vector || b.syntax(1).form == form::vector) { return bind_vector_move(b, t); }
    if (t == type::pred) {
        b.predicate_destination(b.syntax(0));
        b.predicate(b.syntax(1));
        b.out.execute = &move_predicate;
        return;
    }
    b.destination(0, t);
    const auto special = b.syntax(1).form == form::name ? find_special_register(b.syntax(1).name) : std::nullopt;
    if (special && is_clock(special->which)) {
        b.out.variant = static_cast<std::uint8_t>(special->which);
        b.out.execute = &read_clock;
        return;
    }
    b.source(1, t);
    b.out.execute = size_of(t) == 8 ? &move<std::uint64_t> : &move<std::uint32_t>;
}

space take_space(binding& b)
{
    if (b.has("global")) { return space::global; }
    if (b.has("shared") || b.has("shared::cta")) { return space::shared; }
    if (b.has("local")) { return space::local; }
    if (b.has("const")) { return space::constant; }
    if (b.has("param") || b.has("param::entry")) { return space::parameter; }
    b.refuse("a state space expected");
}

std::uint64_t parameter_window(launch& k)
{
    if (k.parameter_memory == nullptr) {
        k.parameter_memory =
            &memory().add(k.parameters.data(), k.parameters.size(), memory_kind::parameters, "kernel parameters");
    }
    return k.parameter_memory->begin;
}

// To a space: minus its window; from it: plus. Kernel parameters lie in memory of their launch.
void cvta(context& c, const instruction& i)
{
    std::uint64_t window = window_of(i.space);
    if (i.space == space::parameter) { window = parameter_window(*c.k); }
    if (i.variant == 1) { window = -window; }
    for_lanes(c.mask, [&](unsigned l) { write_bits(c, i.args[0], l, read_bits(c, i.args[1], l) + window); });
}

void bind_cvta(binding& b)
{
    const bool to = b.has("to");
    const space s = take_space(b);
    const type t = b.take_type({type::u64, type::u32});
    b.expect_operands(2);
    b.out.space = s;
    b.out.variant = to ? 1 : 0;
    b.out.kind = instruction_class::move;
    b.destination(0, t);
    b.wide_source(b.syntax(1), t);
    b.out.execute = &cvta;
    if (window_of(s) == 0 && s != space::parameter && b.args()[1].width == 8) { b.out.execute = &move<std::uint64_t>; }
}

void isspacep(context& c, const instruction& i)
{
    std::uint32_t bits = 0;
    for_lanes(c.mask, [&](unsigned l) {
        std::uint64_t address = read_bits(c, i.args[1], l);
        bits |= std::uint32_t{resolve_generic(address) == i.space} << l;
    });
    write_predicate(c, i.args[0], bits);
}

void bind_isspacep(binding& b)
{
    const space s = take_space(b);
    if (s == space::constant || s == space::parameter) { b.refuse("not implemented for this space"); }
    b.expect_operands(2);
    b.out.space = s;
    b.out.kind = instruction_class::predicate;
    b.predicate_destination(b.syntax(0));
    b.source(1, type::u64);
    b.out.execute = &isspacep;
}

}  // namespace

extern const opcode_entry move_opcodes[] = {
    {"mov", bind_mov},
    {"cvta", bind_cvta},
    {"isspacep", bind_isspacep},
    {{}, nullptr},
};

}  // namespace emulator
