// How lanes come together in .sync instructions: since Volta each thread has a program counter of its own, and the
// member mask tells who takes part.
#include "../check/report.hpp"
#include "../schedule/progress.hpp"
#include "barriers.hpp"
#include "frames.hpp"

#include "../error.hpp"

namespace emulator {
namespace {

void check_members(const context& c, const instruction& i, unsigned lane, std::uint32_t members)
{
    if ((members >> lane & 1) == 0) {
        make_report(c, i, lane, rule::inactive_lane,
                    "the member mask leaves out the thread that executes the instruction");
    }
}

void check_ended(warp& w, unsigned lane)
{
    if ((w.wanted[lane] & w.started & ~w.alive) == 0) { return; }
    const context c = context_of(w, *w.frames[lane], 1u << lane);
    make_report(c, *w.pc[lane], lane, rule::inactive_lane, "the member mask names lanes whose threads have ended");
}

/// Whether these lanes all wait, in the same instruction and for each other.
bool all_there(const warp& w, std::uint32_t lanes, unsigned first)
{
    if ((lanes & ~w.at_sync) != 0) { return false; }
    bool same = true;
    for_lanes(lanes, [&](unsigned l) {
        same &= w.wanted[l] == w.wanted[first] && w.pc[l]->execute == w.pc[first]->execute &&
                w.pc[l]->variant == w.pc[first]->variant;
    });
    return same;
}

void release(warp& w, std::uint32_t lanes)
{
    const auto first = static_cast<unsigned>(std::countr_zero(lanes));
    const instruction& i = *w.pc[first];
    bool one_place = true;
    for_lanes(lanes, [&](unsigned l) { one_place &= w.pc[l] == &i; });
    if (one_place) { merge_frames(w, lanes); }
    // Where paths of a divergent branch each have the instruction, lanes take part from different places.
    for (std::uint32_t left = lanes; left != 0;) {
        const auto leader = static_cast<unsigned>(std::countr_zero(left));
        std::uint32_t here = 0;
        for_lanes(left, [&](unsigned l) {
            here |= std::uint32_t{w.pc[l] == w.pc[leader] && w.frames[l] == w.frames[leader]} << l;
        });
        if (here != lanes && i.kind != instruction_class::barrier) {
            throw unsupported("lanes of a warp meet in different instructions: " +
                              source_of(i, *w.frames[first]->code));
        }
        left &= ~here;
        if (left == 0) {
            context c = context_of(w, *w.frames[first], lanes);
            w.wanted_for[first](c, i);
        }
    }
    for_lanes(lanes, [&](unsigned l) { ++w.pc[l]; });
    w.at_sync &= ~lanes;
    note_progress();
}

}  // namespace

void gather(context& c, const instruction& i, unsigned mask_argument, gathered_body body)
{
    warp& w = *c.w;
    const auto* members = source<std::uint32_t>(c, i.args[mask_argument]);
    const std::uint32_t first = members[static_cast<unsigned>(std::countr_zero(c.mask))];
    bool uniform = true;
    for_lanes(c.mask, [&](unsigned l) { uniform &= members[l] == first; });
    if (uniform && (first & w.started) == c.mask && (first & w.alive) == c.mask) {
        body(c, i);
        return;
    }
    for_lanes(c.mask, [&](unsigned l) {
        check_members(c, i, l, members[l]);
        w.wanted[l] = members[l] | 1u << l;
        w.wanted_for[l] = body;
        w.pc[l] = &i;
    });
    w.at_sync |= c.mask;
    c.split = true;
    release_lanes_in_sync(w);
}

void release_lanes_in_sync(warp& w)
{
    for (std::uint32_t left = w.at_sync; left != 0;) {
        const auto first = static_cast<unsigned>(std::countr_zero(left));
        const std::uint32_t lanes = w.wanted[first] & w.alive;
        left &= ~(1u << first);
        if (all_there(w, lanes, first)) {
            check_ended(w, first);
            release(w, lanes);
            left &= ~lanes;
        }
    }
}

}  // namespace emulator
