// mbarrier objects in shared memory (PTX ISA, "mbarrier"). Their 64 bits are opaque to programs; here they hold, from
// the lowest bit, the expected arrivals, the pending arrivals (20 bits each), and the phase.
#include "../check/report.hpp"
#include "../check/tracker.hpp"
#include "../schedule/progress.hpp"
#include "../schedule/settings.hpp"
#include "async_copy.hpp"
#include "lanewise.hpp"
#include "modifiers.hpp"

#include <cstring>

namespace emulator {
namespace {

using u64 = std::uint64_t;

struct barrier_state {
    u64 expected, pending, phase;

    explicit barrier_state(u64 bits) : expected{bits & 0xfffff}, pending{bits >> 20 & 0xfffff}, phase{bits >> 40} {}
    u64 bits() const { return expected | pending << 20 | phase << 40; }
    void arrive(u64 n)
    {
        pending -= n;
        if (pending == 0) {
            ++phase;
            pending = expected;
        }
    }
};

/// Changes the object atomically and in order, as an acquire and release; f returns whether it changes it.
template <class F>
u64 update(context& c, const instruction& i, unsigned lane, std::uint64_t address, F&& f)
{
    const place p = locate(c, i, lane, address, 8, access_kind::atomic);
    if (settings().check_races) { before_atomic(c, i, lane, p, 8); }
    u64 old = 0;
    std::memcpy(&old, p.bytes, 8);
    barrier_state s(old);
    f(s);
    const u64 made = s.bits();
    std::memcpy(p.bytes, &made, 8);
    mark_written(c, lane, p, 8);
    made != old ? note_progress() : note_load(*c.w, i, address);
    if (settings().check_races) {
        after_atomic(c, i, lane, p, 8, reinterpret_cast<const std::uint8_t*>(&old), made != old);
    }
    return old;
}

// Arguments: state or absent, address, count or state or parity.
void initialise(context& c, const instruction& i)
{
    for_lanes(c.mask, [&](unsigned l) {
        update(c, i, l, lane_address(c, i, 1, l), [&](barrier_state& s) {
            const u64 n = read_bits(c, i.args[2], l);
            s = barrier_state(n | n << 20);
        });
    });
}

void invalidate(context&, const instruction&) {}

void arrive(context& c, const instruction& i)
{
    for_lanes(c.mask, [&](unsigned l) {
        const u64 n = read_bits(c, i.args[2], l);
        const u64 old = update(c, i, l, lane_address(c, i, 1, l), [&](barrier_state& s) {
            if (n == 0 || n > s.pending) {
                make_report(c, i, l, rule::invalid, "more arrivals at an mbarrier than it expects");
                throw kernel_fault{719};
            }
            if (i.variant == 1) { --s.expected; }  // arrive_drop
            s.arrive(n);
        });
        write_bits(c, i.args[0], l, old);
    });
}

// variant: 1 for a parity, else a state that arrive returned.
void test_wait(context& c, const instruction& i)
{
    std::uint32_t done = 0;
    for_lanes(c.mask, [&](unsigned l) {
        const u64 old = update(c, i, l, lane_address(c, i, 1, l), [](barrier_state&) {});
        const u64 phase = barrier_state(old).phase;
        const u64 asked = read_bits(c, i.args[2], l);
        const bool over = i.variant == 1 ? (phase & 1) != (asked & 1) : phase != barrier_state(asked).phase;
        done |= std::uint32_t{over} << l;
    });
    write_predicate(c, i.args[0], done);
}

/// cp.async.mbarrier.arrive.noinc: when the lane's copies have landed it has arrived.
void arrive_with_copies(context& c, const instruction& i)
{
    land_copies(c, i, c.mask);
    for_lanes(c.mask, [&](unsigned l) {
        update(c, i, l, lane_address(c, i, 1, l), [&](barrier_state& s) {
            if (i.variant == 0) { ++s.pending; }
            s.arrive(1);
        });
    });
}

void begin(binding& b)
{
    if (!b.has("shared") && !b.has("shared::cta")) { b.refuse(".shared expected"); }
    if (!b.has("b64")) { b.refuse(".b64 expected"); }
    b.out.space = space::shared;
    b.out.kind = instruction_class::barrier;
    b.out.order = ordering::acquire_release;
    b.out.scope = scope::block;
}

void bind_mbarrier(binding& b)
{
    const int what = b.one_of({"init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait"});
    if (what < 0) { b.refuse("this action is not implemented"); }
    const bool parity = b.has("parity");
    // The order and scope that these have anyway.
    b.one_of({"release", "acquire"});
    b.has("cta");
    b.has("noComplete");
    begin(b);
    b.out.variant = static_cast<std::uint8_t>(what == 3 || parity ? 1 : 0);
    if (what < 2) {
        b.expect_operands(what == 0 ? 2 : 1);
        b.absent();
        b.address(b.syntax(0));
        if (what == 0) { b.source(1, type::u32); }
        b.out.execute = what == 0 ? &initialise : &invalidate;
        return;
    }
    if (what < 4) {
        b.expect_operands(2, 3);
        b.destination(0, type::b64);
        b.address(b.syntax(1));
        b.n_operands() == 3 ? b.source(2, type::u32) : b.append(b.names.constant(1, 4));
        b.out.execute = &arrive;
        return;
    }
    b.expect_operands(3, 4);  // a time hint may follow
    b.predicate_destination(b.syntax(0));
    b.address(b.syntax(1));
    b.source(2, parity ? type::u32 : type::b64);
    b.out.execute = &test_wait;
}

}  // namespace

void bind_copy_arrival(binding& b)
{
    if (!b.has("arrive")) { b.refuse("arrive expected"); }
    b.out.variant = b.has("noinc") ? 1 : 0;
    begin(b);
    b.expect_operands(1);
    b.absent();
    b.address(b.syntax(0));
    b.out.execute = &arrive_with_copies;
}

extern const opcode_entry mbarrier_opcodes[] = {{"mbarrier", bind_mbarrier}, {{}, nullptr}};

}  // namespace emulator
