// What the threads of a block know, and what they have fenced.
#pragma once

#include "../execute/state.hpp"
#include "clock.hpp"

#include <array>
#include <unordered_map>
#include <vector>

namespace emulator {

struct thread_order {
    knowledge known;
    std::uint32_t epoch = 1;
    std::shared_ptr<const knowledge> fenced;  ///< what a relaxed store after the last fence hands on
    std::uint8_t fence_scope = 0;
    std::uint64_t last_sequential = 0;  ///< the store sequence at its last fence.sc
    std::array<knowledge, 3> seen;      ///< by relaxed loads, from the same block, device, system: a fence takes it in
    std::shared_ptr<const knowledge> last_acquired;
};

/// A barrier that threads have begun to arrive at.
struct barrier_order {
    clock_pointer joined;
    std::vector<std::pair<std::uint16_t, std::uint32_t>> arrived;  ///< thread and its epoch
};

struct block_order {
    std::uint32_t epochs = 1;  ///< the highest one given out
    std::uint32_t met = 0;     ///< up to which all its threads know all its accesses: they met at a barrier
    std::vector<thread_order> threads;
    std::array<barrier_order, 16> barriers;
    /// Newest store that a thread has read from a cell without knowing it otherwise: it may not read older ones.
    std::unordered_map<std::uint64_t, std::uint64_t> read_up_to;
};

/// Stores are numbered in the order in which they are executed.
inline std::uint64_t next_store_sequence = 1;

/// By block id.
std::unordered_map<std::uint32_t, block_order*>& running_blocks();

}  // namespace emulator
