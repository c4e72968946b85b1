// The pass that reduces along one dimension, on the host.
#pragma once

#include <plait/target/host/tile_inputs.hpp>

#include <array>

namespace plait::host {

/// Reduces each line along the axis part by part, as the slices of a sliced value would be, and combines the parts in
/// order. Lines along the innermost dimension go through a lane accumulator; others are added up row by row.
class reduce_pass {
  public:
    explicit reduce_pass(const pass_context& c)
        : c_(c), n_(c.node_at(c.pass.results[0].node)), axis_(n_.attrs.axis), space_node_(c.node_at(c.pass.space))
    {
        tile_type_ = n_.type == dtype::f16 || n_.type == dtype::bf16 ? dtype::f32 : n_.type;
        combine_ = n_.attrs.combine == reduction::mean ? reduction::sum : n_.attrs.combine;
    }

    void run()
    {
        space_ = space_of(c_.args, space_node_, c_.pass.slice_dim, c_.args.rank());
        for (int i = 0; i < c_.pass.n_operands; ++i) {
            const pass_operand& o = c_.pass.operands[i];
            stream& v = streams_[static_cast<std::size_t>(i)];
            if (o.from == source::mask) { v = stream_of(c_.args, c_.node_at(o.node), space_, false); }
            if (o.slot < 0) { continue; }
            const node& n = c_.slot_node(o.slot);
            v = stream_of(c_.args, n, space_, n.layout == layout_kind::sliced);
        }
        c_.tiles.restart();
        world_ = static_cast<double>(c_.args.ranks());
        for (int i = 0; i < c_.pass.n_operands; ++i) {
            const pass_operand& o = c_.pass.operands[i];
            if (o.from == source::scalar) { pointers_.in[i] = c_.args.scalar(c_.node_at(o.node).name); }
            if (o.from == source::world_size) { pointers_.in[i] = &world_; }
            const bool combined = o.from == source::all_ranks || o.from == source::root_combined;
            tile_[static_cast<std::size_t>(i)] = combined || o.from == source::mask ? c_.tiles.next() : nullptr;
            if (!combined) { continue; }
            identity_[static_cast<std::size_t>(i)] = c_.tiles.next();
            fill_tile(c_.slot_node(o.slot).type, o.combine, false, tile_elements, identity_[static_cast<std::size_t>(i)]);
        }
        terms_ = c_.tiles.next();
        combined_ = c_.tiles.next();
        pointers_.out[0] = terms_;
        parts_ = c_.pass.slice_dim == axis_ ? 1 : c_.args.ranks();
        const auto bytes = static_cast<std::size_t>(parts_) * static_cast<std::size_t>(tile_elements) * size_of(n_.type);
        if (c_.partials.size() < bytes) { c_.partials.resize(bytes); }
        const bool along_lines = axis_ == space_.inner;
        if (along_lines) { sum_ = make_accumulator(n_.attrs.combine, tile_type_); }
        each_line(along_lines);
    }

  private:
    /// Visits every index of the dimensions other than the axis (and the inner one, which is done in tiles).
    void each_line(bool along_lines)
    {
        std::array<std::int64_t, max_dims> index{};
        std::int64_t lines = 1;
        for (int d = 0; d < space_.dims; ++d) { lines *= fixed(d) ? 1 : space_.count[d]; }
        const std::int64_t width = along_lines || space_.inner < 0 ? 1 : space_.count[space_.inner];
        for (std::int64_t line = 0; line < lines; ++line) {
            std::int64_t rest = line;
            for (int d = space_.dims - 1; d >= 0; --d) {
                if (fixed(d)) { continue; }
                index[static_cast<std::size_t>(d)] = rest % space_.count[d];
                rest /= space_.count[d];
            }
            std::byte* out = c_.args.buffer(c_.pass.results[0].slot).data + line * width * static_cast<std::int64_t>(size_of(n_.type));
            if (along_lines) {
                for (int p = 0; p < parts_; ++p) { reduce_line(index, p); }
                finish(1, out);
                continue;
            }
            for (std::int64_t at = 0; at < width; at += tile_elements) {
                const auto n = static_cast<std::size_t>(std::min(tile_elements, width - at));
                for (int p = 0; p < parts_; ++p) { add_rows(index, p, at, n); }
                finish(n, out + at * static_cast<std::int64_t>(size_of(n_.type)));
            }
        }
    }
    [[nodiscard]] bool fixed(int d) const { return d == axis_ || d == space_.inner; }
    [[nodiscard]] slice_range part(int p) const
    {
        return parts_ == 1 ? slice_range{0, space_.count[axis_]} : slice_of(space_.count[axis_], p, parts_);
    }
    std::byte* partial(int p, std::size_t n) const
    {
        return c_.partials.data() + static_cast<std::size_t>(p) * n * size_of(n_.type);
    }
    [[nodiscard]] double divisor() const
    {
        return n_.attrs.combine == reduction::mean ? static_cast<double>(c_.args.extent_of(space_node_.shape[axis_])) : 1.0;
    }

