#include "run.hpp"

#include "../schedule/settings.hpp"
#include "frames.hpp"
#include "wgmma.hpp"

namespace emulator {
namespace {

/// Lanes that are at one instruction in one frame, and where other lanes of the frame may be met.
struct group {
    std::uint32_t lanes;
    std::uint32_t others;
    const instruction* pc;
    const instruction* meet;  ///< the first instruction after pc where other lanes of the frame are
};

bool goes_before(const warp& w, unsigned a, unsigned b)
{
    const unsigned da = w.frames[a]->depth;
    const unsigned db = w.frames[b]->depth;
    return da != db ? da > db : w.pc[a] < w.pc[b];
}

// Lanes that are behind go first, so that those ahead are met where paths join. But all must go on at some time, as a
// lane that spins may wait for one that is ahead: now and then a random lane leads.
group choose(const warp& w, random_source& random)
{
    const std::uint32_t runnable = w.runnable();
    unsigned leader = static_cast<unsigned>(std::countr_zero(runnable));
    std::uint32_t same = 0;
    for_lanes(runnable, [&](unsigned l) {
        same |= std::uint32_t{w.pc[l] == w.pc[leader] && w.frames[l] == w.frames[leader]} << l;
    });
    if (same == runnable) { return {same, 0, w.pc[leader], nullptr}; }
    if (random.one_in(8)) {
        for (std::uint32_t skip = random.below(static_cast<std::uint32_t>(std::popcount(runnable))), left = runnable;;
             left &= left - 1) {
            leader = static_cast<unsigned>(std::countr_zero(left));
            if (skip-- == 0) { break; }
        }
    } else {
        for_lanes(runnable, [&](unsigned l) { leader = goes_before(w, l, leader) ? l : leader; });
    }
    group g{0, 0, w.pc[leader], nullptr};
    for_lanes(runnable, [&](unsigned l) {
        if (w.frames[l] != w.frames[leader]) { return; }
        if (w.pc[l] == g.pc) {
            g.lanes |= 1u << l;
        } else if (w.pc[l] > g.pc && (g.meet == nullptr || w.pc[l] < g.meet)) {
            g.meet = w.pc[l];
        }
    });
    g.others = runnable & ~g.lanes;
    return g;
}

void store_pc(warp& w, std::uint32_t lanes, const instruction* pc)
{
    for_lanes(lanes, [&](unsigned l) { w.pc[l] = pc; });
}

/// Runs a group until it parts, meets others, or the budget is used up.
unsigned run_group(warp& w, const group& g, unsigned budget, bool& yield)
{
    frame& f = *w.frames[static_cast<unsigned>(std::countr_zero(g.lanes))];
    context c = context_of(w, f, g.lanes);
    execution_count* counts = f.counts;
    const auto lanes = static_cast<std::uint64_t>(std::popcount(g.lanes));
    const instruction* pc = g.pc;
    const unsigned given = budget;
    while (budget > 0) {
        const instruction& i = *pc;
        --budget;
        std::uint32_t mask = g.lanes;
        ++counts[i.index].warps;
        if (i.guard == instruction::no_guard) {
            counts[i.index].lanes += lanes;
        } else {
            const std::uint32_t bits = *reinterpret_cast<const std::uint32_t*>(f.registers + i.guard);
            mask &= i.guard_negated ? ~bits : bits;
            counts[i.index].lanes += static_cast<std::uint64_t>(std::popcount(mask));
        }
        if (mask == 0) {
            ++pc;
        } else if (!i.flow) {
            c.mask = mask;
            if (!w.products.pending.empty()) [[unlikely]] { check_accumulators(c, i); }
            i.execute(c, i);
            ++pc;
        } else {
            c.mask = mask;
            c.jump = nullptr;
            c.split = false;
            store_pc(w, g.lanes, pc + 1);  // for lanes that the instruction leaves alone, or that wait in it
            i.execute(c, i);
            yield |= c.yield;
            if (c.split) { return given - budget; }
            if (c.jump != nullptr) {
                pc = c.jump;
                if (g.others != 0 || yield) { break; }
                continue;
            }
            ++pc;
            if (yield) { break; }
        }
        if (pc == g.meet) { break; }
    }
    store_pc(w, g.lanes, pc);
    return given - budget;
}

}  // namespace

unsigned run_warp(warp& w, unsigned budget, random_source& random)
{
    unsigned used = 0;
    bool yield = false;
    while (used < budget && w.runnable() != 0 && !yield) {
        used += run_group(w, choose(w, random), budget - used, yield);
    }
    w.executed += used;
    return used;
}

}  // namespace emulator
