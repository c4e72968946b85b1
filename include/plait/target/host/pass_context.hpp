// What a pass of the host target works with: arguments, code, scratch memory.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/view.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/plan.hpp>
#include <plait/target/host/gemm_scratch.hpp>
#include <plait/target/host/pass_functions.hpp>
#include <plait/target/host/space.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace plait::host {

/// Elements of a tile: small enough that all tiles of a pass stay in the first-level cache.
inline constexpr std::int64_t tile_elements = 1024;

/// A reduction over the space of a pass, while the pass runs.
struct reduction_state {
    int result = 0;
    const reducer* code = nullptr;
    const node* of = nullptr;  // the reduction's node
    std::int64_t tensors = 1;  // results: one, or one per tensor
    std::size_t partials = 0;  // offset of part 0, tensor 0 in the scratch memory
    lane_state sum{};
};

/// A pointer of the tile_pointers that moves along with the tiles of a run.
struct moving_pointer {
    const void** pointer;
    const std::byte* start;
    std::int64_t step;  // bytes per element
};

/// Where a result goes beside this rank's own buffer, during a run.
struct delivery {
    int result;
    std::byte* start;
    bool streaming;  // past the caches
};

/// Memory that contractions use.
struct contraction_scratch {
    gemm_scratch panels;   // of a matrix product
    gemm_scratch left;     // operands, where their dtype is not that of the product
    gemm_scratch right;
    gemm_scratch windows;  // of a convolution
    std::map<const pass_view*, gemm_scratch> packed;  // right operands that all chunks of a product read
};

/// Memory that passes use; one per executable, so that a run allocates nothing.
class pass_scratch {
  public:
    /// The next tile, aligned to 64 bytes. A pass starts with `restart`.
    std::byte* next_tile()
    {
        std::byte* base = tiles_.get() + (64 - reinterpret_cast<std::uintptr_t>(tiles_.get()) % 64) % 64;
        return base + static_cast<std::size_t>(used_++) * tile_bytes;
    }
    void restart() { used_ = 0; }
    /// Room for parts of reductions.
    std::byte* partials(std::size_t bytes)
    {
        if (partials_.size() < bytes) { partials_.resize(bytes); }
        return partials_.data();
    }
    /// Room for one address per rank or part.
    view<const std::byte*> addresses(std::size_t n)
    {
        if (addresses_.size() < n) { addresses_.resize(n); }
        return {addresses_.data(), n};
    }

    contraction_scratch contraction;
    channel channels[max_operands + max_results];  // operands, then results
    kernels::tile_pointers pointers{};
    std::array<moving_pointer, 2 * max_operands> moving;
    std::array<int, max_operands> busy;  // operands that are work per tile
    std::vector<delivery> deliveries;
    std::vector<reduction_state> reductions;

  private:
    static constexpr int count = 2 * max_operands + max_results;
    static constexpr std::size_t tile_bytes = static_cast<std::size_t>(tile_elements) * 8;
    // Not initialised: what no pass uses never becomes memory.
    std::unique_ptr<std::byte[]> tiles_ = std::make_unique_for_overwrite<std::byte[]>(count * tile_bytes + 64);
    int used_ = 0;
    std::vector<std::byte> partials_;
    std::vector<const std::byte*> addresses_;
};

/// One pass of one run.
struct pass_context {
    const arguments& args;
    const pass_view& pass;
    const pass_functions& code;
    pass_scratch& scratch;
    chunk within{};

    [[nodiscard]] int n_operands() const { return static_cast<int>(pass.operands.size()); }
    [[nodiscard]] int n_results() const { return static_cast<int>(pass.results.size()); }
    [[nodiscard]] const pass_operand& operand(int i) const { return pass.operands[static_cast<std::size_t>(i)]; }
    [[nodiscard]] const pass_result& result(int r) const { return pass.results[static_cast<std::size_t>(r)]; }
    [[nodiscard]] const node& node_at(int i) const { return args.image().node_of(i); }
    [[nodiscard]] const node& slot_node(int s) const { return args.image().slot_node(s); }

    /// Where element `offset` of a channel lies in a rank's memory (in piece t, when scattered).
    [[nodiscard]] std::byte* address(const channel& c, int rank, std::int64_t offset, std::int64_t t) const
    {
        const bound_buffer& b = args.buffer(c.slot, rank);
        std::byte* base =
            b.pieces.empty() ? b.data : static_cast<std::byte*>(b.pieces[static_cast<std::size_t>(t)].data);
        return base + offset * c.size;
    }
    /// Sets up the channels of the pass along a space: operands, then results that are stored.
    void open_channels(const space& s) const
    {
        for (int i = 0; i < n_operands(); ++i) {
            const pass_operand& o = operand(i);
            channel& c = scratch.channels[i];
            c = channel{};
            if (o.slot >= 0) {
                c = channel_of(args, o.slot, s);
            } else if (o.from == source::mask) {
                c.view = stream_of(args, node_at(o.node), s, false);
            }
        }
        for (int r = 0; r < n_results(); ++r) {
            channel& c = scratch.channels[n_operands() + r];
            c = channel{};
            if (!result(r).reduces) { c = channel_of(args, result(r).slot, s); }
        }
    }
    [[nodiscard]] view<channel> channels() const
    {
        return {scratch.channels, static_cast<std::size_t>(n_operands() + n_results())};
    }
};

}  // namespace plait::host
