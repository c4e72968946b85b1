// Reductions over the whole space of a pass, or per tensor: parts in order, as the slices of a sliced value would be.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/view.hpp>
#include <plait/target/host/pass_context.hpp>

#include <cstddef>
#include <cstdint>

namespace plait::host {

/// The reductions of one pass: for each a partial result per part and tensor, combined in the order of the parts.
class space_reductions {
  public:
    explicit space_reductions(const pass_context& c) : c_(c) { c_.scratch.reductions.clear(); }

    void start(int parts)
    {
        std::size_t bytes = 0;
        for (int r = 0; r < c_.n_results(); ++r) {
            if (!c_.result(r).reduces) { continue; }
            reduction_state s;
            s.result = r;
            s.code = c_.code.reducers[r];
            s.of = &c_.node_at(c_.result(r).node);
            s.tensors = c_.args.elements_of(*s.of);
            s.partials = bytes;
            bytes += (static_cast<std::size_t>(s.tensors * parts) * size_of(s.of->type) + 63) / 64 * 64;
            c_.scratch.reductions.push_back(s);
        }
        memory_ = c_.scratch.partials(bytes);
        for (reduction_state& s : c_.scratch.reductions) {
            s.code->reset(s.sum);
            for (std::int64_t i = 0; i < s.tensors * parts; ++i) { s.code->store(s.sum, 1, partial(s, 0, i)); }
        }
    }
    /// Adds n terms of result r, of tensor t. Tensors come in order.
    void add(int r, const std::byte* terms, std::size_t n)
    {
        for (reduction_state& s : c_.scratch.reductions) {
            if (s.result == r) { s.code->add(terms, n, s.sum); }
        }
    }
    /// From here on come the terms of tensor t.
    void enter_tensor(std::int64_t t)
    {
        if (t == tensor_) { return; }
        flush_tensor();
        tensor_ = t;
    }
    void finish_part()
    {
        flush_tensor();
        for (reduction_state& s : c_.scratch.reductions) {
            if (s.of->kind == op::reduce) { store_partial(s, 0, c_.args.elements_of(c_.node_at(s.of->args[0]))); }
        }
        ++part_;
        tensor_ = 0;
    }
    /// Combines the parts into the results.
    void finish()
    {
        const view<const std::byte*> parts = c_.scratch.addresses(static_cast<std::size_t>(part_));
        std::byte* tile = c_.scratch.next_tile();
        for (reduction_state& s : c_.scratch.reductions) {
            std::byte* out = c_.args.buffer(c_.result(s.result).slot).data;
            for (std::int64_t t = 0; t < s.tensors; ++t) {
                for (int p = 0; p < part_; ++p) { parts[static_cast<std::size_t>(p)] = partial(s, p, t); }
                s.code->parts->combine(parts, 1, tile);
                s.code->parts->store(tile, 1, out + static_cast<std::size_t>(t) * size_of(s.of->type));
            }
        }
    }

  private:
    [[nodiscard]] std::byte* partial(const reduction_state& s, int part, std::int64_t t) const
    {
        return memory_ + s.partials + static_cast<std::size_t>(part * s.tensors + t) * size_of(s.of->type);
    }
    void store_partial(reduction_state& s, std::int64_t t, std::int64_t count)
    {
        const bool mean = s.of->attrs.combine == reduction::mean;
        s.code->store(s.sum, mean ? static_cast<double>(count) : 1.0, partial(s, part_, t));
        s.code->reset(s.sum);
    }
    void flush_tensor()
    {
        for (reduction_state& s : c_.scratch.reductions) {
            if (s.of->kind != op::reduce_per_tensor) { continue; }
            store_partial(s, tensor_, c_.args.tensor_count(c_.node_at(s.of->args[0]).shape[0], tensor_));
        }
    }

    const pass_context& c_;
    std::byte* memory_ = nullptr;
    std::int64_t tensor_ = 0;
    int part_ = 0;
};

}  // namespace plait::host
