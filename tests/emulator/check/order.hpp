// What happens before what, between operations of streams and the blocks of kernels: hooks of the scheduler.
#pragma once

#include "../schedule/operation.hpp"

namespace emulator {

void order_begin(operation& o);
void order_end(operation& o);
void order_block_begin(operation& o, block& b);
void order_block_end(operation& o, block& b);
/// The host has waited for the operation: what it enqueues from now on comes after it.
void order_host_waited(operation& o);

}  // namespace emulator
