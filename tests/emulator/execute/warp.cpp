// shfl, vote, match, redux, activemask, elect (PTX ISA, "Parallel Synchronization and Communication Instructions").
#include "../check/report.hpp"
#include "barriers.hpp"
#include "lanewise.hpp"

#include <algorithm>

namespace emulator {
namespace {

using u32 = std::uint32_t;

enum shuffle_mode : std::uint8_t { up, down, bfly, idx };

// Arguments: destination, predicate, value, b, c, member mask.
template <shuffle_mode Mode>
void shuffle(context& c, const instruction& i)
{
    const auto* value = source<u32>(c, i.args[2]);
    const auto* step = source<u32>(c, i.args[3]);
    const auto* bounds = source<u32>(c, i.args[4]);
    u32 taken[n_lanes];
    u32 inside = 0;
    for_lanes(c.mask, [&](unsigned l) {
        const u32 clamp = bounds[l] & 31;
        const u32 segment = bounds[l] >> 8 & 31;
        const u32 b = step[l] & 31;
        const u32 most = (l & segment) | (clamp & ~segment);
        const u32 least = l & segment;
        unsigned from = l;
        bool ok = false;
        if constexpr (Mode == up) { ok = static_cast<int>(l - b) >= static_cast<int>(most), from = l - b; }
        if constexpr (Mode == down) { ok = l + b <= most, from = l + b; }
        if constexpr (Mode == bfly) { ok = (l ^ b) <= most, from = l ^ b; }
        if constexpr (Mode == idx) { from = least | (b & ~segment), ok = from <= most; }
        if (!ok) { from = l; }
        if ((c.mask >> from & 1) == 0) {
            make_report(c, i, l, rule::inactive_lane,
                        "a shuffle reads lane " + std::to_string(from) + ", which does not take part");
        }
        taken[l] = value[from];
        inside |= u32{ok} << l;
    });
    for_lanes(c.mask, [&](unsigned l) { write_bits(c, i.args[0], l, taken[l]); });
    write_predicate(c, i.args[1], inside);
}

template <shuffle_mode Mode>
void shfl(context& c, const instruction& i)
{
    gather(c, i, 5, &shuffle<Mode>);
}

void begin_warp_operation(binding& b)
{
    b.out.kind = instruction_class::warp;
    b.out.flow = true;
}

void bind_shfl(binding& b)
{
    if (!b.has("sync")) { b.refuse(".sync expected"); }
    const int mode = b.one_of({"up", "down", "bfly", "idx"});
    if (mode < 0) { b.refuse("a mode expected"); }
    b.take_type({type::b32});
    b.expect_operands(5);
    begin_warp_operation(b);
    if (b.syntax(0).form == ptx::operand_form::pair) {
        b.destination(b.syntax(0).parts[0], type::b32);
        b.predicate_destination(b.syntax(0).parts[1]);
    } else {
        b.destination(0, type::b32);
        b.absent();
    }
    for (unsigned k = 1; k < 5; ++k) { b.source(k, type::b32); }
    b.out.variant = static_cast<std::uint8_t>(mode);
    b.out.execute = mode == up ? &shfl<up> : mode == down ? &shfl<down> : mode == bfly ? &shfl<bfly> : &shfl<idx>;
}

enum vote_mode : std::uint8_t { vote_all, vote_any, vote_uni, vote_ballot };

void count_votes(context& c, const instruction& i)
{
    const u32 yes = read_predicate(c, i.args[1]) & c.mask;
    switch (i.variant) {
    case vote_all: return write_predicate(c, i.args[0], yes == c.mask ? ~0u : 0);
    case vote_any: return write_predicate(c, i.args[0], yes != 0 ? ~0u : 0);
    case vote_uni: return write_predicate(c, i.args[0], yes == c.mask || yes == 0 ? ~0u : 0);
    default: for_lanes(c.mask, [&](unsigned l) { write_bits(c, i.args[0], l, yes); });
    }
}

void vote(context& c, const instruction& i) { gather(c, i, 2, &count_votes); }

void bind_vote(binding& b)
{
    if (!b.has("sync")) { b.refuse(".sync expected"); }
    const int mode = b.one_of({"all", "any", "uni", "ballot"});
    if (mode < 0) { b.refuse("a mode expected"); }
    const type t = b.take_type({type::pred, type::b32});
    if ((t == type::b32) != (mode == vote_ballot)) { b.refuse("the type does not go with the mode"); }
    b.expect_operands(3);
    begin_warp_operation(b);
    t == type::b32 ? b.destination(0, t) : b.predicate_destination(b.syntax(0));
    b.predicate(b.syntax(1));
    b.source(2, type::b32);
    b.out.variant = static_cast<std::uint8_t>(mode);
    b.out.execute = &vote;
}

// Arguments: destination, predicate, value, member mask.
void compare_lanes(context& c, const instruction& i)
{
    u32 same_as[n_lanes];
    for_lanes(c.mask, [&](unsigned l) {
        same_as[l] = 0;
        for_lanes(c.mask, [&](unsigned m) {
            same_as[l] |= u32{read_bits(c, i.args[2], l) == read_bits(c, i.args[2], m)} << m;
        });
    });
    const bool all = same_as[static_cast<unsigned>(std::countr_zero(c.mask))] == c.mask;
    const bool any_mode = i.variant == 0;
    for_lanes(c.mask, [&](unsigned l) { write_bits(c, i.args[0], l, any_mode ? same_as[l] : all ? c.mask : 0); });
    write_predicate(c, i.args[1], all ? ~0u : 0);
}

void match(context& c, const instruction& i) { gather(c, i, 3, &compare_lanes); }

void bind_match(binding& b)
{
    const int mode = b.one_of({"any", "all"});
    if (mode < 0 || !b.has("sync")) { b.refuse("any or all, and .sync expected"); }
    const type t = b.take_type({type::b32, type::b64});
    b.expect_operands(3);
    begin_warp_operation(b);
    if (b.syntax(0).form == ptx::operand_form::pair) {
        b.destination(b.syntax(0).parts[0], type::b32);
        b.predicate_destination(b.syntax(0).parts[1]);
    } else {
        b.destination(0, type::b32);
        b.absent();
    }
    b.source(1, t);
    b.source(2, type::b32);
    b.out.variant = static_cast<std::uint8_t>(mode);
    b.out.execute = &match;
}

enum reduction : std::uint8_t { red_add, red_min, red_max, red_and, red_or, red_xor };

template <class T>
void reduce_lanes(context& c, const instruction& i)
{
    const auto* a = source<u32>(c, i.args[1]);
    T r = static_cast<T>(a[static_cast<unsigned>(std::countr_zero(c.mask))]);
    for_lanes(c.mask & (c.mask - 1), [&](unsigned l) {
        const auto x = static_cast<T>(a[l]);
        switch (i.variant) {
        case red_add: r = static_cast<T>(static_cast<u32>(r) + static_cast<u32>(x)); break;
        case red_min: r = std::min(r, x); break;
        case red_max: r = std::max(r, x); break;
        case red_and: r &= x; break;
        case red_or: r |= x; break;
        default: r ^= x; break;
        }
    });
    for_lanes(c.mask, [&](unsigned l) { write_bits(c, i.args[0], l, static_cast<u32>(r)); });
}

template <class T>
void redux(context& c, const instruction& i)
{
    gather(c, i, 2, &reduce_lanes<T>);
}

void bind_redux(binding& b)
{
    const int how = b.one_of({"add", "min", "max", "and", "or", "xor"});
    if (how < 0 || !b.has("sync")) { b.refuse("an operation and .sync expected"); }
    const type t = b.take_type({type::b32, type::u32, type::s32});
    b.expect_operands(3);
    begin_warp_operation(b);
    b.destination(0, t);
    b.source(1, t);
    b.source(2, type::b32);
    b.out.variant = static_cast<std::uint8_t>(how);
    b.out.execute = t == type::s32 ? &redux<std::int32_t> : &redux<u32>;
}

void activemask(context& c, const instruction& i)
{
    for_lanes(c.mask, [&](unsigned l) { write_bits(c, i.args[0], l, c.mask); });
}

void bind_activemask(binding& b)
{
    b.take_type({type::b32});
    b.expect_operands(1);
    b.destination(0, type::b32);
    b.out.kind = instruction_class::warp;
    b.out.execute = &activemask;
}

// The lowest lane is elected. Arguments: destination, predicate, member mask.
void choose_leader(context& c, const instruction& i)
{
    const auto leader = static_cast<unsigned>(std::countr_zero(c.mask));
    for_lanes(c.mask, [&](unsigned l) { write_bits(c, i.args[0], l, leader); });
    write_predicate(c, i.args[1], 1u << leader);
}

void elect(context& c, const instruction& i) { gather(c, i, 2, &choose_leader); }

void bind_elect(binding& b)
{
    if (!b.has("sync")) { b.refuse(".sync expected"); }
    b.expect_operands(2);
    begin_warp_operation(b);
    if (b.syntax(0).form != ptx::operand_form::pair) { b.refuse("d|p expected"); }
    b.destination(b.syntax(0).parts[0], type::b32);
    b.predicate_destination(b.syntax(0).parts[1]);
    b.source(1, type::b32);
    b.out.execute = &elect;
}

}  // namespace

extern const opcode_entry warp_opcodes[] = {
    {"shfl", bind_shfl},
    {"vote", bind_vote},
    {"match", bind_match},
    {"redux", bind_redux},
    {"activemask", bind_activemask},
    {"elect", bind_elect},
    {{}, nullptr},
};

}  // namespace emulator
