// call: of device functions, and of the few that the device runtime provides.
#include "../check/report.hpp"
#include "builtin.hpp"
#include "frames.hpp"
#include "lanewise.hpp"

#include <cstring>

namespace emulator {
namespace {

// Arguments of the instruction: variant places for results, then variant2 for what is passed, as offsets in the
// caller's frame; then, for an indirect call, the register with the address.
void call_function(context& c, const instruction& i, const function& f, std::uint32_t lanes)
{
    if (f.parameters.size() != i.variant2 || f.results.size() != i.variant) {
        throw unsupported("call of " + f.name + " with other parameters than it has");
    }
    frame& made = enter(*c.w, f, lanes, c.f, &i);
    for_lanes(lanes, [&](unsigned l) {
        for (unsigned k = 0; k < i.variant2; ++k) {
            const parameter_slot& p = f.parameters[k];
            std::memcpy(made.parameter(l, p.offset), c.f->parameter(l, i.args[i.variant + k].offset), p.size);
        }
    });
}

void call_direct(context& c, const instruction& i)
{
    c.split = true;
    call_function(c, i, *i.callee, c.mask);
}

void call_indirect(context& c, const instruction& i)
{
    c.split = true;
    for (std::uint32_t left = c.mask; left != 0;) {
        const auto first = static_cast<unsigned>(std::countr_zero(left));
        const std::uint64_t address = read_bits(c, i.args[i.variant + i.variant2], first);
        std::uint32_t lanes = 0;
        for_lanes(left, [&](unsigned l) {
            lanes |= std::uint32_t{read_bits(c, i.args[i.variant + i.variant2], l) == address} << l;
        });
        left &= ~lanes;
        const function* f = c.f->code->owner->function_at(address);
        if (f == nullptr) {
            make_report(c, i, first, rule::invalid, "call of an address that is no function's");
            throw kernel_fault{718};  // cudaErrorInvalidPc
        }
        call_function(c, i, *f, lanes);
    }
}

void call_builtin(context& c, const instruction& i) { builtins()[static_cast<std::size_t>(i.immediate)].run(c, i); }

/// A place in the caller's frame, kept as an operand's offset.
operand frame_place(binding& b, const ptx::operand& o)
{
    const auto s = b.names.find_symbol(o.name, 0);
    if (!s || !s->of_frame) { b.refuse("a call passes variables of .param space; " + o.name + " is none"); }
    operand place;
    place.offset = static_cast<std::uint32_t>(s->offset);
    return place;
}

void bind_call(binding& b)
{
    b.has("uni");
    b.out.kind = instruction_class::control;
    b.out.flow = true;
    unsigned at = 0;
    using form = ptx::operand_form;
    const bool has_results = b.n_operands() > 1 && b.syntax(0).form == form::list;
    if (has_results) {
        for (const ptx::operand& o : b.syntax(at).parts) { b.append(frame_place(b, o)); }
        ++at;
    }
    b.out.variant = static_cast<std::uint8_t>(b.args().size());
    const std::string& name = b.syntax(at++).name;
    if (at < b.n_operands() && b.syntax(at).form == form::list) {
        for (const ptx::operand& o : b.syntax(at).parts) { b.append(frame_place(b, o)); }
        ++at;
    }
    b.out.variant2 = static_cast<std::uint8_t>(b.args().size() - b.out.variant);
    if (const auto r = b.names.find_register(name)) {  // then the prototype follows, which says nothing new
        b.append(*r);
        b.out.execute = &call_indirect;
        return;
    }
    b.out.callee = b.names.find_function(name);
    if (b.out.callee != nullptr) {
        b.out.execute = &call_direct;
        return;
    }
    for (std::size_t k = 0; k < builtins().size(); ++k) {
        if (builtins()[k].name == name) {
            b.out.immediate = static_cast<std::int64_t>(k);
            b.out.execute = &call_builtin;
            return;
        }
    }
    b.refuse("call of " + name + ", which has no body and is not provided");
}

}  // namespace

extern const opcode_entry call_opcodes[] = {{"call", bind_call}, {{}, nullptr}};

}  // namespace emulator
