// Filling the inputs of a tile: own elements, what several ranks hold combined, dropout masks.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/philox.hpp>
#include <plait/core/view.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/plan.hpp>
#include <plait/plan/scalar_values.hpp>
#include <plait/target/host/pass_context.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plait::host {

/// The inputs of one pass, tile by tile, as pointers in the scratch's tile_pointers. Most are pointers that move along
/// with the tiles; only what must be combined or drawn is work per tile.
class tile_inputs {
  public:
    explicit tile_inputs(const pass_context& c) : c_(c), world_(static_cast<double>(c.args.ranks())) {}

    /// Assigns tiles. Once per walk over a space, when the channels are open.
    void open()
    {
        for (int i = 0; i < c_.n_operands(); ++i) {
            const pass_operand& o = c_.operand(i);
            channel& ch = c_.scratch.channels[i];
            switch (o.from) {
            case source::scalar: c_.scratch.pointers.in[i] = c_.args.scalar(c_.node_at(o.node).name); break;
            case source::world_size: c_.scratch.pointers.in[i] = &world_; break;
            case source::mask: ch.tile = c_.scratch.next_tile(); break;
            case source::all_ranks:
            case source::root_combined:
                ch.tile = c_.scratch.next_tile();
                if (zeros(o)) { std::memset(ch.tile, 0, static_cast<std::size_t>(tile_elements) * 8); }
                if (zeros(o) || c_.args.ranks() == 1) {
                    ch.identity = c_.scratch.next_tile();
                    c_.code.combiners[i]->fill_identity(static_cast<std::size_t>(tile_elements), ch.identity);
                }
                break;
            default: break;
            }
        }
    }

    /// A run of elements begins at the channels' offsets, in tensor t.
    void start_run(std::int64_t t)
    {
        tensor_ = t;
        n_moving_ = 0;
        n_busy_ = 0;
        reads_tiles_ = false;
        for (int i = 0; i < c_.n_operands(); ++i) {
            const pass_operand& o = c_.operand(i);
            switch (o.from) {
            case source::own: move(c_.scratch.pointers.in[i], i, c_.args.rank()); break;
            case source::from_root: move(c_.scratch.pointers.in[i], i, o.root); break;
            case source::all_ranks:
            case source::root_combined: start_combining(i); break;
            case source::mask: c_.scratch.busy[n_busy_++] = i; break;
            default: break;
            }
        }
    }

    /// Makes n elements available, from element `done` of the run on (`uniform` operands: one element).
    void load(std::int64_t done, std::size_t n)
    {
        for (const moving_pointer& m : view(c_.scratch.moving).first(n_moving_)) {
            *m.pointer = m.start + done * m.step;
        }
        for (int i : view(c_.scratch.busy).first(n_busy_)) {
            const pass_operand& o = c_.operand(i);
            const std::int64_t offset = c_.scratch.channels[i].offset + (o.uniform ? 0 : done);
            const std::size_t count = o.uniform ? 1 : n;
            if (o.from == source::mask) {
                draw_mask(o.node, offset, count, c_.scratch.channels[i].tile);
                c_.scratch.pointers.in[i] = c_.scratch.channels[i].tile;
            } else {
                combine(i, offset, count);
            }
        }
    }

    /// Whether some input of the run comes in a tile: if not, more elements than a tile's can be loaded at once.
    [[nodiscard]] bool reads_tiles() const { return reads_tiles_ || n_busy_ > 0; }

  private:
    /// Whether a combined value is zeros here: only the root gets it.
    [[nodiscard]] bool zeros(const pass_operand& o) const
    {
        return o.from == source::root_combined && c_.args.rank() != o.root;
    }
    /// Whether the tile loop does the last combination itself, from a second stream.
    [[nodiscard]] bool last_in_loop(int i) const
    {
        return c_.args.ranks() > 1 && !c_.code.combiners[i]->low_precision && !c_.operand(i).uniform;
    }

    void move(const void*& pointer, int i, int rank)
    {
        const channel& ch = c_.scratch.channels[i];
        const std::int64_t step = c_.operand(i).uniform ? 0 : ch.size;
        c_.scratch.moving[n_moving_++] = {&pointer, c_.address(ch, rank, ch.offset, tensor_), step};
    }

    void start_combining(int i)
    {
        const void*& first = c_.scratch.pointers.in[i];
        const void*& second = c_.scratch.pointers.second[i];
        second = c_.scratch.channels[i].identity;
        reads_tiles_ = reads_tiles_ || second != nullptr;
        if (zeros(c_.operand(i))) {
            first = c_.scratch.channels[i].tile;
            return;
        }
        const bool two = last_in_loop(i);
        if (two) { move(second, i, c_.args.ranks() - 1); }
        const int others = c_.args.ranks() - (two ? 1 : 0);
        if (others == 1 && !c_.code.combiners[i]->low_precision) {
            move(first, i, 0);
        } else {
            c_.scratch.busy[n_busy_++] = i;
        }
    }
    /// Combines n elements of all ranks, or of all but the last, into the operand's tile.
    void combine(int i, std::int64_t offset, std::size_t n)
    {
        const channel& ch = c_.scratch.channels[i];
        const auto ranks = static_cast<std::size_t>(c_.args.ranks() - (last_in_loop(i) ? 1 : 0));
        const view<const std::byte*> all = c_.scratch.addresses(ranks);
        for (std::size_t r = 0; r < ranks; ++r) { all[r] = c_.address(ch, static_cast<int>(r), offset, tensor_); }
        c_.code.combiners[i]->combine(all, n, ch.tile);
        c_.scratch.pointers.in[i] = ch.tile;
    }

    /// Which elements a dropout keeps, from the global index of the first.
    void draw_mask(int dropout, std::int64_t first_index, std::size_t n, std::byte* tile) const
    {
        const node& d = c_.node_at(dropout);
        const std::uint64_t threshold = keep_threshold(number_of(c_.args, c_.node_at(d.args[1])));
        std::uint32_t words[tile_elements];
        philox_fill(seed_of(c_.args, c_.node_at(d.args[2])), static_cast<std::uint64_t>(first_index), n, words);
        auto* kept = reinterpret_cast<unsigned char*>(tile);
        if (threshold > 0xffff'ffffU) {  // p = 1
            std::memset(kept, 0, n);
            return;
        }
        const auto least = static_cast<std::uint32_t>(threshold);
        for (std::size_t i = 0; i < n; ++i) { kept[i] = words[i] >= least ? 1 : 0; }
    }
    const pass_context& c_;
    double world_;
    std::int64_t tensor_ = 0;
    std::size_t n_moving_ = 0;
    std::size_t n_busy_ = 0;
    bool reads_tiles_ = false;
};

}  // namespace plait::host
