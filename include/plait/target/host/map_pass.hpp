// The pass over elements: every fused kernel, and every collective, on the host.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/slice.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/plan.hpp>
#include <plait/target/host/all_reduce_crossover.hpp>
#include <plait/target/host/copy.hpp>
#include <plait/target/host/pass_context.hpp>
#include <plait/target/host/space.hpp>
#include <plait/target/host/space_reductions.hpp>
#include <plait/target/host/tile_inputs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plait::host {

/// From how many bytes of a result on, copies to peers go past the caches.
inline constexpr std::int64_t streaming_bytes = std::int64_t{1} << 21;

/// Elements that are computed and then handed to the peers at a time, where nothing is kept in tiles: the memory is read by
/// the computation and written by the copies in turns, and long turns are faster.
inline constexpr std::int64_t long_tile_elements = 8 * tile_elements;

class map_pass {
  public:
    explicit map_pass(const pass_context& c) : c_(c), inputs_(c), sums_(c) {}

    void run()
    {
        zero_other_roots();
        const node& n = c_.node_at(c_.pass.space);
        const int ranks = c_.args.ranks();
        for (int r = 0; r < c_.n_results(); ++r) { reduces_ = reduces_ || c_.result(r).reduces; }
        if (!reduces_) {
            walk(space_of(c_.args, n, c_.pass.slice_dim, c_.args.rank(), c_.within));
        } else if (c_.pass.slice_dim >= 0 || n.dims == 0) {
            sums_.start(1);
            walk(space_of(c_.args, n, c_.pass.slice_dim, c_.args.rank()));
            sums_.finish_part();
        } else {  // a whole value: part by part, as its slices would be reduced
            sums_.start(ranks);
            for (int part = 0; part < ranks; ++part) {
                walk(space_of(c_.args, n, 0, part));
                sums_.finish_part();
            }
        }
        if (reduces_) { sums_.finish(); }
        finish_streaming();
    }

    /// An unfused all_reduce: of n ranks, each combines one slice and hands it to all; or, where that is faster, each
    /// combines the whole by itself.
    void run_all_reduce()
    {
        const node& n = c_.slot_node(c_.operand(0).slot);
        const std::int64_t count = c_.args.elements_of(n);
        two_shot_ = is_two_shot(c_.args, n);
        const slice_range part = two_shot_ ? slice_of(count, c_.args.rank(), c_.args.ranks()) : slice_range{0, count};
        walk(line_of(part));
        finish_streaming();
    }

  private:
    [[nodiscard]] const pass_result& result(int r) const { return c_.result(r); }
    [[nodiscard]] channel& output(int r) const { return c_.scratch.channels[c_.n_operands() + r]; }
    [[nodiscard]] bool for_another_root(int r) const
    {
        return result(r).to == destination::root && result(r).root != c_.args.rank();
    }

    /// A result of `reduce` or `gather` is zero where the rank is not the root.
    void zero_other_roots() const
    {
        for (int r = 0; r < c_.n_results(); ++r) {
            if (!for_another_root(r)) { continue; }
            const std::size_t size = size_of(c_.slot_node(result(r).slot).type);
            c_.args.for_each_block(result(r).slot, [size](void* data, std::int64_t count) {
                if (count > 0) { std::memset(data, 0, static_cast<std::size_t>(count) * size); }
            });
        }
    }

    void walk(space s)
    {
        if (s.dims == 1) { s.tensors = tensors_of(c_.args, c_.pass, c_.node_at(c_.pass.space)); }
        c_.scratch.restart();
        c_.open_channels(s);
        inputs_.open();
        in_tiles_ = false;
        for (int r = 0; r < c_.n_results(); ++r) {
            const bool in_tile = result(r).reduces || for_another_root(r);
            output(r).tile = in_tile ? c_.scratch.next_tile() : nullptr;
            in_tiles_ = in_tiles_ || in_tile;
        }
        const auto run = [&](std::int64_t length, std::int64_t t) { run_tiles(length, t); };
        if (s.tensors != 0) {
            for_each_tensor_run(c_.args, s, c_.channels(), run);
        } else {
            collapse(s, c_.channels());
            for_each_run(s, c_.channels(), run);
        }
    }

    void run_tiles(std::int64_t length, std::int64_t t)
    {
        if (reduces_) { sums_.enter_tensor(t); }
        inputs_.start_run(t);
        start_deliveries(t);
        const std::int64_t most = in_tiles_ || inputs_.reads_tiles() ? tile_elements : long_tile_elements;
        for (std::int64_t done = 0; done < length; done += most) {
            const auto n = static_cast<std::size_t>(std::min(most, length - done));
            inputs_.load(done, n);
            for (int r = 0; r < c_.n_results(); ++r) {
                const channel& out = output(r);
                c_.scratch.pointers.out[r] = out.tile != nullptr ? out.tile : own_[r] + done * out.size;
            }
            c_.code.kernel(c_.scratch.pointers, n);
            if (reduces_) { add_terms(n); }
            for (const delivery& d : c_.scratch.deliveries) {
                const std::int64_t size = output(d.result).size;
                copy_out(d.start + done * size, static_cast<const std::byte*>(c_.scratch.pointers.out[d.result]),
                         n * static_cast<std::size_t>(size), d.streaming);
            }
        }
    }
    void add_terms(std::size_t n)
    {
        for (int r = 0; r < c_.n_results(); ++r) {
            if (result(r).reduces) { sums_.add(r, static_cast<const std::byte*>(c_.scratch.pointers.out[r]), n); }
        }
    }

    /// Where the results of a run go: this rank's buffers, and whom else each tile is handed to.
    void start_deliveries(std::int64_t t)
    {
        c_.scratch.deliveries.clear();
        for (int r = 0; r < c_.n_results(); ++r) {
            const channel& out = output(r);
            if (result(r).reduces) { continue; }
            if (out.tile == nullptr) { own_[r] = c_.address(out, c_.args.rank(), out.offset, t); }
            if (for_another_root(r)) {
                c_.scratch.deliveries.push_back({r, c_.address(out, result(r).root, out.offset, t), false});
            } else if (result(r).to == destination::all_ranks && two_shot_) {
                const bool streaming = streams(c_.args.elements_of(c_.slot_node(out.slot)) * out.size);
                for (int step = 1; step < c_.args.ranks(); ++step) {
                    const int peer = (c_.args.rank() + step) % c_.args.ranks();
                    c_.scratch.deliveries.push_back({r, c_.address(out, peer, out.offset, t), streaming});
                }
            }
        }
    }

    [[nodiscard]] bool streams(std::int64_t bytes) const
    {
        const peer_stores chosen = c_.args.parameters().stores;
        return chosen == peer_stores::automatic ? bytes >= streaming_bytes : chosen == peer_stores::streaming;
    }

    const pass_context& c_;
    tile_inputs inputs_;
    space_reductions sums_;
    bool reduces_ = false;
    bool in_tiles_ = false;  // some result is kept in a tile
    bool two_shot_ = true;
    std::byte* own_[max_results];  // by result: where this rank's buffer is in a run
};

}  // namespace plait::host
