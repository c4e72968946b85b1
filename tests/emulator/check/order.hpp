// What happens before what, between operations of streams, blocks of kernels and their threads: hooks of the scheduler
// and of the instructions that synchronise.
#pragma once

#include "../execute/context.hpp"
#include "../schedule/operation.hpp"
#include "clock.hpp"

namespace emulator {

void order_enqueue(operation& o);
void order_begin(operation& o);
void order_end(operation& o);
/// The host has waited for the operation: what it enqueues from now on comes after it.
void order_host_waited(const operation& o);
void order_block_begin(operation& o, block& b);
void order_block_end(operation& o, block& b);

void order_fence(context& c, const instruction& i);
void order_arrive(block& b, unsigned barrier, unsigned thread, bool waits);
/// The barrier is complete; these lanes of each warp have waited for it.
void order_barrier(block& b, unsigned barrier, const std::vector<std::uint32_t>& waited);
void order_warp(warp& w, std::uint32_t lanes);

/// What the thread has done so far, as a clock that others may take over; its next accesses come after it.
std::shared_ptr<const knowledge> published(block& b, unsigned thread);

}  // namespace emulator