    /// Evaluates n elements along dimension `along`, from `index` on, into the terms tile.
    void evaluate(const std::array<std::int64_t, max_dims>& index, int along, std::int64_t from, std::size_t n)
    {
        for (int i = 0; i < c_.pass.n_operands; ++i) {
            const pass_operand& o = c_.pass.operands[i];
            const auto at = static_cast<std::size_t>(i);
            const stream& v = streams_[at];
            std::int64_t offset = v.offset;
            for (int d = 0; d < space_.dims; ++d) {
                offset += v.stride[d] * (d == along ? from : index[static_cast<std::size_t>(d)]);
            }
            switch (o.from) {
            case source::own: pointers_.in[i] = c_.address(o.slot, c_.args.rank(), offset, 0); break;
            case source::from_root: pointers_.in[i] = c_.address(o.slot, o.root, offset, 0); break;
            case source::all_ranks:
            case source::root_combined:
                prepare_combined(c_, o, offset, 0, o.uniform ? 1 : n, tile_[at], identity_[at], pointers_.in[i], pointers_.second[i]);
                break;
            case source::mask: prepare_mask(c_, o.node, offset, o.uniform ? 1 : n, tile_[at]); pointers_.in[i] = tile_[at]; break;
            default: break;
            }
        }
        c_.kernel(pointers_, n);
    }

    void reduce_line(const std::array<std::int64_t, max_dims>& index, int p)
    {
        sum_->reset();
        const slice_range r = part(p);
        for (std::int64_t k = r.begin; k < r.begin + r.count; k += tile_elements) {
            const auto n = static_cast<std::size_t>(std::min(tile_elements, r.begin + r.count - k));
            evaluate(index, axis_, k, n);
            sum_->add(terms_, n);
        }
        sum_->store(n_.type, divisor(), partial(p, 1));
    }

    void add_rows(std::array<std::int64_t, max_dims> index, int p, std::int64_t at, std::size_t n)
    {
        with_reduction(combine_, [&](auto r) {
            with_element(tile_type_, [&](auto e) {
                using T = decltype(e);
                if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, f16> && !std::is_same_v<T, bf16>) {
                    using Acc = accumulator_t<T>;
                    std::array<Acc, tile_elements> acc;
                    acc.fill(identity_of<decltype(r)::value, Acc>());
                    const slice_range range = part(p);
                    for (std::int64_t k = range.begin; k < range.begin + range.count; ++k) {
                        index[static_cast<std::size_t>(axis_)] = k;
                        evaluate(index, space_.inner, at, n);
                        accumulate<decltype(r)::value>(reinterpret_cast<const T*>(terms_), n, acc.data());
                    }
                    const double d = divisor();
                    std::array<T, tile_elements> values;
                    for (std::size_t i = 0; i < n; ++i) {
                        values[i] = d == 1 ? static_cast<T>(acc[i]) : static_cast<T>(static_cast<double>(acc[i]) / d);
                    }
                    store_tile(n_.type, reinterpret_cast<const std::byte*>(values.data()), n, partial(p, n));
                }
            });
        });
    }

    void finish(std::size_t n, std::byte* out)
    {
        std::vector<const std::byte*> parts(static_cast<std::size_t>(parts_));
        for (int p = 0; p < parts_; ++p) { parts[static_cast<std::size_t>(p)] = partial(p, n); }
        combine_ranks(n_.type, combine_, parts, n, combined_);
        store_tile(n_.type, combined_, n, out);
    }

    const pass_context& c_;
    const node& n_;
    int axis_;
    const node& space_node_;
    space space_{};
    dtype tile_type_ = dtype::f32;
    reduction combine_ = reduction::sum;
    int parts_ = 1;
    double world_ = 1;
    kernels::tile_pointers pointers_{};
    std::array<stream, max_operands> streams_{};
    std::array<std::byte*, max_operands> tile_{};
    std::array<std::byte*, max_operands> identity_{};
    std::byte* terms_ = nullptr;
    std::byte* combined_ = nullptr;
    std::unique_ptr<accumulator> sum_;
};

}  // namespace plait::host
