// What a pass of the host target works with: arguments, peers' buffers, tiles.
#pragma once

#include <plait/target/host/accumulator.hpp>
#include <plait/target/host/space.hpp>

#include <vector>

namespace plait::host {

/// Elements of a tile: small enough that all tiles of a pass stay in the first-level cache.
inline constexpr std::int64_t tile_elements = 1024;

/// Memory for the tiles of one pass, each aligned to 64 bytes; made once.
class tile_memory {
  public:
    tile_memory() : storage_(static_cast<std::size_t>(count) * tile_bytes + 64) {}
    void restart() { used_ = 0; }
    std::byte* next()
    {
        std::byte* base = storage_.data() + (64 - reinterpret_cast<std::uintptr_t>(storage_.data()) % 64) % 64;
        return base + static_cast<std::size_t>(used_++) * tile_bytes;
    }

  private:
    static constexpr int count = 2 * max_operands + max_results;
    static constexpr std::size_t tile_bytes = static_cast<std::size_t>(tile_elements) * 8;
    std::vector<std::byte> storage_;
    int used_ = 0;
};

/// The buffers of all ranks, by slot: what a pass reads and writes through.
class peer_buffers {
  public:
    peer_buffers(int slots, int ranks) : ranks_(ranks), buffers_(static_cast<std::size_t>(slots * ranks)) {}
    [[nodiscard]] bound_buffer& of(int slot, int rank) { return buffers_[static_cast<std::size_t>(slot * ranks_ + rank)]; }

  private:
    int ranks_;
    std::vector<bound_buffer> buffers_;
};

/// One pass of one run.
struct pass_context {
    const arguments& args;
    const pass_plan& pass;
    tile_function kernel;
    peer_buffers& peers;
    tile_memory& tiles;
    std::vector<std::byte>& partials;  // scratch for the parts of reductions

    [[nodiscard]] const node& node_at(int i) const { return args.image().node_of(i); }
    /// The node whose shape and layout slot s has.
    [[nodiscard]] const node& slot_node(int s) const { return node_at(args.image().plan->slots[s].node); }

    /// Where element `offset` of a slot lies in a rank's memory (in piece t, when scattered).
    [[nodiscard]] std::byte* address(int slot, int rank, std::int64_t offset, std::int64_t t) const
    {
        const bound_buffer& b = rank == args.rank() ? args.buffer(slot) : peers.of(slot, rank);
        std::byte* base = b.pieces.empty() ? b.data : static_cast<std::byte*>(b.pieces[static_cast<std::size_t>(t)].data);
        return base + offset * static_cast<std::int64_t>(size_of(slot_node(slot).type));
    }
};

/// The value of a scalar argument or a number of the program.
inline double number_value(const pass_context& c, int node_index)
{
    const node& n = c.node_at(node_index);
    if (n.kind == op::constant) { return std::bit_cast<double>(n.bits); }
    double value = 0;
    with_element(n.type, [&](auto e) {
        std::memcpy(&e, c.args.scalar(n.name), sizeof e);
        if constexpr (std::is_same_v<decltype(e), f16> || std::is_same_v<decltype(e), bf16>) {
            value = static_cast<double>(static_cast<float>(e));
        } else {
            value = static_cast<double>(e);
        }
    });
    return value;
}
inline std::uint64_t seed_value(const pass_context& c, int node_index)
{
    const node& n = c.node_at(node_index);
    if (n.kind == op::constant) { return static_cast<std::uint64_t>(std::bit_cast<double>(n.bits)); }
    std::int64_t value = 0;
    with_element(n.type, [&](auto e) {
        std::memcpy(&e, c.args.scalar(n.name), sizeof e);
        if constexpr (std::is_integral_v<decltype(e)>) { value = static_cast<std::int64_t>(e); }
    });
    return static_cast<std::uint64_t>(value);
}

}  // namespace plait::host
