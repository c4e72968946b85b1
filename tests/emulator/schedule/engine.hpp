// Runs the operations of all streams and devices: starts those whose predecessors are done, and lets the blocks of the
// kernels in flight advance a bit at a time, in an order that a seed chooses.
#pragma once

#include "fair_mutex.hpp"
#include "operation.hpp"
#include "random.hpp"
#include "residency.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <vector>

namespace emulator {

class engine {
  public:
    /// All of the emulator's state is used under this lock; every entry point of the runtime takes it.
    fair_mutex& mutex() { return mutex_; }
    void enter();
    void leave();

    void enqueue(const std::shared_ptr<operation>& o);
    /// Advances until the condition holds. Must be called with the lock held exactly once.
    void run_until(const std::function<bool()>& condition);
    /// Ends an operation whose action went on in another thread or waits for others. Must be called with the lock held.
    void complete(const operation& o);
    /// A little progress, as a query makes it.
    void advance(unsigned steps);
    bool idle() const { return pending_.empty(); }

    const std::vector<std::shared_ptr<operation>>& running() const { return running_; }
    std::uint64_t executed() const { return executed_; }
    /// Called with each kernel's operation when it has ended.
    std::function<void(operation&)> on_kernel_end;
    /// Called with each other operation that ends with an error.
    std::function<void(operation&)> on_failure;

  private:
    bool step();
    bool start_ready();
    void place_blocks();
    bool run_some_block();
    block* choose_block();
    void run_block(block& b);
    void finish_block(launch& k, block& b);
    void fail(launch& k, int error);
    void finish(const std::shared_ptr<operation>& o);
    static bool other_threads_run();
    bool stuck();
    bool time_may_help();
    /// Whether other threads of the program are still expected to do something.
    bool host_may_help();
    void end_deadlock();
    residency& device_residency(int device);

    fair_mutex mutex_;
    int detached_ = 0;                                 ///< operations that other threads of the host will complete
    std::vector<std::shared_ptr<operation>> pending_;  ///< not done, in the order they were enqueued
    std::vector<std::shared_ptr<operation>> running_;  ///< kernels that have started
    std::vector<std::unique_ptr<residency>> residencies_;
    std::uint64_t executed_ = 0;
    std::uint64_t turn_ = 0;
    std::uint64_t seen_progress_ = 0;
    std::uint64_t executed_at_progress_ = 0;
    std::uint64_t next_jump_ = 0;  ///< nanoseconds, when threads that wait look at a clock
};

engine& the_engine();

/// Holds the emulator's lock in an entry point of the runtime.
class entry {
  public:
    entry() { the_engine().enter(); }
    ~entry() { the_engine().leave(); }
    entry(const entry&) = delete;
};

/// Text for a report: which threads of the kernels in flight wait where, and which other operations for whom.
std::string describe_waits(const std::vector<std::shared_ptr<operation>>& kernels,
                           const std::vector<std::shared_ptr<operation>>& others);

}  // namespace emulator
