// Order of memory accesses: races, and which values a load may return. Off when settings().check_races is.
#pragma once

#include "../execute/access.hpp"

namespace emulator {

/// Loads `elements` values of `size` bytes each into `out`: what is in memory, or an older value that PTX still allows.
void ordered_load(context& c, const instruction& i, unsigned lane, const place& p, unsigned size, unsigned elements,
                  std::uint8_t* out);
void ordered_store(context& c, const instruction& i, unsigned lane, const place& p, unsigned size, unsigned elements,
                   const std::uint8_t* in);
/// Around the read-modify-write of an atomic: before it reads, and, with the old value, when it writes.
void before_atomic(context& c, const instruction& i, unsigned lane, const place& p, unsigned size);
void after_atomic(context& c, const instruction& i, unsigned lane, const place& p, unsigned size,
                  const std::uint8_t* old, bool stored);
void order_fence(context& c, const instruction& i);
/// Threads of a block, or lanes of a warp, that a barrier has brought together.
void order_barrier(block& b, const std::vector<std::uint32_t>& lanes_of_warps);
void order_warp(warp& w, std::uint32_t lanes);

}  // namespace emulator
