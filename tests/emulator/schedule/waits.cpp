// The text of a deadlock's report.
#include "../check/report.hpp"
#include "engine.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace emulator {
namespace {

struct wait_place {
    std::string text;
    unsigned threads = 0;
    std::string example;
};

const instruction& waiting_at(const warp& w, unsigned lane)
{
    // A lane at a barrier has its pc behind it.
    return (w.at_barrier >> lane & 1) != 0 ? *(w.pc[lane] - 1) : *w.pc[lane];
}

void describe(const launch& k, std::string& text)
{
    std::map<std::pair<const instruction*, int>, wait_place> places;
    for (const auto& b : k.resident) {
        for (const warp& w : b->warps) {
            for (unsigned lane = 0; lane < n_lanes; ++lane) {
                if ((w.alive >> lane & 1) == 0) { continue; }
                const int how = (w.at_barrier >> lane & 1) != 0 ? 0 : (w.at_sync >> lane & 1) != 0 ? 1 : 2;
                const instruction& i = waiting_at(w, lane);
                wait_place& p = places[{&i, how}];
                if (p.threads++ == 0) {
                    p.text = how == 0   ? "wait at barrier " + std::to_string(w.barrier[lane])
                             : how == 1 ? "wait for other lanes of their warp"
                                        : "spin";
                    p.example = where(*b, w, i, lane);
                }
            }
        }
    }
    for (const auto& [key, p] : places) {
        text += "\n    " + std::to_string(p.threads) + " threads " + p.text + ", such as " + p.example;
    }
    if (const std::uint64_t waiting = k.n_blocks() - k.next_block; waiting != 0) {
        text += "\n    " + std::to_string(waiting) + " of its " + std::to_string(k.n_blocks()) +
                " blocks wait for room on the device, which " + std::to_string(k.resident.size()) +
                " blocks of it fill";
    }
}

}  // namespace

std::string describe_waits(const std::vector<std::shared_ptr<operation>>& kernels,
                           const std::vector<std::shared_ptr<operation>>& others)
{
    std::string text = "no thread can ever go on";
    for (const auto& o : others) { text += "\n  " + o->what + " waits for " + o->waits_for(); }
    for (const auto& o : kernels) {
        text += "\n  kernel " + o->kernel->kernel->name + " on device " + std::to_string(o->kernel->device) + ":";
        describe(*o->kernel, text);
    }
    return text;
}

}  // namespace emulator
