// What a thread, an operation or the host knows to have happened: vector clocks, kept short.
//
// Accesses carry the epoch of their thread; a block hands out epochs in rising order. A clock holds, for blocks that
// still run, up to which epoch it knows the accesses of the whole block, of a warp, or of a thread; and for each
// timeline of operations how many of them it knows to be over, which stands for all their blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emulator {

/// Who made an access. Block 0 stands for what was there from the start.
struct stamp {
    std::uint32_t block = 0;
    std::uint32_t epoch = 0;
    std::uint16_t thread = 0;
};

/// A part of a block (all of it, a warp, or a thread), and the epoch up to which its accesses are known.
using known_part = std::pair<std::uint64_t, std::uint32_t>;
constexpr std::uint64_t part_key(std::uint32_t block, unsigned part) { return std::uint64_t{block} << 12 | part; }
constexpr std::uint64_t warp_key(std::uint32_t block, unsigned warp) { return part_key(block, 1 + warp); }
constexpr std::uint64_t thread_key(std::uint32_t block, unsigned thread) { return part_key(block, 64 + thread); }

class clock_data {
  public:
    bool knows(const stamp& s) const;
    /// That the operation which the block belongs to is over.
    bool knows_end_of(std::uint32_t block) const;

    void add_block(std::uint32_t block, std::uint32_t epoch);
    void add_warp(std::uint32_t block, unsigned warp, std::uint32_t epoch) { add(warp_key(block, warp), epoch); }
    void add_thread(std::uint32_t block, unsigned thread, std::uint32_t epoch)
    {
        add(thread_key(block, thread), epoch);
    }
    void add(const std::vector<known_part>& parts);
    void add_finished(std::uint32_t timeline, std::uint32_t sequence);
    void join(const clock_data& other);
    /// Forgets what other parts of it say as well.
    void prune();
    bool operator==(const clock_data&) const = default;

  private:
    void add(std::uint64_t k, std::uint32_t epoch);
    std::uint32_t epoch_of(std::uint64_t k) const;

    std::vector<known_part> parts_;                                  ///< sorted by key
    std::vector<std::pair<std::uint32_t, std::uint32_t>> finished_;  ///< sorted by timeline
};

using clock_pointer = std::shared_ptr<const clock_data>;

/// The join of two, either of which may be null; one of the two itself where that is enough. Results are remembered, as
/// the threads of a warp learn the same.
clock_pointer joined(const clock_pointer& a, const clock_pointer& b);

/// A clock that changes a little at a time: a shared part, and some that were learnt since.
struct knowledge {
    clock_pointer base;
    std::vector<known_part> since;

    bool empty() const { return !base && since.empty(); }
    bool knows(const stamp& s) const;
    void add(std::uint64_t key, std::uint32_t epoch);
    void learn(const knowledge& other);
    /// All of it as one clock.
    clock_pointer folded() const;
};

/// The operation that a block belongs to. Copies and the like count as a block of their own.
struct block_record {
    std::uint32_t timeline = 0;
    std::uint32_t sequence = 0;
    int device = 0;
    std::uint64_t number = 0;  ///< of the block in its grid
    const struct launch_names* names = nullptr;
};

/// What reports say of an operation after it has ended.
struct launch_names {
    std::string what;
    const struct function* kernel = nullptr;
    std::uint32_t grid_x = 1, grid_y = 1, threads_x = 1, threads_y = 1;
};

std::uint32_t new_block_record(const block_record& r);
const block_record& record_of(std::uint32_t block);

}  // namespace emulator
