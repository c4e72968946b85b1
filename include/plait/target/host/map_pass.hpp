// The pass over elements: every fused kernel, and every collective, on the host.
#pragma once

#include <plait/target/host/copy.hpp>
#include <plait/target/host/tile_inputs.hpp>

#include <array>

namespace plait::host {

/// From how many bytes of a result on, copies to peers go past the caches.
inline constexpr std::int64_t streaming_bytes = std::int64_t{1} << 21;

class map_pass {
  public:
    explicit map_pass(const pass_context& c) : c_(c), n_operands_(c.pass.n_operands), n_streams_(n_operands_ + c.pass.n_results)
    {
        c_.tiles.restart();
    }

    void run()
    {
        zero_other_roots();
        bool reduces = false;
        for (int r = 0; r < c_.pass.n_results; ++r) { reduces = reduces || c_.pass.results[r].reduces; }
        const node& n = c_.node_at(c_.pass.space);
        if (!reduces) {
            run_part(space_of(c_.args, n, c_.pass.slice_dim, c_.args.rank()));
        } else if (c_.pass.slice_dim >= 0 || n.dims == 0) {
            start_reductions(1);
            run_part(space_of(c_.args, n, c_.pass.slice_dim, c_.args.rank()));
            finish_part(0);
            finish_reductions(1);
        } else {  // a whole value: part by part, as its slices would be reduced
            start_reductions(c_.args.ranks());
            for (int part = 0; part < c_.args.ranks(); ++part) {
                run_part(space_of(c_.args, n, 0, part));
                finish_part(part);
            }
            finish_reductions(c_.args.ranks());
        }
        finish_streaming();
    }

    /// An unfused all_reduce of a contiguous or scattered value: of n ranks, each combines one slice and hands it to
    /// all; or, below a size, each combines the whole by itself.
    void run_all_reduce()
    {
        const node& n = c_.slot_node(c_.pass.operands[0].slot);
        space s;
        s.dims = 1;
        s.inner = 0;
        const std::int64_t count = c_.args.elements_of(n);
        two_shot_ = c_.args.ranks() > 2 || count * static_cast<std::int64_t>(size_of(n.type)) > one_shot_bytes;
        const slice_range part = two_shot_ ? slice_of(count, c_.args.rank(), c_.args.ranks()) : slice_range{0, count};
        s.begin[0] = part.begin;
        s.count[0] = part.count;
        flat_ = true;
        run_part(s);
        finish_streaming();
    }

  private:
    static constexpr std::int64_t one_shot_bytes = 1 << 14;

    [[nodiscard]] const pass_operand& operand(int i) const { return c_.pass.operands[i]; }
    [[nodiscard]] const pass_result& result(int r) const { return c_.pass.results[r]; }

    /// A result of `reduce` or `gather` is zero where the rank is not the root.
    void zero_other_roots()
    {
        for (int r = 0; r < c_.pass.n_results; ++r) {
            if (result(r).to != destination::root || result(r).root == c_.args.rank()) { continue; }
            const node& n = c_.slot_node(result(r).slot);
            const bound_buffer& b = c_.args.buffer(result(r).slot);
            const std::size_t size = size_of(n.type);
            for (const piece& p : b.pieces) { std::memset(p.data, 0, static_cast<std::size_t>(p.count) * size); }
            const auto bytes = static_cast<std::size_t>(c_.args.stored_elements_of(n)) * size;
            if (b.pieces.empty() && bytes > 0) { std::memset(b.data, 0, bytes); }
        }
    }

    void make_streams(space& s)
    {
        if (s.dims == 1) { find_tensors(s); }
        for (int i = 0; i < n_operands_; ++i) {
            stream& v = streams_[static_cast<std::size_t>(i)];
            v = stream{};
            if (operand(i).from == source::mask) {
                v = stream_of(c_.args, c_.node_at(operand(i).node), s, false);
            } else if (operand(i).slot >= 0) {
                v = slot_stream(operand(i).slot, s);
            }
        }
        for (int r = 0; r < c_.pass.n_results; ++r) {
            streams_[static_cast<std::size_t>(n_operands_ + r)] = result(r).reduces ? stream{} : slot_stream(result(r).slot, s);
        }
    }
    stream slot_stream(int slot, const space& s) const
    {
        if (flat_) {
            stream v;
            v.stride[0] = 1;
            v.offset = s.begin[0];
            v.pieces = c_.args.buffer(slot).pieces;
            return v;
        }
        const node& n = c_.slot_node(slot);
        stream v = stream_of(c_.args, n, s, n.layout == layout_kind::sliced);
        v.pieces = c_.args.buffer(slot).pieces;
        return v;
    }
    /// Whether the pass must go tensor by tensor: something is scattered, or there is one value per tensor.
    void find_tensors(space& s) const
    {
        const node& n = c_.node_at(c_.pass.space);
        if (n.dims != 1 || !is_named(n.shape[0]) || is_per_tensor(n.shape[0])) { return; }
        const auto look = [&](int slot) {
            if (slot < 0) { return; }
            const node& v = c_.slot_node(slot);
            const bool per = v.dims == 1 && is_per_tensor(v.shape[0]);
            if (per || !c_.args.buffer(slot).pieces.empty()) { s.tensors = n.shape[0]; }
        };
        for (int i = 0; i < n_operands_; ++i) { look(operand(i).slot); }
        for (int r = 0; r < c_.pass.n_results; ++r) { look(result(r).slot); }
    }

