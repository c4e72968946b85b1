// When nothing can change any more.
#include "../check/report.hpp"
#include "../check/shadow.hpp"
#include "../check/thread_order.hpp"
#include "../counters/launch_counters.hpp"
#include "../error.hpp"
#include "engine.hpp"
#include "progress.hpp"
#include "time.hpp"

#include <filesystem>

namespace emulator {

/// Whether other threads of the program could launch or abort something.
bool engine::other_threads_run()
{
    std::error_code ignored;
    const std::filesystem::directory_iterator tasks("/proc/self/task", ignored);
    return std::distance(begin(tasks), end(tasks)) > 1;
}

// Threads that wait and look at a clock may give up some time: it comes sooner, by jumps of twice the length each. But
// not while the host may still launch what they wait for.
bool engine::time_may_help()
{
    if (host_may_help()) {
        executed_at_progress_ = executed_;
        return true;
    }
    constexpr std::uint64_t first_jump = 1'000'000, longest = std::uint64_t{1} << 42;  // to an hour
    if (clock_read_at != progress_count || next_jump_ > longest) { return false; }
    next_jump_ = next_jump_ == 0 ? first_jump : 2 * next_jump_;
    advance_time(next_jump_);
    clock_read_at = ~std::uint64_t{0};
    executed_at_progress_ = executed_;
    return true;
}

// Nothing has changed for long, and all threads that could go on load the same again and again.
bool engine::stuck()
{
    if (progress_count != seen_progress_) {
        seen_progress_ = progress_count;
        executed_at_progress_ = executed_;
        next_jump_ = 0;
    }
    const std::uint64_t idle = executed_ - executed_at_progress_;
    if (idle <= settings().stuck_after || turn_ % 256 != 0) { return false; }
    if (idle > 1000 * settings().stuck_after) { return !time_may_help(); }
    for (const auto& o : running_) {
        for (const auto& b : o->kernel->resident) {
            for (const warp& w : b->warps) {
                if (w.runnable() != 0 && !spins(w)) { return false; }
            }
        }
    }
    return !time_may_help();
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
