#include "engine.hpp"

#include "../check/order.hpp"
#include "progress.hpp"
#include "time.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace emulator {
namespace {

std::atomic<int> wanting{0};
std::uint64_t now = 1'000'000;
std::atomic<int> relocking{0};  // threads that wait for the host's work and gave up the lock for a while
std::atomic<std::int64_t> last_entry{0};

std::int64_t milliseconds()
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
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

void engine::enqueue(const std::shared_ptr<operation>& o)
{
    order_enqueue(*o);
    pending_.push_back(o);
    note_progress();
}

bool engine::host_may_help()
{
    return milliseconds() - last_entry < settings().patience && other_threads_run();
}

void engine::run_until(const std::function<bool()>& condition)
{
    constexpr std::int64_t longest_turn = 2;  // milliseconds, when other threads wait for their work as well
    std::int64_t since = milliseconds();
    const auto let_others = [&](bool sleep) {
        mutex_.unlock();
        if (sleep) { std::this_thread::sleep_for(std::chrono::microseconds(200)); }
        ++relocking;
        mutex_.lock();
        --relocking;
        since = milliseconds();
    };
    while (!condition()) {
        const bool moved = step();
        const bool others = !moved && other_threads_run();
        // Other host threads may launch what this one waits for, or have all that they wait for.
        if (wanting > 0 || others || (relocking > 0 && milliseconds() - since > longest_turn)) { let_others(!moved); }
        if ((!moved || stuck()) && !condition()) {
            if (detached_ > 0) {
                let_others(true);
                continue;
            }
            if (host_may_help()) { continue; }
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
        if (pending_[k]->started || !pending_[k]->ready()) {
            ++k;
            continue;
        }
        const std::shared_ptr<operation> o = pending_[k];
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

}  // namespace emulator
