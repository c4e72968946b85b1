// Races, and which values a load may return. Off when settings().check_races is.
#pragma once

#include "../execute/access.hpp"

namespace emulator {

/// Loads `elements` values of `size` bytes each into `out`: what is in memory, or an older value that PTX still allows.
void ordered_load(context& c, const instruction& i, unsigned lane, const place& p, unsigned size, unsigned elements,
                  std::uint8_t* out);
void ordered_store(context& c, const instruction& i, unsigned lane, const place& p, unsigned size, unsigned elements,
                   const std::uint8_t* in);
/// Before an atomic reads, which it does from the newest store.
void before_atomic(context& c, const instruction& i, unsigned lane, const place& p, unsigned size);
/// After it has written memory; `old` is what was there. Without a store it was a load.
void after_atomic(context& c, const instruction& i, unsigned lane, const place& p, unsigned size,
                  const std::uint8_t* old, bool stored);

}  // namespace emulator
