// The numbers and the memory of one run, complete: what the passes of a plan work on.
#pragma once

#include <plait/core/slice.hpp>
#include <plait/core/view.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/plan/parameters.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait {

/// One of the separate buffers that make up a scattered tensor.
struct piece {
    void* data = nullptr;
    std::int64_t count = 0;
    bool operator==(const piece&) const = default;
};

/// A buffer of a run: contiguous, or in pieces.
struct bound_buffer {
    std::byte* data = nullptr;
    view<const piece> pieces{};
};

/// The arguments of a run by slot and symbol. Filled by run/bind.hpp, again for every run, without allocating.
class arguments {
  public:
    /// For one of `world_size` ranks, which must be a multiple of the program's groups.
    arguments(const program_image& image, int world_rank, int world_size)
        : image_(image),
          world_rank_(world_rank),
          world_size_(world_size),
          ranks_(world_size / image.groups),
          rank_(world_rank % ranks_),
          extents_(image.symbols.size(), -1),
          counts_(image.symbols.size()),
          scalars_(image.symbols.size() * 8),
          buffers_(static_cast<std::size_t>(image.n_slots() * ranks_))
    {
    }

    [[nodiscard]] const program_image& image() const { return image_; }
    /// This rank in its pipeline group, and the ranks of the group.
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int ranks() const { return ranks_; }
    [[nodiscard]] int group() const { return world_rank_ / ranks_; }
    /// And among all ranks of the program's groups.
    [[nodiscard]] int world_rank() const { return world_rank_; }
    [[nodiscard]] int world_size() const { return world_size_; }
    /// Whether this rank has part in what belongs to a group: its tensors, its passes.
    [[nodiscard]] bool is_in(int of_group) const { return of_group == any_group || of_group == group(); }
    [[nodiscard]] bool holds(int slot) const { return is_in(image_.slot_node(slot).group); }
    /// The rank, among all, that holds the buffer of rank `r` of the group that a slot belongs to.
    [[nodiscard]] int holder_of(int slot, int r) const
    {
        const int g = image_.slot_node(slot).group;
        return (g == any_group ? group() : g) * ranks_ + r;
    }

    /// The number of an extent; -1 while it is not known. Of the tensors of a dimension: 1 if nothing divides it.
    [[nodiscard]] std::int64_t extent_of(packed_extent e) const
    {
        if (!is_named(e)) { return e; }
        const auto symbol = static_cast<std::size_t>(symbol_of(e));
        if (!is_per_tensor(e)) { return extents_[symbol]; }
        return std::max<std::int64_t>(1, static_cast<std::int64_t>(counts_[symbol].size()));
    }
    /// Elements of the whole of a node's value.
    [[nodiscard]] std::int64_t elements_of(const node& n) const
    {
        std::int64_t count = 1;
        for (int d = 0; d < n.dims; ++d) { count *= extent_of(n.shape[d]); }
        return count;
    }
    /// Elements that this rank holds: its slice's where the value is sliced.
    [[nodiscard]] std::int64_t stored_elements_of(const node& n) const
    {
        std::int64_t count = 1;
        for (int d = 0; d < n.dims; ++d) { count *= stored_extent_of(n, d); }
        return count;
    }
    [[nodiscard]] std::int64_t stored_extent_of(const node& n, int d) const
    {
        const std::int64_t e = extent_of(n.shape[d]);
        return n.layout == layout_kind::sliced && d == n.slice_dim ? slice_of(e, rank_, ranks_).count : e;
    }
    /// Elements of tensor t of a dimension made up of tensors: of its pieces, of its partition, or the whole.
    [[nodiscard]] std::int64_t tensor_count(packed_extent e, std::int64_t t) const
    {
        const auto symbol = static_cast<std::size_t>(symbol_of(e));
        return counts_[symbol].empty() ? extents_[symbol] : counts_[symbol][static_cast<std::size_t>(t)];
    }

    /// The buffer for a slot of a rank of the group that it belongs to: without a rank, of this one or, for a slot of
    /// another group, of the equal rank there.
    [[nodiscard]] const bound_buffer& buffer(int slot, int rank) const { return buffers_[index(slot, rank)]; }
    [[nodiscard]] bound_buffer& buffer(int slot, int rank) { return buffers_[index(slot, rank)]; }
    [[nodiscard]] const bound_buffer& buffer(int slot) const { return buffer(slot, rank_); }
    [[nodiscard]] bound_buffer& buffer(int slot) { return buffer(slot, rank_); }

    /// Calls use(data, elements) for the memory of this rank's buffer for a slot: once, or for each of its pieces.
    template <class Use>
    void for_each_block(int slot, Use&& use) const
    {
        const bound_buffer& b = buffer(slot);
        for (const piece& p : b.pieces) { use(p.data, p.count); }
        if (b.pieces.empty()) { use(static_cast<void*>(b.data), stored_elements_of(image_.slot_node(slot))); }
    }

    /// What the schedule leaves open.
    [[nodiscard]] const plait::parameters& parameters() const { return parameters_; }
    void set_parameters(const plait::parameters& p) { parameters_ = p; }

    /// The bytes of a scalar's value.
    [[nodiscard]] const unsigned char* scalar(int symbol) const
    {
        return &scalars_[static_cast<std::size_t>(symbol) * 8];
    }
    [[nodiscard]] unsigned char* scalar(int symbol) { return &scalars_[static_cast<std::size_t>(symbol) * 8]; }

    /// By symbol: the number of a dimension (-1: not known), and the counts of its tensors (empty: one tensor).
    [[nodiscard]] view<std::int64_t> extents() { return {extents_.data(), extents_.size()}; }
    [[nodiscard]] view<const std::int64_t> extents() const { return {extents_.data(), extents_.size()}; }
    [[nodiscard]] view<view<const std::int64_t>> counts() { return {counts_.data(), counts_.size()}; }
    [[nodiscard]] view<const view<const std::int64_t>> counts() const { return {counts_.data(), counts_.size()}; }

  private:
    [[nodiscard]] std::size_t index(int slot, int rank) const { return static_cast<std::size_t>(slot * ranks_ + rank); }

    program_image image_;
    plait::parameters parameters_;
    int world_rank_;
    int world_size_;
    int ranks_;
    int rank_;
    std::vector<std::int64_t> extents_;
    std::vector<view<const std::int64_t>> counts_;
    std::vector<unsigned char> scalars_;
    std::vector<bound_buffer> buffers_;
};

}  // namespace plait
