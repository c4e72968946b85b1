// The pass that reduces along one dimension, on the host.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/slice.hpp>
#include <plait/core/view.hpp>
#include <plait/graph/node.hpp>
#include <plait/target/host/pass_context.hpp>
#include <plait/target/host/space.hpp>
#include <plait/target/host/tile_inputs.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace plait::host {

/// Reduces each line along the axis part by part, as the slices of a sliced value would be, and combines the parts in
/// order. Lines along the innermost dimension go through a lane accumulator; others are added up row by row.
class reduce_pass {
  public:
    explicit reduce_pass(const pass_context& c)
        : c_(c),
          inputs_(c),
          n_(c.node_at(c.result(0).node)),
          code_(*c.code.reducers[0]),
          axis_(n_.attrs.axis),
          size_(size_of(n_.type)),
          space_(space_of(c.args, c.node_at(c.pass.space), c.pass.slice_dim, c.args.rank(), c.within)),
          parts_(c.pass.slice_dim == axis_ ? 1 : c.args.ranks())
    {
        if (n_.attrs.combine == reduction::mean) {
            divisor_ = static_cast<double>(c.args.extent_of(c.node_at(c.pass.space).shape[axis_]));
        }
    }

    void run()
    {
        c_.scratch.restart();
        c_.open_channels(space_);
        inputs_.open();
        terms_ = c_.scratch.next_tile();
        sums_ = c_.scratch.next_tile();
        c_.scratch.pointers.out[0] = terms_;
        partials_ =
            c_.scratch.partials(static_cast<std::size_t>(parts_) * static_cast<std::size_t>(tile_elements) * size_);
        const bool along_lines = axis_ == space_.inner;
        const std::int64_t width = along_lines || space_.inner < 0 ? 1 : space_.count[space_.inner];
        std::int64_t lines = 1;
        for (int d = 0; d < space_.dims; ++d) { lines *= fixed(d) ? 1 : space_.count[d]; }
        place_results();
        for (std::int64_t line = 0; line < lines; ++line) {
            const index at = index_of(line);
            std::byte* out = result_of(at);
            if (along_lines) {
                for (int p = 0; p < parts_; ++p) { reduce_line(at, p); }
                finish(1, out);
                continue;
            }
            for (std::int64_t from = 0; from < width; from += tile_elements) {
                const auto n = static_cast<std::size_t>(std::min(tile_elements, width - from));
                for (int p = 0; p < parts_; ++p) { add_rows(at, p, from, n); }
                finish(n, out);
                out += n * size_;
            }
        }
    }

  private:
    using index = std::array<std::int64_t, max_dims>;

    /// The axis and the inner dimension, which is done in tiles, are no part of a line's index.
    [[nodiscard]] bool fixed(int d) const { return d == axis_ || d == space_.inner; }
    [[nodiscard]] index index_of(std::int64_t line) const
    {
        index at{};
        for (int d = space_.dims - 1; d >= 0; --d) {
            if (fixed(d)) { continue; }
            at[static_cast<std::size_t>(d)] = line % space_.count[d];
            line /= space_.count[d];
        }
        return at;
    }
    /// Where the result of the first line lies, and by how much it moves along the dimensions of the space.
    void place_results()
    {
        const node& from = c_.node_at(c_.pass.space);
        std::int64_t stride = 1;
        first_ = c_.args.buffer(c_.result(0).slot).data;
        for (int d = space_.dims - 1; d >= 0; --d) {
            if (d == axis_) { continue; }
            const std::int64_t e = c_.args.extent_of(from.shape[d]);
            const slice_range held =
                d == c_.pass.slice_dim ? slice_of(e, c_.args.rank(), c_.args.ranks()) : slice_range{0, e};
            strides_[static_cast<std::size_t>(d)] = stride * static_cast<std::int64_t>(size_);
            first_ += (space_.begin[d] - held.begin) * strides_[static_cast<std::size_t>(d)];
            stride *= held.count;
        }
    }
    [[nodiscard]] std::byte* result_of(const index& at) const
    {
        std::byte* p = first_;
        for (int d = 0; d < space_.dims; ++d) {
            p += at[static_cast<std::size_t>(d)] * strides_[static_cast<std::size_t>(d)];
        }
        return p;
    }
    [[nodiscard]] slice_range part(int p) const
    {
        return parts_ == 1 ? slice_range{0, space_.count[axis_]} : slice_of(space_.count[axis_], p, parts_);
    }
    [[nodiscard]] std::byte* partial(int p, std::size_t n) const
    {
        return partials_ + static_cast<std::size_t>(p) * n * size_;
    }

    /// Evaluates n elements along dimension `along`, from `from` on, into the terms tile.
    void evaluate(const index& at, int along, std::int64_t from, std::size_t n)
    {
        for (int i = 0; i < c_.n_operands(); ++i) {
            channel& ch = c_.scratch.channels[i];
            ch.offset = ch.view.offset;
            for (int d = 0; d < space_.dims; ++d) {
                ch.offset += ch.view.stride[d] * (d == along ? from : at[static_cast<std::size_t>(d)]);
            }
        }
        inputs_.start_run(0);
        inputs_.load(0, n);
        c_.code.kernel(c_.scratch.pointers, n);
    }

    void reduce_line(const index& at, int p)
    {
        lane_state sum;
        code_.reset(sum);
        const slice_range r = part(p);
        for (std::int64_t k = r.begin; k < r.begin + r.count; k += tile_elements) {
            const auto n = static_cast<std::size_t>(std::min(tile_elements, r.begin + r.count - k));
            evaluate(at, axis_, k, n);
            code_.add(terms_, n, sum);
        }
        code_.store(sum, divisor_, partial(p, 1));
    }

    void add_rows(index at, int p, std::int64_t from, std::size_t n)
    {
        code_.reset_rows(n, sums_);
        const slice_range range = part(p);
        for (std::int64_t k = range.begin; k < range.begin + range.count; ++k) {
            at[static_cast<std::size_t>(axis_)] = k;
            evaluate(at, space_.inner, from, n);
            code_.add_row(terms_, n, sums_);
        }
        code_.store_rows(sums_, n, divisor_, partial(p, n));
    }

    void finish(std::size_t n, std::byte* out)
    {
        const view<const std::byte*> parts = c_.scratch.addresses(static_cast<std::size_t>(parts_));
        for (int p = 0; p < parts_; ++p) { parts[static_cast<std::size_t>(p)] = partial(p, n); }
        code_.parts->combine(parts, n, sums_);
        code_.parts->store(sums_, n, out);
    }

    const pass_context& c_;
    tile_inputs inputs_;
    const node& n_;
    const reducer& code_;
    int axis_;
    std::size_t size_;
    space space_;
    int parts_;
    double divisor_ = 1;
    index strides_{};  // of the result, in bytes, by dimension of the space
    std::byte* first_ = nullptr;
    std::byte* terms_ = nullptr;
    std::byte* sums_ = nullptr;
    std::byte* partials_ = nullptr;
};

}  // namespace plait::host
