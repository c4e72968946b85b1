// cp.async (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous Copy"): what is copied lands in shared
// memory when the thread waits for it, and no earlier.
#include "async_copy.hpp"

#include "../check/tracker.hpp"
#include "../counters/requests.hpp"
#include "../schedule/progress.hpp"
#include "../schedule/settings.hpp"
#include "lanewise.hpp"
#include "modifiers.hpp"

#include <algorithm>
#include <cstring>

namespace emulator {
namespace {

// Arguments: address in shared memory, address in global memory, bytes that are read (the rest are zeros).
// immediate is the offset of the latter; variant2: size.
void copy(context& c, const instruction& i)
{
    const unsigned size = i.variant2;
    instruction from = i;  // the same statement, as a load from global memory
    from.space = space::global;
    request r;
    r.lanes = c.mask;
    r.bytes = size;
    for_lanes(c.mask, [&](unsigned l) { r.address[l] = lane_address(c, i, 1, l); });
    if (settings().count) { count_request(c, from, r); }
    for_lanes(c.mask, [&](unsigned l) {
        pending_copy p;
        p.size = size;
        p.to = (read_bits(c, i.args[0], l) + i.variant) & 0xffff'ffff;
        p.group = c.w->copies[l].next_group;
        const auto n = static_cast<unsigned>(read_bits(c, i.args[2], l));
        if (n > size) {
            make_report(c, i, l, rule::invalid, "cp.async reads more bytes than it copies");
            throw kernel_fault{719};
        }
        instruction to = i;
        to.space = space::shared;
        locate(c, to, l, p.to, size, access_kind::store);
        if (n > 0) {
            const place where = locate(c, from, l, r.address[l], size, access_kind::load);
            check_written(c, from, l, where, n);
            std::memcpy(p.bytes.data(), where.bytes, n);
            if (settings().check_races && n == size) { ordered_load(c, i, l, where, 4, size / 4, p.bytes.data()); }
        }
        c.w->copies[l].pending.push_back(p);
    });
}

void land(context& c, const instruction& i, unsigned lane, const pending_copy& p)
{
    instruction to = i;
    to.space = space::shared;
    to.order = ordering::weak;
    const place where = locate(c, to, lane, p.to, p.size, access_kind::store);
    if (settings().check_races) {
        ordered_store(c, i, lane, where, 4, p.size / 4, p.bytes.data());
    } else {
        std::memcpy(where.bytes, p.bytes.data(), p.size);
    }
    mark_written(c, lane, where, p.size);
    note_progress();
}

void commit(context& c, const instruction&)
{
    for_lanes(c.mask, [&](unsigned l) { ++c.w->copies[l].next_group; });
}

/// All but the newest `immediate` groups have landed afterwards.
void wait_group(context& c, const instruction& i)
{
    for_lanes(c.mask, [&](unsigned l) {
        lane_copies& copies = c.w->copies[l];
        const auto done = [&](const pending_copy& p) {
            return p.group + static_cast<unsigned>(i.immediate) < copies.next_group;
        };
        const auto kept = std::find_if_not(copies.pending.begin(), copies.pending.end(), done);
        std::for_each(copies.pending.begin(), kept, [&](const pending_copy& p) { land(c, i, l, p); });
        copies.pending.erase(copies.pending.begin(), kept);
    });
}

void wait_all(context& c, const instruction& i) { land_copies(c, i, c.mask); }

void bind_copy(binding& b)
{
    const int cache = b.one_of({"ca", "cg"});
    if (cache < 0) { b.refuse("ca or cg expected"); }
    if (!b.has("shared") && !b.has("shared::cta")) { b.refuse(".shared expected"); }
    if (!b.has("global")) { b.refuse(".global expected"); }
    for (const auto* hint : {"L2::64B", "L2::128B", "L2::256B"}) { b.has(hint); }
    b.expect_operands(3, 4);
    const std::int64_t size = b.integer(2);
    if (size != 16 && (cache == 1 || (size != 4 && size != 8))) { b.refuse("4, 8 or 16 bytes expected"); }
    b.out.kind = instruction_class::memory;
    b.out.variant2 = static_cast<std::uint8_t>(size);
    b.address(b.syntax(0));
    if (b.out.immediate < 0 || b.out.immediate > 255) {
        if (b.out.immediate != 0) { b.refuse("an offset of this size in shared memory is not implemented"); }
    }
    b.out.variant = static_cast<std::uint8_t>(b.out.immediate);
    b.address(b.syntax(1));
    if (b.n_operands() == 4) {
        b.source(3, type::u32);
    } else {
        b.append(b.names.constant(static_cast<std::uint64_t>(size), 4));
    }
    b.out.execute = &copy;
}

void bind_cp(binding& b)
{
    if (!b.has("async")) { b.refuse(".async expected"); }
    b.out.kind = instruction_class::memory;
    if (b.has("commit_group")) {
        b.expect_operands(0);
        b.out.execute = &commit;
    } else if (b.has("wait_group")) {
        b.expect_operands(1);
        b.out.immediate = b.integer(0);
        b.out.execute = &wait_group;
    } else if (b.has("wait_all")) {
        b.expect_operands(0);
        b.out.execute = &wait_all;
    } else if (b.has("mbarrier")) {
        bind_copy_arrival(b);
    } else {
        bind_copy(b);
    }
}

}  // namespace

void land_copies(context& c, const instruction& i, std::uint32_t lanes)
{
    for_lanes(lanes, [&](unsigned l) {
        lane_copies& copies = c.w->copies[l];
        for (const pending_copy& p : copies.pending) { land(c, i, l, p); }
        copies.pending.clear();
    });
}

extern const opcode_entry copy_opcodes[] = {{"cp", bind_cp}, {{}, nullptr}};

}  // namespace emulator
