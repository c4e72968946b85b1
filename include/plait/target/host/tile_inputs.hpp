// Filling the inputs of a tile: own elements, what several ranks hold combined, dropout masks.
#pragma once

#include <plait/core/philox.hpp>
#include <plait/target/host/pass_context.hpp>

#include <bit>

namespace plait::host {

/// The inputs of one pass, tile by tile, as pointers in the scratch's tile_pointers.
class tile_inputs {
  public:
    explicit tile_inputs(const pass_context& c) : c_(c), world_(static_cast<double>(c.args.ranks())) {}

    /// Assigns tiles. Once per walk over a space, when the channels are open.
    void open()
    {
        for (int i = 0; i < c_.pass.n_operands; ++i) {
            const pass_operand& o = c_.pass.operands[i];
            channel& ch = c_.scratch.channels[i];
            switch (o.from) {
                case source::scalar:
                    c_.scratch.pointers.in[i] = c_.args.scalar(c_.node_at(o.node).name);
                    break;
                case source::world_size:
                    c_.scratch.pointers.in[i] = &world_;
                    break;
                case source::mask:
                    ch.tile = c_.scratch.next_tile();
                    break;
                case source::all_ranks:
                case source::root_combined:
                    ch.tile = c_.scratch.next_tile();
                    if (o.from == source::root_combined || c_.args.ranks() == 1) {
                        ch.identity = c_.scratch.next_tile();
                        c_.code.combiners[i]->fill_identity(static_cast<std::size_t>(tile_elements), ch.identity);
                    }
                    break;
                default:
                    break;
            }
        }
    }

    /// Makes n elements available, from element `offset` of each channel on (`uniform` operands: one element).
    template <class Offset>
    void load(std::size_t n, std::int64_t t, Offset&& offset_of)
    {
        for (int i = 0; i < c_.pass.n_operands; ++i) {
            const pass_operand& o = c_.pass.operands[i];
            const channel& ch = c_.scratch.channels[i];
            const std::int64_t offset = offset_of(i);
            const std::size_t count = o.uniform ? 1 : n;
            switch (o.from) {
                case source::own:
                    c_.scratch.pointers.in[i] = c_.address(ch, c_.args.rank(), offset, t);
                    break;
                case source::from_root:
                    c_.scratch.pointers.in[i] = c_.address(ch, o.root, offset, t);
                    break;
                case source::all_ranks:
                case source::root_combined:
                    combine(i, offset, t, count);
                    break;
                case source::mask:
                    draw_mask(o.node, offset, count, ch.tile);
                    c_.scratch.pointers.in[i] = ch.tile;
                    break;
                default:
                    break;
            }
        }
    }

  private:
    /// Combined values of all ranks, as the tile loop reads them: one pointer, or two streams of which the loop does
    /// the last combination itself.
    void combine(int i, std::int64_t offset, std::int64_t t, std::size_t n)
    {
        const pass_operand& o = c_.pass.operands[i];
        const channel& ch = c_.scratch.channels[i];
        const combiner& code = *c_.code.combiners[i];
        const void*& first = c_.scratch.pointers.in[i];
        const void*& second = c_.scratch.pointers.second[i];
        second = ch.identity;
        if (o.from == source::root_combined && c_.args.rank() != o.root) {
            std::memset(ch.tile, 0, n * 8);
            first = ch.tile;
            return;
        }
        const int ranks = c_.args.ranks();
        const bool last_in_loop = ranks > 1 && !code.low_precision && !o.uniform;
        if (last_in_loop) { second = c_.address(ch, ranks - 1, offset, t); }
        const int combined = ranks - (last_in_loop ? 1 : 0);
        if (combined == 1 && !code.low_precision) {
            first = c_.address(ch, 0, offset, t);
            return;
        }
        const std::span<const std::byte*> all = c_.scratch.addresses(static_cast<std::size_t>(combined));
        for (int r = 0; r < combined; ++r) { all[static_cast<std::size_t>(r)] = c_.address(ch, r, offset, t); }
        code.combine(all, n, ch.tile);
        first = ch.tile;
    }

    /// Which elements a dropout keeps, from the global index of the first.
    void draw_mask(int dropout, std::int64_t first_index, std::size_t n, std::byte* tile) const
    {
        const node& d = c_.node_at(dropout);
        const std::uint64_t threshold = keep_threshold(number_of(d.args[1]));
        std::uint32_t words[tile_elements];
        philox_fill(seed_of(d.args[2]), static_cast<std::uint64_t>(first_index), n, words);
        bool* kept = reinterpret_cast<bool*>(tile);
        for (std::size_t i = 0; i < n; ++i) { kept[i] = words[i] >= threshold; }
    }
    /// The value of a floating-point scalar, or of a number.
    [[nodiscard]] double number_of(int node_index) const
    {
        const node& n = c_.node_at(node_index);
        switch (n.type) {
            case dtype::f64:
                return read<double>(n);
            case dtype::f32:
                return static_cast<double>(read<float>(n));
            case dtype::f16:
                return static_cast<double>(static_cast<float>(read<f16>(n)));
            case dtype::bf16:
                return static_cast<double>(static_cast<float>(read<bf16>(n)));
            default:
                return std::bit_cast<double>(n.bits);
        }
    }
    /// The value of an integer scalar, or of a number.
    [[nodiscard]] std::uint64_t seed_of(int node_index) const
    {
        const node& n = c_.node_at(node_index);
        switch (n.type) {
            case dtype::i64:
                return static_cast<std::uint64_t>(read<std::int64_t>(n));
            case dtype::i32:
                return static_cast<std::uint64_t>(std::int64_t{read<std::int32_t>(n)});
            case dtype::u8:
                return read<std::uint8_t>(n);
            default:
                return static_cast<std::uint64_t>(std::bit_cast<double>(n.bits));
        }
    }
    template <class T>
    [[nodiscard]] T read(const node& scalar) const
    {
        T value;
        std::memcpy(&value, c_.args.scalar(scalar.name), sizeof value);
        return value;
    }

    const pass_context& c_;
    double world_;
};

}  // namespace plait::host
