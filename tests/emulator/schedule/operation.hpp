// Work of streams: kernels, copies, host functions, events, each after others.
#pragma once

#include "../execute/state.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace emulator {

class clock_data;

struct operation {
    std::string what;  ///< for reports, such as `cudaMemcpyAsync`
    int device = 0;
    std::vector<std::shared_ptr<operation>> after;
    std::unique_ptr<launch> kernel;  ///< or, without one:
    std::function<void(operation&)> action;
    bool started = false;
    bool done = false;
    bool detached = false;  ///< its action goes on in another thread, which calls engine::complete
    /// Set by an action that has to wait for other operations, which call engine::complete: says for whom.
    std::function<std::string()> waits_for;
    std::function<void()> given_up;  ///< called before such a wait that has no end is ended with an error
    std::shared_ptr<operation> behind;  ///< begins later than this one, but knows nothing of what it did
    int error = 0;
    std::uint32_t timeline = 0;  ///< operations of one timeline are in order: a stream, or a graph's node
    std::uint32_t sequence = 0;
    std::shared_ptr<const clock_data> begin_clock;  ///< what happens before it begins
    std::shared_ptr<const clock_data> end_clock;    ///< and before what follows it
    std::uint32_t record = 0;                       ///< the operation's block_record, for the race checker
    std::uint64_t finished_at = 0;                  ///< emulated time

    bool ready() const
    {
        if (behind && !behind->done) { return false; }
        for (const auto& o : after) {
            if (!o->done) { return false; }
        }
        return true;
    }
};

}  // namespace emulator
