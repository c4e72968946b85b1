// Checking what a run is given, and completing it: extents from bound numbers and from the sizes of buffers.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/slice.hpp>
#include <plait/run/binding.hpp>
#include <plait/run/image.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace plait {

/// A buffer of a run: contiguous, or in pieces.
struct bound_buffer {
    std::byte* data = nullptr;
    std::span<const piece> pieces{};
};

/// The arguments of a run by slot and symbol, checked and complete.
/// One per executable, filled again by every run without allocating.
class arguments {
  public:
    static constexpr int max_symbols = 192;

    arguments(const program_image& image, int rank, int ranks) : image_(image), rank_(rank), ranks_(ranks)
    {
        extents_.resize(image.symbols.size());
        counts_.resize(image.symbols.size());
        scalars_.resize(image.symbols.size() * 8);
        given_.resize(image.symbols.size());
        buffers_.resize(static_cast<std::size_t>(image.plan->n_slots));
    }

    /// Checks this rank's bindings. Throws plait::error that names the tensor, the rule and the fix.
    void bind(std::span<const binding> bindings)
    {
        std::fill(given_.begin(), given_.end(), nullptr);
        std::fill(extents_.begin(), extents_.end(), std::int64_t{-1});
        std::fill(counts_.begin(), counts_.end(), std::span<const std::int64_t>{});
        for (const binding& b : bindings) { accept(b); }
        for (const binding& b : bindings) { accept_extent(b); }
        for (int s = 0; s < image_.plan->n_slots; ++s) { deduce(s); }
        for (int s = 0; s < image_.plan->n_slots; ++s) { check(s); }
        check_scalars();
        check_overlap();
    }

    [[nodiscard]] std::int64_t extent_of(packed_extent e) const
    {
        if (!is_named(e)) { return e; }
        const auto symbol = static_cast<std::size_t>(symbol_of(e));
        if (!is_per_tensor(e)) { return extents_[symbol]; }
        const std::size_t tensors = pieces_of(symbol).size() + counts_[symbol].size();
        return tensors == 0 ? 1 : static_cast<std::int64_t>(tensors);
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
        for (int d = 0; d < n.dims; ++d) {
            const std::int64_t e = extent_of(n.shape[d]);
            count *= n.layout == layout_kind::sliced && d == n.slice_dim ? slice_of(e, rank_, ranks_).count : e;
        }
        return count;
    }
    /// Bounds of tensor t of a dimension made up of tensors: of its pieces, of its partition, or the whole.
    [[nodiscard]] std::int64_t tensor_count(packed_extent e, std::int64_t t) const
    {
        const auto symbol = static_cast<std::size_t>(symbol_of(e));
        const auto i = static_cast<std::size_t>(t);
        if (const auto p = pieces_of(symbol); !p.empty()) { return p[i].count; }
        return counts_[symbol].empty() ? extents_[symbol] : counts_[symbol][i];
    }

