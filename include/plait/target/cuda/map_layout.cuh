// The arguments of a kernel over elements, from the arguments of a run: tiles, addresses, strides, sums.
#pragma once

#include <plait/target/cuda/axis_kernel.cuh>
#include <plait/target/cuda/launch.cuh>

#include <cstdint>
#include <span>
#include <vector>

namespace plait::cuda {

/// Up to how many bytes every rank combines the whole of an unfused all_reduce by itself (one-shot) instead of handing
/// slices around (two-shot). All ranks decide alike.
struct all_reduce_crossover {
    int ranks;  // up to this many
    std::int64_t one_shot_bytes;
};
inline constexpr all_reduce_crossover all_reduce_crossovers[] = {{2, 1 << 19}, {4, 1 << 18}, {8, 1 << 17}, {1 << 30, 1 << 15}};
inline bool is_two_shot(const arguments& args, const node& n)
{
    const all_reduce_algorithm chosen = args.parameters().all_reduce;
    if (chosen != all_reduce_algorithm::automatic) { return chosen == all_reduce_algorithm::two_shot; }
    const std::int64_t bytes = args.elements_of(n) * static_cast<std::int64_t>(size_of(n.type));
    const auto* row = std::ranges::find_if(all_reduce_crossovers, [&](const auto& c) { return args.ranks() <= c.ranks; });
    return bytes > row->one_shot_bytes;
}

/// What a kernel was compiled for.
struct body_facts {
    bool is_strided = false;
    bool has_rows = false;
    int row_dims = 0;  // dimensions that rows are numbered along
    bool has_sums = false;
    int group = 4;
    bool along_axis = false;
};

/// One pass of one run, as its kernel sees it.
class map_layout {
  public:
    map_layout(pass_build& build, const body_facts& facts) : b_(build), facts_(facts), args_(build.args), pass_(build.pass)
    {
        find_space();
        open_channels();
        if (!facts.along_axis) { cut(); }
    }

    [[nodiscard]] const walk& space() const { return walk_; }
    /// A bound on the tiles of any rank.
    [[nodiscard]] std::int64_t most_tiles() const { return most_tiles_; }

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
        w.by_warp = w.axis == space_.inner;
        w.vectors = w.by_warp && w.axis == space_.dims - 1 && (w.parts == 1 || w.part % 4 == 0) && can_use_vectors();
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
        return pass_.slice_dim == b_.node_at(pass_.results[0].node).attrs.axis ? lines().lines : most_elements_ / std::max<std::int64_t>(1, e);
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
        set_peers(c, ch, one_shot_ ? 1 : args_.ranks(), args_.rank());
    }
    /// Where operand i, a dropout's mask, is along the space.
    [[nodiscard]] const host::stream& mask(int i) const { return channels_[static_cast<std::size_t>(i)].view; }

    [[nodiscard]] sums_channel sums()
    {
        sums_channel s;
        if (!facts_.has_sums) { return s; }
        s.n_tiles = walk_.tiles;
        s.n_parts = parts_;
        for (std::size_t r = 0; r < pass_.results.size(); ++r) {
            if (!pass_.results[r].reduces) { continue; }
            const node& n = b_.node_at(pass_.results[r].node);
            s.per_tensor[r] = n.kind == op::reduce_per_tensor;
            s.result[r] = args_.buffer(pass_.results[r].slot).data;
            if (s.per_tensor[r]) { s.n_tensors = args_.elements_of(n); }
            else { whole_count_ = args_.elements_of(b_.node_at(n.args[0])); }
        }
        for (sum_range& r : wholes_) { r.count = whole_count_; }
        s.wholes = b_.memory.table(std::span<const sum_range>(wholes_));
        s.tensors = b_.memory.table(std::span<const sum_range>(tensor_ranges_));
        const auto outputs = pass_.results.size();
        s.tiles = b_.memory.scratch<std::uint64_t>(outputs * static_cast<std::size_t>(s.n_tiles));
        s.parts = b_.memory.scratch<std::uint64_t>(outputs * static_cast<std::size_t>(s.n_parts * s.n_tensors));
        s.arrived = b_.memory.scratch<std::uint32_t>(1);
        return s;
    }

