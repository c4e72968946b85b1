// The arguments of a kernel over elements, from the arguments of a run: tiles, addresses, strides, sums.
#pragma once

#include <plait/target/cuda/axis_kernel.cuh>
#include <plait/target/cuda/launch.cuh>
#include <plait/target/cuda/map_tiles.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace plait::cuda {

/// One pass of one run, as its kernel sees it.
class map_layout {
  public:
    map_layout(pass_build& b, const body_facts& facts)
        : b_(b), args_(b.args), pass_(b.pass), part_(b, facts), tiles_(b, part_), space_(part_.space()), channels_(part_.channels())
    {
    }

    [[nodiscard]] const walk& space() const { return tiles_.space(); }
    /// A bound on the tiles of any rank.
    [[nodiscard]] std::int64_t most_tiles() const { return tiles_.most_tiles(); }
    /// And on the elements of any rank.
    [[nodiscard]] std::int64_t most_elements() const { return part_.most_elements(); }

    /// This rank's lines along the axis of a reduction, and a bound on those of any rank.
    [[nodiscard]] axis_walk lines() const
    {
        axis_walk w;
        const node& n = b_.node_at(pass_.results[0].node);
        const node& from = b_.node_at(pass_.space);
        w.axis = n.attrs.axis;
        w.dims = space_.dims;
        w.extent = space_.count[w.axis];
        w.parts = pass_.slice_dim == w.axis ? 1 : args_.ranks();
        w.part = slice_of(w.extent, 0, w.parts).count;
        const std::int64_t part = slice_of(args_.extent_of(from.shape[w.axis]), 0, args_.ranks()).count;  // also where this rank's is shorter
        w.threads = w.axis == space_.inner ? threads_of_part(part) : 1;
        w.in_few_turns = part <= std::int64_t{w.threads} * line_group * line_turns;
        w.vectors = w.threads > 1 && w.axis == space_.dims - 1 && (w.parts == 1 || w.part % line_group == 0) && part_.allows_vectors();
        if (n.attrs.combine == reduction::mean) { w.divisor = static_cast<double>(args_.extent_of(from.shape[w.axis])); }
        w.lines = 1;
        std::int64_t stride = 1;
        std::int64_t offset = 0;
        for (int d = space_.dims - 1; d >= 0; --d) {
            if (d == w.axis) { continue; }
            w.lines *= space_.count[d];
            const std::int64_t e = args_.extent_of(from.shape[d]);
            const slice_range held = d == pass_.slice_dim ? slice_of(e, args_.rank(), args_.ranks()) : slice_range{0, e};
            w.stride[d] = stride;
            offset += (space_.begin[d] - held.begin) * stride;
            stride *= held.count;
        }
        w.result = args_.buffer(pass_.results[0].slot).data;
        if (w.result != nullptr) { w.result += offset * static_cast<std::int64_t>(size_of(n.type)); }
        return w;
    }
    [[nodiscard]] std::int64_t most_lines() const
    {
        const std::int64_t e = space_.count[b_.node_at(pass_.results[0].node).attrs.axis];
        return pass_.slice_dim == b_.node_at(pass_.results[0].node).attrs.axis ? lines().lines : part_.most_elements() / std::max<std::int64_t>(1, e);
    }

    /// Operand i: of one rank, or of all.
    void set_operand(memory_channel& c, int i) { c = memory(channels_[static_cast<std::size_t>(i)], operand_rank(i)); }
    void set_operand(peers_channel& c, int i)
    {
        const pass_operand& o = pass_.operands[static_cast<std::size_t>(i)];
        const host::channel& ch = channels_[static_cast<std::size_t>(i)];
        static_cast<memory_channel&>(c) = memory(ch, operand_rank(i));
        set_peers(c, ch, args_.ranks(), 0);
        if (o.from == source::root_combined && args_.rank() != o.root) { c.ranks = 0; }
    }
    /// Result r: to one rank, or to all, of which each rank begins with itself.
    void set_result(memory_channel& c, int r)
    {
        const pass_result& result = pass_.results[static_cast<std::size_t>(r)];
        const int to = result.to == destination::root ? result.root : args_.rank();
        c = memory(result_channel(r), to);
        if (result.to == destination::root && to != args_.rank()) { clear_own(result.slot); }
    }
    void set_result(peers_channel& c, int r)
    {
        const host::channel& ch = result_channel(r);
        static_cast<memory_channel&>(c) = memory(ch, args_.rank());
        set_peers(c, ch, part_.is_one_shot() ? 1 : args_.ranks(), args_.rank());
    }
    void set_operand(multicast_channel& c, int i)
    {
        set_operand(static_cast<peers_channel&>(c), i);
        c.multicast = multicast_of(channels_[static_cast<std::size_t>(i)]);
    }
    void set_result(multicast_channel& c, int r)
    {
        set_result(static_cast<peers_channel&>(c), r);
        c.multicast = multicast_of(result_channel(r));
    }
    /// Where operand i, a dropout's mask, is along the space.
    [[nodiscard]] const host::stream& mask(int i) const { return channels_[static_cast<std::size_t>(i)].view; }