    void run_part(space s)
    {
        make_streams(s);
        c_.tiles.restart();
        assign_tiles();
        const std::span<stream> streams(streams_.data(), static_cast<std::size_t>(n_streams_));
        const std::span<std::int64_t> offsets(offsets_.data(), static_cast<std::size_t>(n_streams_));
        const auto run = [&](std::int64_t length, std::int64_t t) { run_tiles(length, t); };
        if (s.tensors != 0) {
            for_each_tensor_run(c_.args, s, streams, offsets, run);
        } else {
            collapse(s, streams);
            for_each_run(s, streams, offsets, run);
        }
        flush_tensor();
    }

    void assign_tiles()
    {
        world_ = static_cast<double>(c_.args.ranks());
        for (int i = 0; i < n_operands_; ++i) {
            const source from = operand(i).from;
            const bool combined = from == source::all_ranks || from == source::root_combined;
            tile_[static_cast<std::size_t>(i)] = combined || from == source::mask ? c_.tiles.next() : nullptr;
            identity_[static_cast<std::size_t>(i)] = nullptr;
            const bool needs_identity = from == source::root_combined || (combined && c_.args.ranks() == 1);
            if (!needs_identity) { continue; }
            identity_[static_cast<std::size_t>(i)] = c_.tiles.next();
            fill_tile(c_.slot_node(operand(i).slot).type, operand(i).combine, false, tile_elements,
                      identity_[static_cast<std::size_t>(i)]);
        }
        for (int r = 0; r < c_.pass.n_results; ++r) {
            const bool elsewhere = result(r).reduces || (result(r).to == destination::root && result(r).root != c_.args.rank());
            tile_[static_cast<std::size_t>(n_operands_ + r)] = elsewhere ? c_.tiles.next() : nullptr;
        }
        for (int i = 0; i < n_operands_; ++i) {
            if (operand(i).from == source::scalar) { pointers_.in[i] = c_.args.scalar(c_.node_at(operand(i).node).name); }
            if (operand(i).from == source::world_size) { pointers_.in[i] = &world_; }
        }
    }

    void run_tiles(std::int64_t length, std::int64_t t)
    {
        if (!reductions_.empty() && t != tensor_) {
            flush_tensor();
            tensor_ = t;
        }
        for (std::int64_t done = 0; done < length; done += tile_elements) {
            const auto n = static_cast<std::size_t>(std::min(tile_elements, length - done));
            for (int i = 0; i < n_operands_; ++i) { load_operand(i, operand(i).uniform ? 0 : done, t, n); }
            for (int r = 0; r < c_.pass.n_results; ++r) {
                const auto at = static_cast<std::size_t>(n_operands_ + r);
                pointers_.out[r] = tile_[at] != nullptr ? tile_[at] : c_.address(result(r).slot, c_.args.rank(), offsets_[at] + done, t);
            }
            c_.kernel(pointers_, n);
            for (int r = 0; r < c_.pass.n_results; ++r) { deliver(r, done, t, n); }
        }
    }

    void load_operand(int i, std::int64_t done, std::int64_t t, std::size_t n)
    {
        const pass_operand& o = operand(i);
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t offset = offsets_[at] + done;
        switch (o.from) {
        case source::own: pointers_.in[i] = c_.address(o.slot, c_.args.rank(), offset, t); break;
        case source::from_root: pointers_.in[i] = c_.address(o.slot, o.root, offset, t); break;
        case source::all_ranks:
        case source::root_combined:
            prepare_combined(c_, o, offset, t, o.uniform ? 1 : n, tile_[at], identity_[at], pointers_.in[i], pointers_.second[i]);
            break;
        case source::mask: prepare_mask(c_, o.node, offset, o.uniform ? 1 : n, tile_[at]); pointers_.in[i] = tile_[at]; break;
        default: break;
        }
    }