    [[nodiscard]] const bound_buffer& buffer(int slot) const { return buffers_[static_cast<std::size_t>(slot)]; }
    [[nodiscard]] bound_buffer& buffer(int slot) { return buffers_[static_cast<std::size_t>(slot)]; }
    [[nodiscard]] const unsigned char* scalar(int symbol) const { return &scalars_[static_cast<std::size_t>(symbol) * 8]; }
    [[nodiscard]] std::span<const std::int64_t> extents() const { return extents_; }
    [[nodiscard]] const program_image& image() const { return image_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int ranks() const { return ranks_; }

  private:
    [[noreturn]] void refuse(const std::string& what) const
    {
        throw error("program \"" + std::string{image_.name} + "\": " + what);
    }
    static std::string quoted(std::string_view name) { return "\"" + std::string{name} + "\""; }

    [[nodiscard]] int symbol(std::string_view name) const
    {
        for (std::size_t i = 0; i < image_.symbols.size(); ++i) {
            if (image_.symbols[i].view() == name) { return static_cast<int>(i); }
        }
        return -1;
    }
    /// The pieces that make up a dimension, if a tensor of that dimension is scattered.
    [[nodiscard]] std::span<const piece> pieces_of(std::size_t dim) const
    {
        for (int s = 0; s < image_.plan->n_slots; ++s) {
            const node& n = image_.node_of(image_.plan->slots[s].node);
            const bool along = image_.plan->slots[s].is_tensor && n.dims == 1 && is_named(n.shape[0]) &&
                               symbol_of(n.shape[0]) == static_cast<int>(dim);
            const binding* b = along ? given_[static_cast<std::size_t>(n.name)] : nullptr;
            if (b != nullptr && b->what == binding::kind::pieces) { return b->pieces; }
        }
        return {};
    }

    void accept(const binding& b)
    {
        const int i = symbol(b.name);
        const bool is_dim = b.what == binding::kind::extent || b.what == binding::kind::counts;
        if (i < 0) { refuse(quoted(b.name) + " is bound, but the program has no such name; leave it out"); }
        const auto at = static_cast<std::size_t>(i);
        if (is_dim) { return; }
        if (given_[at] != nullptr) { refuse(quoted(b.name) + " is bound twice; bind it once"); }
        given_[at] = &b;
        if (b.what == binding::kind::scalar) { std::copy(b.value, b.value + 8, scalars_.begin() + i * 8); }
    }
    void accept_extent(const binding& b)
    {
        if (b.what != binding::kind::extent && b.what != binding::kind::counts) { return; }
        const auto at = static_cast<std::size_t>(symbol(b.name));
        if (extents_[at] >= 0) { refuse("dimension " + quoted(b.name) + " is bound twice; bind it once"); }
        if (b.count < 0) { refuse("dimension " + quoted(b.name) + " is " + std::to_string(b.count) + "; it must be 0 or more"); }
        extents_[at] = b.count;
        if (b.what == binding::kind::counts) {
            if (!pieces_of(at).empty()) {
                refuse("dimension " + quoted(b.name) + " has a partition and a scattered tensor; give one of them");
            }
            counts_[at] = b.counts;
        }
    }

    /// Finds the one unknown extent of a tensor from the number of elements of its buffer.
    void deduce(int s)
    {
        if (!image_.plan->slots[s].is_tensor) { return; }
        const node& n = image_.node_of(image_.plan->slots[s].node);
        const binding* b = given_[static_cast<std::size_t>(n.name)];
        if (b == nullptr || b->count < 0) { return; }
        int unknown = -1;
        std::int64_t known = 1;
        for (int d = 0; d < n.dims; ++d) {
            const std::int64_t e = extent_of(n.shape[d]);
            if (e >= 0) {
                known *= n.layout == layout_kind::sliced && d == n.slice_dim ? slice_of(e, rank_, ranks_).count : e;
            } else if (unknown >= 0) {
                return;
            } else {
                unknown = d;
            }
        }
        const bool determines = unknown >= 0 && known > 0 && b->count % known == 0 &&
                                !(n.layout == layout_kind::sliced && unknown == n.slice_dim);
        if (determines) { extents_[static_cast<std::size_t>(symbol_of(n.shape[unknown]))] = b->count / known; }
    }

    void check(int s)
    {
        bound_buffer& out = buffers_[static_cast<std::size_t>(s)];
        if (!image_.plan->slots[s].is_tensor) { return; }
        const node& n = image_.node_of(image_.plan->slots[s].node);
        const std::string name = "tensor " + quoted(image_.text(n.name));
        const binding* b = given_[static_cast<std::size_t>(n.name)];
        if (b == nullptr) { refuse(name + " is not bound; add an argument for it"); }
        if (b->what == binding::kind::scalar) { refuse(name + " is bound to a single value; bind a buffer"); }
        if (b->type != n.type) {
            refuse(name + " has dtype " + std::string{name_of(n.type)} + ", its buffer " + std::string{name_of(b->type)} +
                   "; bind a buffer of the tensor's dtype");
        }
        for (int d = 0; d < n.dims; ++d) {
            if (extent_of(n.shape[d]) < 0) {
                const std::string dim = quoted(image_.text(symbol_of(n.shape[d])));
                refuse(name + ": dimension " + dim + " is not known; bind it, e.g. dim<" + dim + "> = 1024");
            }
        }
        const std::int64_t needed = stored_elements_of(n);
        if (b->count >= 0 && b->count != needed) {
            const bool sliced = n.layout == layout_kind::sliced;
            refuse(name + " needs " + std::to_string(needed) + " elements" +
                   (sliced ? " (this rank's slice, see slice_of)" : "") + ", its buffer has " + std::to_string(b->count));
        }
        if (b->read_only && image_.plan->slots[s].written) { refuse(name + " is updated, its buffer is const; bind a mutable one"); }
        if (b->what == binding::kind::pieces) {
            check_pieces(*b, n, name);
        } else if (b->data == nullptr && needed > 0) {
            refuse(name + " is bound to a null pointer and has " + std::to_string(needed) + " elements");
        }
        out.data = static_cast<std::byte*>(b->data);
        out.pieces = b->pieces;
    }
    void check_pieces(const binding& b, const node& n, const std::string& name) const
    {
        if (n.dims != 1 || !is_named(n.shape[0]) || n.layout == layout_kind::sliced) {
            refuse(name + " is bound to scattered buffers; that needs a whole tensor of one named dimension");
        }
        const auto first = pieces_of(static_cast<std::size_t>(symbol_of(n.shape[0])));
        const bool same = std::ranges::equal(first, b.pieces, {}, &piece::count, &piece::count);
        if (!same) { refuse(name + " is scattered into other counts than another tensor of its dimension"); }
        for (std::size_t i = 0; i < b.pieces.size(); ++i) {
            if (b.pieces[i].data == nullptr && b.pieces[i].count > 0) {
                refuse(name + ": piece " + std::to_string(i) + " is a null pointer");
            }
        }
    }

    void check_scalars() const
    {
        for (const node& n : image_.nodes) {
            if (n.kind != op::scalar) { continue; }
            const binding* b = given_[static_cast<std::size_t>(n.name)];
            const std::string name = "scalar " + quoted(image_.text(n.name));
            if (b == nullptr) { refuse(name + " is not bound; add an argument for it"); }
            if (b->what != binding::kind::scalar || b->type != n.type) {
                refuse(name + " of dtype " + std::string{name_of(n.type)} + " is bound to something else");
            }
        }
    }

    /// Two tensors may share a buffer exactly; a partial overlap, of which one is written, is refused.
    void check_overlap()
    {
        ranges_.clear();
        for (int s = 0; s < image_.plan->n_slots; ++s) {
            if (!image_.plan->slots[s].is_tensor) { continue; }
            const node& n = image_.node_of(image_.plan->slots[s].node);
            const auto size = static_cast<std::int64_t>(size_of(n.type));
            const bound_buffer& b = buffers_[static_cast<std::size_t>(s)];
            const bool written = image_.plan->slots[s].written;
            if (b.pieces.empty()) { add_range(b.data, stored_elements_of(n) * size, s, written); }
            for (const piece& p : b.pieces) { add_range(static_cast<std::byte*>(p.data), p.count * size, s, written); }
        }
        std::ranges::sort(ranges_, {}, [](const range& r) { return std::pair{r.begin, r.end}; });
        std::size_t furthest = 0;
        for (std::size_t i = 1; i < ranges_.size(); ++i) {
            const range& a = ranges_[furthest];
            const range& b = ranges_[i];
            const bool overlaps = b.begin < a.end;
            const bool exact = a.begin == b.begin && a.end == b.end && a.slot != b.slot;
            const std::string both = quoted(name_of_slot(a.slot)) + " and " + quoted(name_of_slot(b.slot));
            if (overlaps && !exact && (a.written || b.written)) {
                refuse("the buffers of tensors " + both + " overlap in part and one is updated; use separate buffers");
            }
            if (overlaps && exact && !may_share(a.slot, b.slot)) {
                refuse("tensors " + both + " share a buffer that is still read when it has been updated; use separate "
                       "buffers");
            }
            if (b.end > a.end) { furthest = i; }
        }
    }
    /// Whether two tensors may be the same memory: only if at most one is written, and nothing reads the other one
    /// later, or through other ranks.
    [[nodiscard]] bool may_share(int a, int b) const
    {
        const program_plan& plan = *image_.plan;
        if (!plan.slots[a].written && !plan.slots[b].written) { return true; }
        if (plan.slots[a].written && plan.slots[b].written) { return false; }
        const int read = plan.slots[a].written ? b : a;
        const int written = plan.slots[a].written ? a : b;
        if (plan.slots[read].peers_touch || plan.slots[written].peers_touch) { return false; }
        bool done = false;
        for (int p = 0; p < plan.n_passes; ++p) {
            const pass_plan& pass = plan.passes[p];
            for (int o = 0; o < pass.n_operands; ++o) {
                if (pass.operands[o].slot == read && done) { return false; }
            }
            for (int r = 0; r < pass.n_results; ++r) { done = done || pass.results[r].slot == written; }
        }
        return true;
    }
    struct range {
        const std::byte* begin;
        const std::byte* end;
        int slot;
        bool written;
    };
    void add_range(const std::byte* data, std::int64_t bytes, int slot, bool written)
    {
        if (bytes > 0) { ranges_.push_back({data, data + bytes, slot, written}); }
    }
    [[nodiscard]] std::string_view name_of_slot(int s) const
    {
        return image_.text(image_.node_of(image_.plan->slots[s].node).name);
    }

    program_image image_;
    int rank_;
    int ranks_;
    std::vector<std::int64_t> extents_;
    std::vector<std::span<const std::int64_t>> counts_;
    std::vector<unsigned char> scalars_;
    std::vector<const binding*> given_;
    std::vector<bound_buffer> buffers_;
    std::vector<range> ranges_;
};

}  // namespace plait
