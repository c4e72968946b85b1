#include "engine.hpp"

#include "../check/order.hpp"
#include "../check/report.hpp"
#include "../check/shadow.hpp"
#include "../check/thread_order.hpp"
#include "../counters/launch_counters.hpp"
#include "../error.hpp"
#include "../execute/frames.hpp"
#include "../execute/run.hpp"
#include "progress.hpp"
#include "time.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

namespace emulator {
namespace {

std::atomic<int> wanting{0};
std::uint64_t now = 1'000'000;
std::atomic<std::int64_t> last_entry{0};

std::int64_t milliseconds()
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Whether other threads of the program could launch or abort something.
bool has_other_threads()
{
    std::error_code ignored;
    const std::filesystem::directory_iterator tasks("/proc/self/task", ignored);
    return std::distance(begin(tasks), end(tasks)) > 1;
}

}  // namespace

std::uint64_t emulated_nanoseconds() { return now; }
void advance_time(std::uint64_t nanoseconds) { now += nanoseconds; }

random_source& random_choices()
{
    static random_source r(settings().seed);
    return r;
}

void seed_random_choices(std::uint64_t seed)
{
    settings().seed = seed;
    random_choices() = random_source(seed);
}

engine& the_engine()
{
    static auto* e = new engine;  // kept: kernels may still be launched in exit handlers
    return *e;
}

void engine::enter()
{
    ++wanting;
    mutex_.lock();
    --wanting;
    last_entry = milliseconds();
}

void engine::leave() { mutex_.unlock(); }

residency& engine::device_residency(int device)
{
    while (residencies_.size() <= static_cast<std::size_t>(device)) {
        residencies_.push_back(std::make_unique<residency>());
    }
    return *residencies_[static_cast<std::size_t>(device)];
}

void engine::enqueue(const std::shared_ptr<operation>& o)
{
    order_enqueue(*o);
    pending_.push_back(o);
    note_progress();
}

void engine::run_until(const std::function<bool()>& condition)
{
    while (!condition()) {
        const bool moved = step();
        const bool others = !moved && has_other_threads();
        if (wanting > 0 || others) {
            // Other host threads may launch what this one waits for.
            mutex_.unlock();
            std::this_thread::yield();
            if (!moved) { std::this_thread::sleep_for(std::chrono::microseconds(200)); }
            mutex_.lock();
        }
        if ((!moved || stuck()) && !condition()) {
            if (detached_ > 0) {
                mutex_.unlock();
                std::this_thread::sleep_for(std::chrono::microseconds(200));
                mutex_.lock();
                continue;
            }
            if ((others || has_other_threads()) && milliseconds() - last_entry < settings().patience) { continue; }
            end_deadlock();
        }
    }
}

void engine::advance(unsigned steps)
{
    for (unsigned k = 0; k < steps && !pending_.empty(); ++k) {
        if (!step() || stuck()) { return; }
    }
}

bool engine::step()
{
    ++turn_;
    const bool started = start_ready();
    place_blocks();
    return run_some_block() || started;
}

// Operations that may begin do so in any order, and not at once.
bool engine::start_ready()
{
    bool any = false;
    for (std::size_t k = 0; k < pending_.size();) {
        const std::shared_ptr<operation> o = pending_[k];
        if (o->started || !o->ready()) {
            ++k;
            continue;
        }
        any = true;
        if (settings().seed != 0 && random_choices().one_in(3)) {
            ++k;
            continue;
        }
        o->started = true;
        order_begin(*o);
        if (o->kernel) {
            running_.push_back(o);
            if (o->kernel->n_blocks() == 0) { finish(o); }
            ++k;
        } else {
            const auto action = std::move(o->action);  // it may complete its own operation
            if (action) { action(*o); }
            if (o->detached) {
                ++detached_;
            } else if (!o->waits_for && !o->done) {
                finish(o);
            }
            k = 0;
        }
    }
    return any;
}

void engine::complete(const operation& o)
{
    const auto at = std::find_if(pending_.begin(), pending_.end(), [&](const auto& p) { return p.get() == &o; });
    const std::shared_ptr<operation> kept = *at;
    if (kept->detached) { --detached_; }
    finish(kept);
}

void engine::finish(const std::shared_ptr<operation>& o)
{
    o->done = true;
    o->finished_at = now;
    order_end(*o);
    o->after.clear();
    o->behind.reset();
    std::erase(pending_, o);
    if (o->kernel) {
        std::erase(running_, o);
        o->error = o->kernel->error;
        if (on_kernel_end) { on_kernel_end(*o); }
        o->kernel.reset();
    } else if (o->error != 0 && on_failure) {
        on_failure(*o);
    }
    o->action = nullptr;
    o->waits_for = nullptr;
    o->given_up = nullptr;
    note_progress();
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

bool runnable(const block& b)
{
    return std::any_of(b.warps.begin(), b.warps.end(), [](const warp& w) { return w.runnable() != 0; });
}

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

std::shared_ptr<operation> operation_of(const std::vector<std::shared_ptr<operation>>& running, const launch& k)
{
    return *std::find_if(running.begin(), running.end(), [&](const auto& o) { return o->kernel.get() == &k; });
}

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

// Nothing has changed for long, and all threads that could go on load the same again and again.
bool engine::stuck()
{
    if (progress_count != seen_progress_) {
        seen_progress_ = progress_count;
        executed_at_progress_ = executed_;
    }
    const std::uint64_t idle = executed_ - executed_at_progress_;
    if (idle <= settings().stuck_after || turn_ % 256 != 0) { return false; }
    if (idle > 1000 * settings().stuck_after) { return true; }
    for (const auto& o : running_) {
        for (const auto& b : o->kernel->resident) {
            for (const warp& w : b->warps) {
                if (w.runnable() != 0 && !spins(w)) { return false; }
            }
        }
    }
    return true;
}

// Ends the work that can never end by itself, so that the host's wait returns an error.
void engine::end_deadlock()
{
    std::vector<std::shared_ptr<operation>> waiting;
    for (const auto& o : pending_) {
        if (o->started && o->waits_for) { waiting.push_back(o); }
    }
    if (running_.empty() && waiting.empty()) {
        stop("deadlock: the host waits for work that nothing can start: " +
             (pending_.empty() ? std::string("no work is left") : pending_.front()->what));
    }
    make_report(rule::deadlock, describe_waits(running_, waiting));
    constexpr int launch_timeout = 702;  // cudaErrorLaunchTimeout
    const auto ended = running_;
    for (const auto& o : ended) { fail(*o->kernel, launch_timeout); }
    for (const auto& o : waiting) {
        o->error = launch_timeout;
        if (o->given_up) { o->given_up(); }
        finish(o);
    }
    executed_at_progress_ = executed_;
}

}  // namespace emulator
