// How the space of a kernel over elements is cut into tiles: by parts of sums and by tensors, alike on all ranks.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/target/cuda/map_space.cuh>
#include <plait/target/cuda/sums.cuh>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plait::cuda {

/// The tiles of this rank's part of a pass, which is looked at as long as they are.
class map_tiles {
  public:
    map_tiles(pass_build& b, const map_space& of) : b_(b), args_(b.args), of_(of), space_(of.space()), walk_(of.uncut())
    {
        if (!of.facts().along_axis) { cut(); }
    }
    map_tiles(const map_tiles&) = delete;
    map_tiles& operator=(const map_tiles&) = delete;

    [[nodiscard]] const walk& space() const { return walk_; }
    /// A bound on the tiles of any rank.
    [[nodiscard]] std::int64_t most_tiles() const { return most_tiles_; }
    /// The tiles of each part; their counts are left open.
    [[nodiscard]] const std::vector<sum_range>& wholes() const { return wholes_; }
    /// The tiles of each tensor in each part.
    [[nodiscard]] const std::vector<sum_range>& tensors() const { return tensors_; }

  private:
    void cut()
    {
        const body_facts& facts = of_.facts();
        const int step = warp_size * facts.group;
        const std::int64_t warps = std::int64_t{b_.multiprocessors} * 8 * block_warps;
        const auto groups = static_cast<int>(std::clamp<std::int64_t>(of_.most_elements() / (step * warps), 1, 8));
        walk_.tile = facts.has_sums ? sum_tile : step * groups;
        walk_.vectors = of_.allows_vectors();
        const bool is_one = of_.parts() == 1 && space_.tensors == 0;
        if (is_one) {
            if (!facts.is_strided && !facts.has_rows && !facts.has_sums) { walk_.shift = of_.shift(); }
            walk_.tiles = (walk_.count + walk_.shift + walk_.tile - 1) / walk_.tile;
            wholes_.push_back({0, walk_.tiles, 0});
        } else {
            cut_segments();
        }
        // Of counts, which all ranks know, not of what this rank has scattered: grids must be equal.
        const node& n = b_.pass.kind == pass_kind::all_reduce ? b_.slot_node(b_.pass.operands[0].slot) : b_.node_at(b_.pass.space);
        const bool made_of_tensors = n.dims == 1 && is_named(n.shape[0]) && !is_per_tensor(n.shape[0]);
        const std::int64_t ends = of_.parts() + (made_of_tensors ? args_.extent_of(tensors_base + n.shape[0]) : 0);
        most_tiles_ = (of_.most_elements() + walk_.tile - 1) / walk_.tile + ends;
    }
    void cut_segments()
    {
        std::vector<segment> all;
        const node& n = b_.node_at(b_.pass.space);
        const std::int64_t row = n.dims > 0 && of_.parts() > 1 ? walk_.count / std::max<std::int64_t>(1, args_.extent_of(n.shape[0])) : 1;
        for (int p = 0; p < of_.parts(); ++p) {
            slice_range part{0, walk_.count};
            if (of_.parts() > 1) {
                part = slice_of(args_.extent_of(n.shape[0]), p, of_.parts());
                part = {part.begin * row, part.count * row};
            }
            const std::int64_t first = walk_.tiles;
            if (space_.tensors == 0) { add(all, {walk_.tiles, part.begin, part.count, 0, 0}); }
            else { cut_tensors(all, part); }
            wholes_.push_back({first, walk_.tiles, 0});
        }
        const bool in_pieces = plait::detail::any_of(of_.channels(), [](const host::channel& c) { return c.view.in_pieces; });
        if (all.size() == 1 && !in_pieces) {
            walk_.tensor = all[0].tensor;
            return;
        }
        walk_.n_segments = static_cast<int>(all.size());
        walk_.segments = b_.memory.table(all);
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
            tensors_.push_back({first, walk_.tiles, length});
            start += length;
        }
    }
    void add(std::vector<segment>& all, const segment& s)
    {
        if (s.count == 0) { return; }
        all.push_back(s);
        walk_.tiles += (s.count + walk_.tile - 1) / walk_.tile;
    }

    pass_build& b_;
    const arguments& args_;
    const map_space& of_;
    const host::space& space_;
    walk walk_;
    std::int64_t most_tiles_ = 0;
    std::vector<sum_range> wholes_;
    std::vector<sum_range> tensors_;
};

}  // namespace plait::cuda
