// Control flow (PTX ISA, "Control Flow Instructions"), and instructions that only the scheduler notices.
#include "../check/report.hpp"
#include "frames.hpp"
#include "lanewise.hpp"
#include "wgmma.hpp"

#include <cstring>

namespace emulator {
namespace {

void bra(context& c, const instruction& i)
{
    if (c.mask == c.group) {
        c.jump = i.target;
        return;
    }
    for_lanes(c.mask, [&](unsigned l) { c.w->pc[l] = i.target; });
    c.split = true;
}

void bind_bra(binding& b)
{
    b.has("uni");
    b.expect_operands(1);
    b.out.kind = instruction_class::control;
    b.out.flow = true;
    b.out.execute = &bra;
    b.names.branch_to(b.out, b.syntax(0).name);
}

void brx(context& c, const instruction& i)
{
    const auto& table = c.f->code->tables.at(i.index);
    for_lanes(c.mask, [&](unsigned l) {
        const auto index = static_cast<std::uint32_t>(read_bits(c, i.args[0], l));
        if (index >= table.size()) {
            make_report(c, i, l, rule::invalid, "indexed branch beyond its targets");
            throw kernel_fault{718};  // cudaErrorInvalidPc
        }
        c.w->pc[l] = table[index];
    });
    c.split = true;
}

void bind_brx(binding& b)
{
    b.has("uni");
    if (!b.has("idx")) { b.refuse(".idx expected"); }
    b.expect_operands(2);
    b.source(0, type::u32);
    b.out.kind = instruction_class::control;
    b.out.flow = true;
    b.out.variant = 1;  // the decoder then collects targets in a table
    b.out.execute = &brx;
    for (const std::string& label : b.names.branch_targets(b.syntax(1).name)) { b.names.branch_to(b.out, label); }
}

void exit_thread(context& c, const instruction& i)
{
    check_products_at_end(c, i);
    c.split = true;
    exit_lanes(*c.w, c.mask);
}

/// Back to the caller, with results; of a kernel, the end of the thread.
void ret(context& c, const instruction& i)
{
    frame& f = *c.f;
    if (f.caller == nullptr) { return exit_thread(c, i); }
    c.split = true;
    const operand* results = f.call->args;
    for_lanes(c.mask, [&](unsigned l) {
        // The call's first `variant` arguments are where its results go, as offsets in the caller's parameters.
        for (unsigned k = 0; k < f.call->variant; ++k) {
            const parameter_slot& r = f.code->results[k];
            std::memcpy(f.caller->parameter(l, results[k].offset), f.parameter(l, r.offset), r.size);
        }
        c.w->pc[l] = f.return_to;
        c.w->frames[l] = f.caller;
    });
    leave(*c.w, f, c.mask);
}

template <void (*Execute)(context&, const instruction&)>
void bind_end(binding& b)
{
    b.has("uni");
    b.expect_operands(0);
    b.out.kind = instruction_class::control;
    b.out.flow = true;
    b.out.execute = Execute;
}

void trap(context& c, const instruction& i)
{
    make_report(c, i, static_cast<unsigned>(std::countr_zero(c.mask)), rule::trap, "trap");
    throw kernel_fault{719};  // cudaErrorLaunchFailure
}

// Sleeping is giving way: how long it takes is not specified but for an upper bound.
void nanosleep(context& c, const instruction&) { c.yield = true; }

void bind_nanosleep(binding& b)
{
    b.take_type({type::u32});
    b.expect_operands(1);
    b.source(0, type::u32);
    b.out.kind = instruction_class::other;
    b.out.flow = true;
    b.out.execute = &nanosleep;
}

void nothing(context&, const instruction&) {}

void bind_pmevent(binding& b)
{
    b.has("mask");
    b.expect_operands(1);
    b.out.execute = &nothing;
}

// Launch order between dependent grids: the scheduler starts a grid only after those before it have ended.
void bind_griddepcontrol(binding& b)
{
    if (b.one_of({"launch_dependents", "wait"}) < 0) { b.refuse("an action expected"); }
    b.expect_operands(0);
    b.out.execute = &nothing;
}

}  // namespace

extern const opcode_entry control_opcodes[] = {
    {"bra", bind_bra},
    {"brx", bind_brx},
    {"ret", bind_end<ret>},
    {"exit", bind_end<exit_thread>},
    {"trap", bind_end<trap>},
    {"nanosleep", bind_nanosleep},
    {"pmevent", bind_pmevent},
    {"griddepcontrol", bind_griddepcontrol},
    {{}, nullptr},
};

}  // namespace emulator
