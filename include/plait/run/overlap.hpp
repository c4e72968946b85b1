// Which buffers of a run may lie in the same memory.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/dtype.hpp>
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plait::detail {

/// Two tensors may share a buffer exactly, where that is safe; a partial overlap, of which one is written, is not.
class overlap_check {
  public:
    /// Calls refuse(parts of a message) for the first violation.
    template <class Refuse>
    void check(const arguments& args, Refuse&& refuse)
    {
        const program_image& image = args.image();
        ranges_.clear();
        for (int s = 0; s < image.n_slots(); ++s) {
            if (!image.slot_of(s).is_tensor || !args.holds(s)) { continue; }
            const node& n = image.slot_node(s);
            const auto size = static_cast<std::int64_t>(size_of(n.type));
            const bound_buffer& b = args.buffer(s);
            if (b.pieces.empty()) { add(b.data, args.stored_elements_of(n) * size, s); }
            for (const piece& p : b.pieces) { add(static_cast<std::byte*>(p.data), p.count * size, s); }
        }
        std::sort(ranges_.begin(), ranges_.end(), [](const range& a, const range& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
        open_.clear();  // the ranges that have not ended where the next one begins: few, as tensors rarely overlap
        for (const range& b : ranges_) {
            std::erase_if(open_, [&](const range& a) { return a.end <= b.begin; });
            for (const range& a : open_) { check_pair(image, a, b, refuse); }
            open_.push_back(b);
        }
    }

  private:
    struct range {
        const std::byte* begin;
        const std::byte* end;
        int slot;
    };

    void add(const std::byte* data, std::int64_t bytes, int slot)
    {
        if (bytes > 0) { ranges_.push_back({data, data + bytes, slot}); }
    }

    template <class Refuse>
    static void check_pair(const program_image& image, const range& a, const range& b, Refuse&& refuse)
    {
        if (!image.slot_of(a.slot).written && !image.slot_of(b.slot).written) { return; }
        const auto name = [&](int s) { return joined({"tensor \"", image.text(image.slot_node(s).name), "\""}); };
        const std::string first = name(a.slot);
        const std::string second = name(b.slot);
        if (a.slot == b.slot) { refuse({"two pieces of ", first, " overlap and it is updated; use separate buffers"}); }
        if (a.begin != b.begin || a.end != b.end) {
            refuse({"the buffers of ", first, " and ", second,
                    " overlap in part and one is updated; use separate buffers"});
        }
        if (!may_share(image, a.slot, b.slot)) {
            refuse({first, " and ", second,
                    " share a buffer that is still read when it has been updated; use separate "
                    "buffers"});
        }
    }

    /// Whether a pipeline reads one slot and writes the other, and not element by element alike: its passes run in turn, so
    /// the last one writes chunk 0 before the first one reads chunk 1.
    static bool mixed_in_a_pipeline(const program_image& image, int read, int written)
    {
        const auto alike = [&](const node& a, const node& b) {
            bool same = a.dims == b.dims && a.layout == b.layout && a.slice_dim == b.slice_dim;
            for (int d = 0; same && d < a.dims; ++d) { same = a.shape[d] == b.shape[d]; }
            return same;
        };
        const view<const pass_view> passes = image.plan.passes;
        for (std::size_t first = 0; first < passes.size(); ++first) {
            bool writes = false;
            bool reads_otherwise = false;
            for (std::size_t i = first; i < static_cast<std::size_t>(passes[first].chunked_until); ++i) {
                for (const pass_result& r : passes[i].results) { writes = writes || r.slot == written; }
                for (const pass_operand& o : passes[i].operands) {
                    if (o.slot != read) { continue; }
                    const bool by_element = !is_contraction(passes[i].kind) && o.from == source::own;
                    const bool fits = by_element && alike(image.node_of(o.node), image.node_of(passes[i].space)) &&
                                      alike(image.slot_node(read), image.slot_node(written));
                    reads_otherwise = reads_otherwise || !fits;
                }
            }
            if (writes && reads_otherwise) { return true; }
        }
        return false;
    }

    /// Whether two tensors, one of them written, may be the same memory: only if the other one is not written, and
    /// nothing reads it later, or through other ranks.
    static bool may_share(const program_image& image, int a, int b)
    {
        if (image.slot_of(a).written && image.slot_of(b).written) { return false; }
        const int read = image.slot_of(a).written ? b : a;
        const int written = image.slot_of(a).written ? a : b;
        if (image.slot_of(read).peers_touch || image.slot_of(written).peers_touch) { return false; }
        if (mixed_in_a_pipeline(image, read, written)) { return false; }
        bool done = false;
        for (const pass_view& pass : image.plan.passes) {
            for (const pass_operand& o : pass.operands) {
                if (o.slot != read) { continue; }
                const auto writes = [&](const pass_result& r) { return r.slot == written; };
                const bool at_once = pass.kind != pass_kind::map && detail::any_of(pass.results, writes);
                if (done || at_once) { return false; }
            }
            for (const pass_result& r : pass.results) { done = done || r.slot == written; }
        }
        return true;
    }

    std::vector<range> ranges_;
    std::vector<range> open_;
};

}  // namespace plait::detail
