// How many blocks a device holds at once: by threads, blocks and shared memory of its multiprocessors.
#pragma once

#include "../execute/state.hpp"
#include "settings.hpp"

#include <vector>

namespace emulator {

/// What a block needs of a multiprocessor.
struct block_needs {
    unsigned threads = 0;
    unsigned shared = 0;
    unsigned registers = 0;
};

block_needs needs_of(const launch& k);
block_needs needs_of(const function& f, unsigned threads, std::size_t dynamic_shared);
/// 0 when a block never fits.
unsigned blocks_per_multiprocessor(const block_needs& n);

class residency {
  public:
    residency() : multiprocessors_(static_cast<std::size_t>(settings().device.multiprocessors)) {}

    /// A multiprocessor with room, or -1.
    int place(const block_needs& n);
    void remove(unsigned multiprocessor, const block_needs& n);

  private:
    struct usage {
        unsigned blocks = 0, threads = 0, shared = 0, registers = 0;
    };
    std::vector<usage> multiprocessors_;
};

}  // namespace emulator
