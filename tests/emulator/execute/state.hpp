// What a kernel in execution consists of: launch, block, warp, and the frames of its calls.
#pragma once

#include "../decode/image.hpp"
#include "../memory/allocation.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace emulator {

struct dimensions {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// How often an instruction was executed: by warps, and by lanes.
struct execution_count {
    std::uint64_t warps = 0;
    std::uint64_t lanes = 0;
};

struct context;
struct warp;
struct block;
struct launch;
struct launch_counters;
struct block_order;

/// What a .sync instruction does once all its lanes are there.
using gathered_body = void (*)(context&, const instruction&);

/// One call of a function by some lanes of a warp; they share its registers.
struct frame {
    const function* code = nullptr;
    frame* caller = nullptr;
    const instruction* return_to = nullptr;
    const instruction* call = nullptr;
    std::uint32_t lanes = 0;  ///< that have not returned
    unsigned depth = 0;
    std::uint64_t local_base = 0;
    std::uint8_t* registers = nullptr;
    const std::uint8_t* constants = nullptr;
    execution_count* counts = nullptr;
    std::vector<std::uint8_t> storage;
    std::vector<std::uint8_t> parameters;  ///< frame_bytes of each lane

    std::uint8_t* parameter(unsigned lane, std::uint64_t offset)
    {
        return &parameters[lane * code->frame_bytes + offset];
    }
};

/// cp.async copies of a lane that have not landed.
struct pending_copy {
    std::uint64_t to = 0;  ///< offset in shared memory
    std::uint32_t size = 0;
    std::array<std::uint8_t, 16> bytes{};
    unsigned group = 0;
};

struct lane_copies {
    std::vector<pending_copy> pending;  ///< the oldest first
    unsigned next_group = 0;
};

/// A wgmma.mma_async whose result no wait has delivered.
struct pending_product {
    const instruction* what = nullptr;
    frame* in = nullptr;
    std::uint64_t a = 0, b = 0;  ///< matrix descriptors
    bool accumulates = false;
    unsigned group = 0;
    std::vector<std::uint8_t> read;  ///< the operands' bytes when it was issued
};

struct warp_products {
    std::vector<pending_product> pending;  ///< the oldest first
    unsigned next_group = 0;
    std::uint64_t issued = 0;
    bool fenced = false;  ///< by wgmma.fence since the last wait
};

/// Who wrote 16 bytes of shared memory last by an ordinary store, for what the async proxy may see of it.
struct generic_write {
    std::uint64_t when = 0;
    std::uint32_t thread = 0;
};

/// What each warp of a warpgroup has issued: all of them must issue the same.
struct issued_product {
    const instruction* what;
    std::uint64_t a, b;
    bool accumulates;
};

struct warp {
    block* owner = nullptr;
    unsigned number = 0;
    std::uint32_t alive = 0;       ///< lanes that have not exited
    std::uint32_t at_barrier = 0;  ///< lanes that wait at a barrier of the block
    std::uint32_t at_sync = 0;     ///< lanes that wait for others of the warp in a .sync instruction
    std::uint32_t carry = 0;       ///< each lane's carry of extended-precision arithmetic
    std::uint32_t started = 0;     ///< lanes that exist
    std::array<const instruction*, n_lanes> pc{};
    std::array<frame*, n_lanes> frames{};
    std::array<std::uint32_t, n_lanes> wanted{};      ///< lanes that a lane in at_sync waits for
    std::array<gathered_body, n_lanes> wanted_for{};  ///< and what they will do
    std::array<std::uint8_t, n_lanes> barrier{};      ///< number of the barrier that a lane in at_barrier waits at
    std::array<std::uint64_t, n_lanes> sleep_until{};
    std::vector<std::unique_ptr<frame>> stack;
    std::array<std::vector<std::uint8_t>, n_lanes> local;
    std::array<lane_copies, n_lanes> copies;
    warp_products products;
    std::uint64_t executed = 0;
    std::uint32_t repeated_loads = 0;            ///< in a row, of the same address with nothing changed: the warp spins
    std::uint64_t repeated_since = 0;            ///< progress_count at the first of them
    std::array<std::uint64_t, 16> last_loads{};  ///< address and instruction of recent loads

    warp() = default;
    warp(warp&&) noexcept = default;
    std::uint32_t runnable() const { return alive & ~at_barrier & ~at_sync; }
};

struct block_barrier {
    std::uint32_t arrived = 0;   ///< threads
    std::uint32_t expected = 0;  ///< 0: all threads of the block that are alive
    std::uint32_t true_count = 0;
    bool all_true = true;
    bool any_true = false;
    std::vector<std::uint32_t> lanes;  ///< that arrived, for each warp, whether they wait or not
};

struct block {
    launch* owner = nullptr;
    dimensions index{0, 0, 0};
    std::uint64_t number = 0;  ///< in the grid
    std::uint32_t id = 0;      ///< unique in the program
    unsigned sm = 0;
    std::vector<warp> warps;
    std::uint32_t alive = 0;
    std::uint32_t n_threads = 0;
    bool somebody_exited = false;
    std::vector<std::uint8_t> shared;
    written_map shared_written;
    std::unique_ptr<shadow_memory> shadow;
    std::unique_ptr<block_order> order;  ///< what its threads know to have happened
    std::array<block_barrier, 16> barriers{};
    std::vector<generic_write> generic_writes;           ///< for each 16 bytes of shared memory
    std::vector<std::uint64_t> proxy_fences;             ///< when each thread executed fence.proxy.async last
    std::uint64_t proxy_time = 0;                        ///< counts what the two above are compared by
    std::vector<std::vector<issued_product>> products;   ///< of each warpgroup
    std::uint64_t skip_until = 0;  ///< the scheduler leaves it alone so long

    block();
    ~block();
};

struct launch {
    const function* kernel = nullptr;
    int device = 0;
    dimensions grid, threads;
    std::uint32_t dynamic_shared = 0;
    std::vector<std::uint8_t> parameters;
    allocation* parameter_memory = nullptr;  ///< where generic addresses of parameters point to
    bool cooperative = false;
    std::uint64_t id = 0;
    std::uint64_t next_block = 0;
    std::uint64_t finished_blocks = 0;
    std::vector<std::unique_ptr<block>> resident;
    std::uint64_t starved_until = 0;
    int error = 0;  ///< a cudaError_t, once a fault ended it
    std::shared_ptr<launch_counters> counters;
    allocation* workspace = nullptr;  ///< of cooperative groups' grid.sync

    std::uint64_t n_blocks() const { return grid.count(); }
    bool done() const { return error != 0 ? resident.empty() : finished_blocks == n_blocks(); }
};

}  // namespace emulator