    void deliver(int r, std::int64_t done, std::int64_t t, std::size_t n)
    {
        const pass_result& p = result(r);
        const auto at = static_cast<std::size_t>(n_operands_ + r);
        const std::byte* from = static_cast<const std::byte*>(pointers_.out[r]);
        const std::int64_t offset = offsets_[at] + done;
        if (p.reduces) {
            for (reduction_state& s : reductions_) {
                if (s.result == r) { s.sum->add(from, n); }
            }
            return;
        }
        const std::size_t bytes = n * size_of(c_.slot_node(p.slot).type);
        if (p.to == destination::root && p.root != c_.args.rank()) {
            copy_out(c_.address(p.slot, p.root, offset, t), from, bytes, false);
        } else if (p.to == destination::all_ranks && (c_.pass.kind != pass_kind::all_reduce || two_shot_)) {
            const bool streaming = static_cast<std::int64_t>(bytes) * c_.args.ranks() > 0 && large(p);
            for (int step = 1; step < c_.args.ranks(); ++step) {
                const int peer = (c_.args.rank() + step) % c_.args.ranks();
                copy_out(c_.address(p.slot, peer, offset, t), from, bytes, streaming);
            }
        }
    }
    [[nodiscard]] bool large(const pass_result& p) const
    {
        const node& n = c_.slot_node(p.slot);
        return c_.args.elements_of(n) * static_cast<std::int64_t>(size_of(n.type)) >= streaming_bytes;
    }

    // Reductions over the space: one partial result per part and tensor, combined in order of parts at the end.
    struct reduction_state {
        int result;
        std::int64_t tensors;
        std::size_t partials;  // offset of part 0, tensor 0 in the scratch memory
        std::unique_ptr<accumulator> sum;
    };

    void start_reductions(int parts)
    {
        std::size_t bytes = 0;
        for (int r = 0; r < c_.pass.n_results; ++r) {
            if (!result(r).reduces) { continue; }
            const node& n = c_.node_at(result(r).node);
            const dtype tile = n.type == dtype::f16 || n.type == dtype::bf16 ? dtype::f32 : n.type;
            const std::int64_t tensors = c_.args.elements_of(n);
            reductions_.push_back({r, tensors, bytes, make_accumulator(n.attrs.combine, tile)});
            bytes += static_cast<std::size_t>(tensors * parts) * size_of(n.type);
            bytes = (bytes + 63) / 64 * 64;
        }
        if (c_.partials.size() < bytes) { c_.partials.resize(bytes); }
        for (const reduction_state& s : reductions_) {
            const node& n = c_.node_at(result(s.result).node);
            s.sum->reset();
            for (std::int64_t i = 0; i < s.tensors * parts; ++i) { s.sum->store(n.type, 1, partial(s, 0, i)); }
        }
        tensor_ = 0;
        part_ = 0;
    }
    std::byte* partial(const reduction_state& s, int part, std::int64_t t) const
    {
        const std::size_t size = size_of(c_.node_at(result(s.result).node).type);
        return c_.partials.data() + s.partials + static_cast<std::size_t>(part * s.tensors + t) * size;
    }
    void store_partial(const reduction_state& s, std::int64_t t, std::int64_t count)
    {
        const node& n = c_.node_at(result(s.result).node);
        const bool mean = n.attrs.combine == reduction::mean;
        s.sum->store(n.type, mean ? static_cast<double>(count) : 1.0, partial(s, part_, t));
        s.sum->reset();
    }
    /// A tensor ends: stores what it was reduced to.
    void flush_tensor()
    {
        for (const reduction_state& s : reductions_) {
            const node& n = c_.node_at(result(s.result).node);
            if (n.kind != op::reduce_per_tensor) { continue; }
            store_partial(s, tensor_, c_.args.tensor_count(c_.node_at(n.args[0]).shape[0], tensor_));
        }
    }
    void finish_part(int part)
    {
        for (const reduction_state& s : reductions_) {
            const node& n = c_.node_at(result(s.result).node);
            if (n.kind == op::reduce) { store_partial(s, 0, c_.args.elements_of(c_.node_at(n.args[0]))); }
        }
        part_ = part + 1;
        tensor_ = 0;
    }
    void finish_reductions(int parts)
    {
        for (const reduction_state& s : reductions_) {
            const node& n = c_.node_at(result(s.result).node);
            const reduction r = n.attrs.combine == reduction::mean ? reduction::sum : n.attrs.combine;
            std::byte* out = c_.args.buffer(result(s.result).slot).data;
            std::byte* tile = c_.tiles.next();
            const std::size_t size = size_of(n.type);
            std::vector<const std::byte*> ranks(static_cast<std::size_t>(parts));
            for (std::int64_t t = 0; t < s.tensors; ++t) {
                for (int p = 0; p < parts; ++p) { ranks[static_cast<std::size_t>(p)] = partial(s, p, t); }
                combine_ranks(n.type, r, ranks, 1, tile);
                store_tile(n.type, tile, 1, out + static_cast<std::size_t>(t) * size);
            }
        }
        reductions_.clear();
    }
    const pass_context& c_;
    int n_operands_;
    int n_streams_;
    bool flat_ = false;
    bool two_shot_ = true;
    double world_ = 1;
    std::int64_t tensor_ = 0;
    int part_ = 0;
    kernels::tile_pointers pointers_{};
    std::array<stream, max_operands + max_results> streams_{};
    std::array<std::int64_t, max_operands + max_results> offsets_{};
    std::array<std::byte*, max_operands + max_results> tile_{};
    std::array<std::byte*, max_operands + max_results> identity_{};
    std::vector<reduction_state> reductions_;
};

}  // namespace plait::host
