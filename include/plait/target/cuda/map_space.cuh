// The space of a kernel over elements in one run: how many elements, where each operand and result lies, how it is aligned.
#pragma once

#include <plait/target/cuda/all_reduce_crossover.cuh>
#include <plait/target/cuda/launch.cuh>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plait::cuda {

/// What a kernel was compiled for.
struct body_facts {
    bool is_strided = false;
    bool has_rows = false;
    int row_dims = 0;  // dimensions that rows are numbered along
    bool has_sums = false;
    int group = 4;
    bool along_axis = false;
};

/// This rank's part of a pass.
class map_space {
  public:
    map_space(const pass_build& b, const body_facts& facts) : facts_(facts), args_(b.args), pass_(b.pass)
    {
        find_space(b);
        open_channels(b);
    }

    [[nodiscard]] const body_facts& facts() const { return facts_; }
    [[nodiscard]] const host::space& space() const { return space_; }
    /// Of the operands, then of the results.
    [[nodiscard]] const std::vector<host::channel>& channels() const { return channels_; }
    /// Parts that are added up one by one.
    [[nodiscard]] int parts() const { return parts_; }
    /// Whether every rank combines the whole of an all_reduce.
    [[nodiscard]] bool is_one_shot() const { return one_shot_; }
    /// A bound on the elements of any rank.
    [[nodiscard]] std::int64_t most_elements() const { return most_elements_; }
    /// The space before it is cut into tiles.
    [[nodiscard]] const walk& uncut() const { return start_; }

    /// Whether groups of elements may be loaded at once wherever this rank's addresses are aligned: other ranks' must be
    /// aligned alike, and rows of strided spaces must be whole groups.
    [[nodiscard]] bool allows_vectors() const
    {
        const int d = space_.dims;
        if (facts_.is_strided && d > 1 && space_.count[d - 1] % facts_.group != 0) { return false; }
        if (facts_.is_strided && parts_ > 1) {  // parts begin at groups
            const std::int64_t outer = std::max<std::int64_t>(1, args_.extent_of(args_.image().node_of(pass_.space).shape[0]));
            if (start_.count / outer % facts_.group != 0) { return false; }
        }
        if (facts_.has_rows && start_.row % facts_.group != 0) { return false; }
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

  private:
    void find_space(const pass_build& b)
    {
        if (pass_.kind == pass_kind::all_reduce) {
            const node& n = b.slot_node(pass_.operands[0].slot);
            const std::int64_t count = args_.elements_of(n);
            one_shot_ = !is_two_shot(args_, n, b.multicast != nullptr);
            const slice_range part = one_shot_ ? slice_range{0, count} : slice_of(count, args_.rank(), args_.ranks());
            space_ = host::line_of(part);
            most_elements_ = one_shot_ ? count : slice_of(count, 0, args_.ranks()).count;
            space_.tensors = host::tensors_of(args_, pass_, n);
            return;
        }
        const node& n = b.node_at(pass_.space);
        parts_ = facts_.has_sums && pass_.slice_dim < 0 && n.dims > 0 ? args_.ranks() : 1;
        space_ = host::space_of(args_, n, pass_.slice_dim, args_.rank(), b.within);
        const host::space largest = host::space_of(args_, n, pass_.slice_dim, 0, {});
        most_elements_ = host::elements_in(largest.dims, largest.count);
        space_.tensors = host::tensors_of(args_, pass_, n);
    }
    void open_channels(const pass_build& b)
    {
        for (const pass_operand& o : pass_.operands) {
            host::channel c;
            if (o.slot >= 0) { c = host::channel_of(args_, o.slot, space_); }
            else if (o.from == source::mask) { c.view = host::stream_of(args_, b.node_at(o.node), space_, false); }
            channels_.push_back(c);
        }
        for (const pass_result& r : pass_.results) {
            channels_.push_back(r.reduces ? host::channel{} : host::channel_of(args_, r.slot, space_));
        }
        start_.count = host::elements_in(space_.dims, space_.count);
        if (facts_.is_strided) {
            if (!facts_.along_axis) { host::collapse(space_, {channels_.data(), channels_.size()}); }
            start_.dims = space_.dims;
            for (int d = 0; d < space_.dims; ++d) {
                start_.counts[d] = space_.count[d];
                start_.by[d] = divider::of(static_cast<std::uint32_t>(std::clamp<std::int64_t>(space_.count[d], 1, 0x7fff'ffff)));
            }
        }
        start_.wide = start_.count > 0x7fff'ffff;
        if (facts_.has_rows) {
            for (int d = facts_.row_dims; d < space_.dims; ++d) { start_.row *= space_.count[d]; }
            start_.by_row = divider::of(static_cast<std::uint32_t>(std::clamp<std::int64_t>(start_.row, 1, 0x7fff'ffff)));
        }
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

    body_facts facts_;
    const arguments& args_;
    const pass_view& pass_;
    host::space space_;
    std::vector<host::channel> channels_;
    walk start_;
    int parts_ = 1;
    bool one_shot_ = false;
    std::int64_t most_elements_ = 0;
};

}  // namespace plait::cuda
