// bar and barrier (PTX ISA, "Parallel Synchronization and Communication Instructions").
#include "barriers.hpp"

#include "../check/order.hpp"
#include "../check/report.hpp"
#include "../counters/launch_counters.hpp"
#include "../schedule/progress.hpp"
#include "frames.hpp"
#include "lanewise.hpp"
#include "modifiers.hpp"

namespace emulator {
namespace {

enum action : std::uint8_t { sync, arrive, reduce_and, reduce_or, reduce_popc };

/// Threads that count as arrived. Lanes that a block's last warp does not have arrive with the others of it.
std::uint32_t arrived(const block& b, const block_barrier& bar)
{
    std::uint32_t n = 0;
    for (std::size_t k = 0; k < b.warps.size(); ++k) {
        n += static_cast<std::uint32_t>(std::popcount(bar.lanes[k]));
        if (bar.lanes[k] == b.warps[k].started) {
            n += n_lanes - static_cast<std::uint32_t>(std::popcount(b.warps[k].started));
        }
    }
    return n;
}

bool complete(const block& b, const block_barrier& bar)
{
    if (bar.arrived == 0) { return false; }
    if (bar.expected != 0) { return arrived(b, bar) >= bar.expected; }
    for (std::size_t k = 0; k < b.warps.size(); ++k) {
        if ((b.warps[k].alive & ~bar.lanes[k]) != 0) { return false; }
    }
    return true;
}

// An aligned barrier must be the same instruction for all threads of a warp, and without a count for all of the block.
void check_divergence(block& b, const block_barrier& bar)
{
    for (warp& w : b.warps) {
        const std::uint32_t waiting = bar.lanes[w.number] & w.at_barrier;
        if (waiting == 0) { continue; }
        const auto first = static_cast<unsigned>(std::countr_zero(waiting));
        const instruction& i = *(w.pc[first] - 1);
        if (i.variant2 == 0) { continue; }
        std::uint32_t elsewhere = 0;
        for_lanes(waiting, [&](unsigned l) { elsewhere |= std::uint32_t{w.pc[l] != w.pc[first]} << l; });
        const context c = context_of(w, *w.frames[first], 1u << first);
        if (elsewhere != 0) {
            const auto other = static_cast<unsigned>(std::countr_zero(elsewhere));
            make_report(c, i, first, rule::barrier_divergence,
                        "threads of a warp wait at different barrier instructions; another is " +
                            source_of(*(w.pc[other] - 1), *w.frames[other]->code));
        }
        if (bar.expected == 0 && b.somebody_exited) {
            make_report(c, i, first, rule::barrier_divergence,
                        "a barrier of the whole block after some of its threads have ended");
        }
    }
}

void give_reductions(block& b, const block_barrier& bar, unsigned number)
{
    for (warp& w : b.warps) {
        for_lanes(w.at_barrier, [&](unsigned l) {
            if (w.barrier[l] != number) { return; }
            const instruction& i = *(w.pc[l] - 1);
            context c = context_of(w, *w.frames[l], 1u << l);
            if (i.variant == reduce_popc) { write_bits(c, i.args[0], l, bar.true_count); }
            if (i.variant == reduce_and) { write_predicate(c, i.args[0], bar.all_true ? ~0u : 0); }
            if (i.variant == reduce_or) { write_predicate(c, i.args[0], bar.any_true ? ~0u : 0); }
        });
    }
}

void finish(block& b, unsigned number)
{
    block_barrier& bar = b.barriers[number];
    check_divergence(b, bar);
    give_reductions(b, bar, number);
    std::vector<std::uint32_t> waited(b.warps.size());
    for (warp& w : b.warps) {
        for_lanes(w.at_barrier, [&](unsigned l) { waited[w.number] |= std::uint32_t{w.barrier[l] == number} << l; });
        w.at_barrier &= ~waited[w.number];
    }
    order_barrier(b, number, waited);
    bar = block_barrier{};
    bar.lanes.assign(b.warps.size(), 0);
    ++b.owner->counters->barriers;
    note_progress();
}

void bar(context& c, const instruction& i)
{
    block& b = *c.b;
    warp& w = *c.w;
    c.split = true;
    for_lanes(c.mask, [&](unsigned l) {
        const auto number = static_cast<unsigned>(read_bits(c, i.args[1], l));
        const auto count = static_cast<std::uint32_t>(read_bits(c, i.args[2], l));
        if (number >= b.barriers.size() || count % n_lanes != 0) {
            make_report(c, i, l, rule::invalid,
                        "barrier " + std::to_string(number) + " of " + std::to_string(count) + " threads");
            throw kernel_fault{719};
        }
        block_barrier& at = b.barriers[number];
        if ((at.lanes[w.number] >> l & 1) != 0) {
            make_report(c, i, l, rule::barrier_divergence,
                        "the thread arrives twice at barrier " + std::to_string(number));
        }
        if (at.arrived != 0 && at.expected != count) {
            make_report(c, i, l, rule::barrier_divergence,
                        "barrier " + std::to_string(number) + " is used with two numbers of threads");
        }
        at.expected = count;
        ++at.arrived;
        order_arrive(b, number, w.number * n_lanes + l, i.variant != arrive);
        at.lanes[w.number] |= 1u << l;
        if (i.variant >= reduce_and) {
            const bool p = (read_predicate(c, i.args[3]) >> l & 1) != 0;
            at.true_count += p ? 1 : 0;
            at.all_true &= p;
            at.any_true |= p;
        }
        if (i.variant != arrive) {
            w.at_barrier |= 1u << l;
            w.barrier[l] = static_cast<std::uint8_t>(number);
        }
    });
    complete_barriers(b);
}

void bind_bar_warp(binding& b);

/// Arguments: destination or absent, number, count (0: all), predicate.
void bind_bar(binding& b)
{
    if (b.has("warp")) { return bind_bar_warp(b); }
    b.has("cta");
    const bool aligned = b.statement().opcode == "bar" || b.has("aligned");
    const int what = b.one_of({"sync", "arrive", "red"});
    if (what < 0) { b.refuse("one of sync, arrive, red expected"); }
    b.out.variant = static_cast<std::uint8_t>(what);
    b.out.variant2 = aligned ? 1 : 0;
    b.out.kind = instruction_class::barrier;
    b.out.flow = true;
    b.out.execute = &bar;
    unsigned at = 0;
    if (what == 2) {
        const int how = b.one_of({"and", "or", "popc"});
        const type t = b.take_type({type::u32, type::pred});
        if (how < 0 || (t == type::u32) != (how == 2)) { b.refuse("a reduction expected"); }
        b.out.variant = static_cast<std::uint8_t>(reduce_and + how);
        how == 2 ? b.destination(0, type::u32) : b.predicate_destination(b.syntax(0));
        ++at;
    } else {
        b.absent();
    }
    const unsigned trailing = what == 2 ? 1 : 0;
    b.expect_operands(at + 1 + trailing, at + 2 + trailing);
    b.source(at, type::u32);
    const bool counted = b.n_operands() == at + 2 + trailing;
    if (counted) {
        b.source(at + 1, type::u32);
    } else {
        b.append(b.names.constant(0, 4));
    }
    if (trailing != 0) { b.predicate(b.syntax(b.n_operands() - 1)); }
}

void warp_barrier(context& c, const instruction&) { order_warp(*c.w, c.mask); }

void bar_warp(context& c, const instruction& i) { gather(c, i, 0, &warp_barrier); }

void bind_bar_warp(binding& b)
{
    if (!b.has("sync")) { b.refuse("sync expected"); }
    b.expect_operands(1);
    b.source(0, type::b32);
    b.out.kind = instruction_class::barrier;
    b.out.flow = true;
    b.out.execute = &bar_warp;
}

void fence(context& c, const instruction& i) { order_fence(c, i); }

void pass(context&, const instruction&) {}
void proxy_fence(context& c, const instruction&)
{
    auto& fences = c.b->proxy_fences;
    if (fences.empty()) { fences.resize(c.b->n_threads); }
    const std::uint64_t now = ++c.b->proxy_time;
    for_lanes(c.mask, [&](unsigned l) { fences[c.w->number * n_lanes + l] = now; });
}

void bind_fence(binding& b)
{
    b.out.kind = instruction_class::barrier;
    b.expect_operands(0);
    b.out.execute = &fence;
    if (b.statement().opcode == "membar") {
        const int level = b.one_of({"cta", "gl", "sys"});
        if (level < 0) { b.refuse("a level expected"); }
        b.out.order = ordering::sequential;
        b.out.scope = level == 0 ? scope::block : level == 1 ? scope::device : scope::system;
        return;
    }
    if (b.has("proxy")) {
        if (b.has("async")) {
            b.has("shared::cta");  // of other memory no instruction here reads anything by the async proxy
            b.out.execute = &proxy_fence;
        } else if (b.has("alias")) {
            b.out.execute = &pass;  // addresses of the same memory are told apart nowhere here
        } else {
            b.refuse("a fence of this proxy is not implemented");
        }
        return;
    }
    take_order(b, b.out);
    if (b.out.order == ordering::weak && b.out.scope != scope::none) { b.out.order = ordering::acquire_release; }
    if (b.out.order < ordering::acquire) { b.refuse("an order expected"); }
}

}  // namespace

void complete_barriers(block& b)
{
    for (unsigned number = 0; number < b.barriers.size(); ++number) {
        if (complete(b, b.barriers[number])) { finish(b, number); }
    }
}

extern const opcode_entry barrier_opcodes[] = {
    {"bar", bind_bar}, {"barrier", bind_bar}, {"fence", bind_fence}, {"membar", bind_fence}, {{}, nullptr},
};

}  // namespace emulator