    [[nodiscard]] sums_channel sums()
    {
        sums_channel s;
        if (!part_.facts().has_sums) { return s; }
        s.n_tiles = tiles_.space().tiles;
        s.n_parts = part_.parts();
        std::int64_t whole_count = 0;
        for (std::size_t r = 0; r < pass_.results.size(); ++r) {
            if (!pass_.results[r].reduces) { continue; }
            const node& n = b_.node_at(pass_.results[r].node);
            s.per_tensor[r] = n.kind == op::reduce_per_tensor;
            s.result[r] = args_.buffer(pass_.results[r].slot).data;
            if (s.per_tensor[r]) { s.n_tensors = args_.elements_of(n); }
            else { whole_count = args_.elements_of(b_.node_at(n.args[0])); }
        }
        std::vector<sum_range> wholes = tiles_.wholes();
        for (sum_range& r : wholes) { r.count = whole_count; }
        s.wholes = b_.memory.table(wholes);
        s.tensors = b_.memory.table(tiles_.tensors());
        const auto outputs = pass_.results.size();
        s.tiles = b_.memory.scratch<std::uint64_t>(outputs * static_cast<std::size_t>(s.n_tiles));
        s.parts = b_.memory.scratch<std::uint64_t>(outputs * static_cast<std::size_t>(s.n_parts * s.n_tensors));
        s.arrived = b_.memory.scratch<std::uint32_t>(1);
        return s;
    }

  private:
    [[nodiscard]] int operand_rank(int i) const
    {
        const pass_operand& o = pass_.operands[static_cast<std::size_t>(i)];
        return o.from == source::from_root ? o.root : args_.rank();
    }
    [[nodiscard]] const host::channel& result_channel(int r) const
    {
        return channels_[pass_.operands.size() + static_cast<std::size_t>(r)];
    }
    [[nodiscard]] static std::byte* first_element(const bound_buffer& b, const host::channel& ch)
    {
        return b.data == nullptr ? nullptr : b.data + (ch.view.per_tensor ? 0 : ch.view.offset) * ch.size;
    }
    [[nodiscard]] memory_channel memory(const host::channel& ch, int rank)
    {
        memory_channel c;
        const bound_buffer& b = args_.buffer(ch.slot, rank);
        std::copy_n(ch.view.stride, max_dims, c.stride);
        c.base = first_element(b, ch);
        if (!ch.view.in_pieces) { return c; }
        std::vector<std::byte*> table;
        for (const piece& p : b.pieces) { table.push_back(static_cast<std::byte*>(p.data)); }
        c.pieces = static_cast<int>(b.pieces.size());
        c.table = table_of(table);
        return c;
    }
    void set_peers(peers_channel& c, const host::channel& ch, int count, int first)
    {
        c.ranks = count;
        std::vector<std::byte*> table;
        for (int k = 0; k < count; ++k) {
            const bound_buffer& theirs = args_.buffer(ch.slot, (first + k) % args_.ranks());
            if (ch.view.in_pieces) {
                for (const piece& p : theirs.pieces) { table.push_back(static_cast<std::byte*>(p.data)); }
            } else {
                table.push_back(first_element(theirs, ch));
                if (k < direct_ranks) { c.direct[k] = table.back(); }
            }
        }
        c.all = table_of(table);
    }
    [[nodiscard]] std::byte* multicast_of(const host::channel& ch) const
    {
        std::vector<std::byte*> all;
        for (int r = 0; r < args_.ranks(); ++r) { all.push_back(first_element(args_.buffer(ch.slot, r), ch)); }
        return b_.multicast->find(all);
    }
    [[nodiscard]] std::byte* const* table_of(const std::vector<std::byte*>& addresses)
    {
        return addresses.empty() ? nullptr : b_.memory.table(addresses);
    }
    void clear_own(int slot)
    {
        const std::size_t size = size_of(b_.slot_node(slot).type);
        args_.for_each_block(slot, [&](void* data, std::int64_t count) {
            if (count > 0) { b_.list.push_back(std::unique_ptr<launch>(new clearing(data, static_cast<std::size_t>(count) * size))); }
        });
    }

    pass_build& b_;
    const arguments& args_;
    const pass_view& pass_;
    map_space part_;
    map_tiles tiles_;
    const host::space& space_;
    const std::vector<host::channel>& channels_;
};

}  // namespace plait::cuda