  private:
    void find_space()
    {
        if (pass_.kind == pass_kind::all_reduce) {
            const node& n = b_.slot_node(pass_.operands[0].slot);
            const std::int64_t count = args_.elements_of(n);
            one_shot_ = !is_two_shot(args_, n);
            const slice_range part = one_shot_ ? slice_range{0, count} : slice_of(count, args_.rank(), args_.ranks());
            space_ = host::line_of(part);
            most_elements_ = one_shot_ ? count : slice_of(count, 0, args_.ranks()).count;
            space_.tensors = host::tensors_of(args_, pass_, n);
            return;
        }
        const node& n = b_.node_at(pass_.space);
        parts_ = facts_.has_sums && pass_.slice_dim < 0 && n.dims > 0 ? args_.ranks() : 1;
        space_ = host::space_of(args_, n, pass_.slice_dim, args_.rank(), b_.within);
        const host::space largest = host::space_of(args_, n, pass_.slice_dim, 0, {});
        most_elements_ = host::elements_in(largest.dims, largest.count);
        space_.tensors = host::tensors_of(args_, pass_, n);
    }
    void open_channels()
    {
        for (const pass_operand& o : pass_.operands) {
            host::channel c;
            if (o.slot >= 0) { c = host::channel_of(args_, o.slot, space_); }
            else if (o.from == source::mask) { c.view = host::stream_of(args_, b_.node_at(o.node), space_, false); }
            channels_.push_back(c);
        }
        for (const pass_result& r : pass_.results) {
            channels_.push_back(r.reduces ? host::channel{} : host::channel_of(args_, r.slot, space_));
        }
        walk_.count = host::elements_in(space_.dims, space_.count);
        if (facts_.is_strided) {
            if (!facts_.along_axis) { host::collapse(space_, channels_); }
            walk_.dims = space_.dims;
            for (int d = 0; d < space_.dims; ++d) {
                walk_.counts[d] = space_.count[d];
                walk_.by[d] = divider::of(static_cast<std::uint32_t>(std::clamp<std::int64_t>(space_.count[d], 1, 0x7fff'ffff)));
            }
        }
        walk_.wide = walk_.count > 0x7fff'ffff;
        if (facts_.has_rows) {
            for (int d = facts_.row_dims; d < space_.dims; ++d) { walk_.row *= space_.count[d]; }
            walk_.by_row = divider::of(static_cast<std::uint32_t>(std::clamp<std::int64_t>(walk_.row, 1, 0x7fff'ffff)));
        }
    }
    /// Cuts the space into tiles.
    void cut()
    {
        const int step = warp_size * facts_.group;
        const std::int64_t warps = std::int64_t{b_.multiprocessors} * 8 * block_warps;
        const auto groups = static_cast<int>(std::clamp<std::int64_t>(most_elements_ / (step * warps), 1, 8));
        walk_.tile = facts_.has_sums ? sum_tile : step * groups;
        walk_.vectors = can_use_vectors();
        const bool is_one = parts_ == 1 && space_.tensors == 0;
        if (is_one) {
            if (!facts_.is_strided && !facts_.has_rows && !facts_.has_sums) { walk_.shift = shift(); }
            walk_.tiles = (walk_.count + walk_.shift + walk_.tile - 1) / walk_.tile;
            wholes_.push_back({0, walk_.tiles, 0});
        } else {
            cut_segments();
        }
        // Of counts, which all ranks know, not of what this rank has scattered: grids must be equal.
        const node& n = pass_.kind == pass_kind::all_reduce ? b_.slot_node(pass_.operands[0].slot) : b_.node_at(pass_.space);
        const bool made_of_tensors = n.dims == 1 && is_named(n.shape[0]) && !is_per_tensor(n.shape[0]);
        const std::int64_t ends = parts_ + (made_of_tensors ? args_.extent_of(tensors_base + n.shape[0]) : 0);
        most_tiles_ = (most_elements_ + walk_.tile - 1) / walk_.tile + ends;
    }
    void cut_segments()
    {
        std::vector<segment> all;
        const node& n = b_.node_at(pass_.space);
        const std::int64_t row = n.dims > 0 && parts_ > 1 ? walk_.count / std::max<std::int64_t>(1, args_.extent_of(n.shape[0])) : 1;
        for (int p = 0; p < parts_; ++p) {
            slice_range part{0, walk_.count};
            if (parts_ > 1) {
                part = slice_of(args_.extent_of(n.shape[0]), p, parts_);
                part = {part.begin * row, part.count * row};
            }
            const std::int64_t first = walk_.tiles;
            if (space_.tensors == 0) { add(all, {walk_.tiles, part.begin, part.count, 0, 0}); }
            else { cut_tensors(all, part); }
            wholes_.push_back({first, walk_.tiles, 0});
        }
        const bool in_pieces = std::ranges::any_of(channels_, [](const host::channel& c) { return c.view.in_pieces; });
        if (all.size() == 1 && !in_pieces) {
            walk_.tensor = all[0].tensor;
            return;
        }
        walk_.n_segments = static_cast<int>(all.size());
        walk_.segments = b_.memory.table(std::span<const segment>(all));
    }
    void cut_tensors(std::vector<segment>& all, const slice_range& part)
    {
        const std::int64_t begin = space_.begin[0] + part.begin;  // in the dimension
        const std::int64_t end = begin + part.count;
        const std::int64_t n_tensors = args_.extent_of(tensors_base + space_.tensors);
        std::int64_t start = 0;
        for (std::int64_t t = 0; t < n_tensors; ++t) {
            const std::int64_t length = args_.tensor_count(space_.tensors, t);
            const std::int64_t from = std::max(start, begin);
            const std::int64_t to = std::min(start + length, end);
            const std::int64_t first = walk_.tiles;
            if (from < to) { add(all, {first, from - space_.begin[0], to - from, from - start, t}); }
            tensor_ranges_.push_back({first, walk_.tiles, length});
            start += length;
        }
    }
    void add(std::vector<segment>& all, const segment& s)
    {
        if (s.count == 0) { return; }
        all.push_back(s);
        walk_.tiles += (s.count + walk_.tile - 1) / walk_.tile;
    }

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
    [[nodiscard]] std::byte* const* table_of(const std::vector<std::byte*>& addresses)
    {
        return addresses.empty() ? nullptr : b_.memory.table(std::span<std::byte* const>(addresses));
    }
    void clear_own(int slot)
    {
        const std::size_t size = size_of(b_.slot_node(slot).type);
        args_.for_each_block(slot, [&](void* data, std::int64_t count) {
            if (count > 0) { b_.list.push_back(std::make_unique<clearing>(data, static_cast<std::size_t>(count) * size)); }
        });
    }

    /// Whether groups of elements may be loaded at once wherever this rank's addresses are aligned: other ranks' must be
    /// aligned alike, and rows of strided spaces must be whole groups.
    [[nodiscard]] bool can_use_vectors() const
    {
        const int d = space_.dims;
        if (facts_.is_strided && d > 1 && space_.count[d - 1] % facts_.group != 0) { return false; }
        if (facts_.is_strided && parts_ > 1) {  // parts begin at groups
            const std::int64_t outer = std::max<std::int64_t>(1, args_.extent_of(b_.node_at(pass_.space).shape[0]));
            if (walk_.count / outer % facts_.group != 0) { return false; }
        }
        if (facts_.has_rows && walk_.row % facts_.group != 0) { return false; }
        for (std::size_t i = 0; i < channels_.size(); ++i) {
            const host::channel& ch = channels_[i];
            if (ch.slot < 0) { continue; }
            const std::int64_t alignment = std::min<std::int64_t>(16, ch.size * facts_.group);
            const bool is_result = i >= pass_.operands.size();
            const bool one_element = !is_result && facts_.is_strided && pass_.operands[i].uniform;
            if (one_element) { continue; }
            for (int r = 0; r < args_.ranks(); ++r) {
                if (!aligned_like(args_.buffer(ch.slot, r), args_.buffer(ch.slot))) { return false; }
            }
            if (!facts_.is_strided) { continue; }
            const auto base = reinterpret_cast<std::uintptr_t>(args_.buffer(ch.slot).data);
            if ((static_cast<std::int64_t>(base % 16) + ch.view.offset * ch.size) % alignment != 0) { return false; }
            for (int k = 0; k + 1 < d; ++k) {
                if (ch.view.stride[k] * ch.size % alignment != 0) { return false; }
            }
        }
        return true;
    }
    static bool aligned_like(const bound_buffer& a, const bound_buffer& b)
    {
        const auto low = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16; };
        if (a.pieces.size() != b.pieces.size()) { return true; }  // of another group: not touched
        for (std::size_t i = 0; i < a.pieces.size(); ++i) {
            if (low(a.pieces[i].data) != low(b.pieces[i].data)) { return false; }
        }
        return a.data == nullptr || b.data == nullptr || low(a.data) == low(b.data);
    }
    /// By how many elements the buffers begin past an aligned address: of the one with the smallest elements.
    [[nodiscard]] int shift() const
    {
        std::int64_t smallest = 64;
        std::int64_t past = 0;
        for (const host::channel& ch : channels_) {
            if (ch.slot < 0 || ch.size >= smallest || ch.view.stride[0] == 0) { continue; }
            const auto base = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(args_.buffer(ch.slot).data) % 16);
            const std::int64_t alignment = std::min<std::int64_t>(16, ch.size * facts_.group);
            smallest = ch.size;
            past = (base + ch.view.offset * ch.size) % alignment / ch.size;
        }
        return static_cast<int>(past);
    }

    pass_build& b_;
    body_facts facts_;
    const arguments& args_;
    const pass_view& pass_;
    host::space space_;
    std::vector<host::channel> channels_;
    walk walk_;
    int parts_ = 1;
    bool one_shot_ = false;
    std::int64_t most_elements_ = 0;
    std::int64_t most_tiles_ = 0;
    std::int64_t whole_count_ = 0;
    std::vector<sum_range> wholes_;
    std::vector<sum_range> tensor_ranges_;
};

}  // namespace plait::cuda
