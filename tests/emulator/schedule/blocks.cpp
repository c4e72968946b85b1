// The blocks of kernels in flight: where they are placed, and which of them advances next, and how far.
#include "../check/order.hpp"
#include "../check/shadow.hpp"
#include "../check/thread_order.hpp"
#include "../counters/launch_counters.hpp"
#include "../execute/frames.hpp"
#include "../execute/run.hpp"
#include "engine.hpp"
#include "progress.hpp"
#include "time.hpp"

#include <algorithm>

namespace emulator {

residency& engine::device_residency(int device)
{
    while (residencies_.size() <= static_cast<std::size_t>(device)) {
        residencies_.push_back(std::make_unique<residency>());
    }
    return *residencies_[static_cast<std::size_t>(device)];
}

void engine::place_blocks()
{
    for (const auto& o : running_) {
        launch& k = *o->kernel;
        if (k.error != 0 || k.next_block == k.n_blocks()) { continue; }
        const block_needs needs = needs_of(k);
        while (k.next_block < k.n_blocks()) {
            const int sm = device_residency(k.device).place(needs);
            if (sm < 0) { break; }
            auto b = std::make_unique<block>();
            b->owner = &k;
            b->number = k.next_block++;
            b->index = {static_cast<std::uint32_t>(b->number % k.grid.x),
                        static_cast<std::uint32_t>(b->number / k.grid.x % k.grid.y),
                        static_cast<std::uint32_t>(b->number / k.grid.x / k.grid.y)};
            b->sm = static_cast<unsigned>(sm);
            const std::uint32_t dynamic = (k.kernel->shared_bytes + 15) / 16 * 16 + k.dynamic_shared;
            b->shared.resize(k.dynamic_shared != 0 ? dynamic : k.kernel->shared_bytes);
            poison(b->shared.data(), b->shared.size());
            b->shared_written = written_map(b->shared.size());
            start_threads(*b);
            order_block_begin(*o, *b);
            k.resident.push_back(std::move(b));
            note_progress();
        }
    }
}

bool engine::run_some_block()
{
    block* b = choose_block();
    if (b == nullptr) { return false; }
    run_block(*b);
    return true;
}

namespace {

bool runnable(const block& b)
{
    return std::any_of(b.warps.begin(), b.warps.end(), [](const warp& w) { return w.runnable() != 0; });
}

}  // namespace

// Unfair on purpose: whole grids starve for a while, and so do single blocks.
block* engine::choose_block()
{
    random_source& random = random_choices();
    const bool fair = settings().seed == 0;
    std::vector<block*> all;
    std::vector<block*> eligible;
    for (const auto& o : running_) {
        launch& k = *o->kernel;
        const bool starved = !fair && k.starved_until > turn_;
        if (!fair && !starved && running_.size() > 1 && random.one_in(256)) {
            k.starved_until = turn_ + random.below(4000);
        }
        for (const auto& b : k.resident) {
            if (!runnable(*b)) { continue; }
            all.push_back(b.get());
            if (!starved && b->skip_until <= turn_) { eligible.push_back(b.get()); }
        }
    }
    if (all.empty()) { return nullptr; }
    if (fair) { return all[turn_ % all.size()]; }
    const std::vector<block*>& from = eligible.empty() ? all : eligible;
    block* chosen = from[random.below(static_cast<std::uint32_t>(from.size()))];
    if (random.one_in(32)) {
        chosen->skip_until = turn_ + random.below(static_cast<std::uint32_t>(4 * all.size() + 16));
    }
    return chosen;
}

void engine::run_block(block& b)
{
    launch& k = *b.owner;
    random_source& random = random_choices();
    const bool fair = settings().seed == 0;
    // Mostly some hundred instructions of one warp; at times a few, at times many.
    const unsigned kind = random.below(8);
    const unsigned quantum = fair ? 200 : kind == 0 ? 1 + random.below(4) : kind == 1 ? 2000 : 20 + random.below(300);
    const auto n = static_cast<std::uint32_t>(b.warps.size());
    const std::uint32_t first = fair ? 0 : random.below(n);
    const std::uint32_t turns = fair ? n : std::min(n, 1 + random.below(n));
    try {
        for (std::uint32_t j = 0; j < turns && b.alive != 0; ++j) {
            warp& w = b.warps[(first + j) % n];
            if (w.runnable() == 0) { continue; }
            const unsigned used = run_warp(w, quantum, random);
            executed_ += used;
            advance_time(used);
        }
        if (b.alive == 0) { finish_block(k, b); }
    } catch (const kernel_fault& f) {
        fail(k, f.error);
    }
}

namespace {

std::shared_ptr<operation> operation_of(const std::vector<std::shared_ptr<operation>>& running, const launch& k)
{
    return *std::find_if(running.begin(), running.end(), [&](const auto& o) { return o->kernel.get() == &k; });
}

}  // namespace

void engine::finish_block(launch& k, block& b)
{
    const auto o = operation_of(running_, k);
    order_block_end(*o, b);
    device_residency(k.device).remove(b.sm, needs_of(k));
    std::erase_if(k.resident, [&](const auto& kept) { return kept.get() == &b; });
    ++k.finished_blocks;
    note_progress();
    if (k.done()) { finish(o); }
}

void engine::fail(launch& k, int error)
{
    const auto o = operation_of(running_, k);
    k.error = error;
    for (const auto& b : k.resident) { device_residency(k.device).remove(b->sm, needs_of(k)); }
    k.resident.clear();
    finish(o);
}

}  // namespace emulator
