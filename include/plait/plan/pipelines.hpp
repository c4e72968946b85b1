// Which consecutive passes run together chunk by chunk: stages that overlap, and row-wise steps of one fused kernel.
#pragma once

#include <plait/plan/hazards.hpp>
#include <plait/plan/levels.hpp>

namespace plait::detail {

/// Sets of dimensions are bits of an unsigned.
constexpr unsigned bit(int d) { return 1U << static_cast<unsigned>(d); }

/// Finds pipelines in a plan. In a pipeline every pass runs for chunk 0, 1, 2, ... of one dimension, and a chunk needs
/// only the same chunk of the passes before: of this rank, or of all ranks (then a signal is waited for).
template <class Graph, class Plan>
struct pipelines {
    const Graph& g;
    Plan& plan;

    /// Pipelines that a schedule asked for, then the longest runs of passes around fused collectives that need no other
    /// rank in between: their values stay in the caches.
    constexpr void form()
    {
        for (int id = 1; plan.violated == rule::none; ++id) {
            int first = -1;
            int last = -1;
            bool any = false;
            for (int i = 0; i < g.size; ++i) { any = any || g[i].overlap == id; }
            if (!any) { break; }
            for (int i = 0; i < plan.n_passes; ++i) {
                if (!has_part(plan.passes[i], id)) { continue; }
                first = first < 0 ? i : first;
                last = i;
            }
            request(id, first, last);
        }
        for (int i = 0; i < plan.n_passes && plan.violated == rule::none; ++i) {
            if (plan.passes[i].chunked_until != 0) {
                i = plan.passes[i].chunked_until - 1;
                continue;
            }
            int end = i + 1;
            bool fused = plan.passes[i].fused;
            if (is_contraction(plan.passes[i].kind)) { continue; }
            while (end < plan.n_passes && stays_local(i, end) && cuts(i, end + 1) != 0) {
                fused = fused || plan.passes[end++].fused;
            }
            if (fused && end > i + 1) { join(i, end); }
            if (end > i + 1) { i = end - 1; }
        }
    }

  private:
    constexpr bool has_part(const pass_plan& p, int id) const
    {
        for (const pass_operand& o : operands_of(plan, p)) {
            const op k = g[o.node].kind;
            if (g[o.node].overlap == id && (reads_peers(k) || k == op::all_to_all)) { return true; }
        }
        for (const pass_result& r : results_of(plan, p)) {
            if (g[r.node].overlap == id) { return true; }
        }
        for (int s = 0; s < p.steps.count; ++s) {
            if (g[plan.steps[p.steps.first + s]].overlap == id) { return true; }
        }
        return false;
    }

    constexpr void request(int id, int first, int last)
    {
        if (first == last) {
            plan.violated = rule::overlap_target;
            for (int i = g.size - 1; i >= 0; --i) {
                if (g[i].overlap == id) {
                    plan.why = message{};
                    plan.why << g.type_of(i) << ": overlap";
                }
            }
            return;
        }
        for (int i = first; i <= last; ++i) {
            if (plan.passes[i].chunked_until == 0 && cuts(first, i + 1) != 0) { continue; }
            plan.violated = rule::overlap_stage;
            const pass_plan& p = plan.passes[i];
            const pass_result& r = plan.results[p.results.first];
            plan.why << g.type_of(r.node) << ": overlap";
            return;
        }
        join(first, last + 1);
    }

    constexpr void join(int first, int end)
    {
        plan.passes[first].chunked_until = end;
        plan.passes[first].chunk_dims = cuts(first, end);
    }

    /// The dimensions along which passes [first, end) can run in chunks.
    constexpr unsigned cuts(int first, int end) const
    {
        unsigned dims = bit(max_dims) - 1;
        for (int i = first; i < end; ++i) {
            const pass_plan& p = plan.passes[i];
            dims &= cuts(p);
            for (int d = 0; d < max_dims; ++d) {
                const bool same = d < g[p.space].dims && g[p.space].shape[d] == g[plan.passes[first].space].shape[d];
                if (!same) { dims &= ~bit(d); }
            }
            for (int o = 0; o < p.operands.count; ++o) { dims &= cuts(first, end, i, o); }
            for (const pass_result& r : results_of(plan, p)) {
                if (writer_of(r.slot, first, i) >= 0) { dims = 0; }
            }
        }
        return dims;
    }
    /// Of one pass by itself.
    constexpr unsigned cuts(const pass_plan& p) const
    {
        const node& n = g[p.space];
        unsigned dims = 0;
        for (int d = 0; d < n.dims; ++d) { dims |= n.shape[d] != 1 ? bit(d) : 0; }
        const unsigned last = n.dims > 0 ? bit(n.dims - 1) : 0;
        switch (p.kind) {
        case pass_kind::map:
            for (const pass_result& r : results_of(plan, p)) {
                if (r.reduces || r.to == destination::root) { return 0; }
            }
            return dims;
        case pass_kind::reduce_axis: {
            const attributes& attrs = g[plan.results[p.results.first].node].attrs;
            return attrs.a != 0 ? dims & ~bit(attrs.axis) : dims & (bit(attrs.axis) - 1);
        }
        case pass_kind::matmul:
        case pass_kind::embedding: return dims & ~last;
        case pass_kind::conv2d: return dims & 1U;
        default: return 0;
        }
    }
    /// What operand o of pass i allows in the pipeline [first, end).
    constexpr unsigned cuts(int first, int end, int i, int o) const
    {
        const pass_plan& p = plan.passes[i];
        const pass_operand& x = plan.operands[p.operands.first + o];
        if (x.slot < 0) { return ~0U; }
        const int before = writer_of(x.slot, first, i);
        const int later = writer_of(x.slot, i + 1, end);
        if (later >= 0) {
            // What is read here is overwritten by this rank alone, and only when it has been read.
            for (const pass_result& r : results_of(plan, plan.passes[later])) {
                if (r.slot == x.slot && (r.to != destination::own || x.from != source::own)) { return 0; }
            }
        }
        return before >= 0 || later >= 0 ? alike(p, o, g[x.node]) : ~0U;
    }
    /// The dimensions d of a pass's space for which chunks of operand o are chunks along its dimension d, too.
    constexpr unsigned alike(const pass_plan& p, int o, const node& n) const
    {
        const node& space = g[p.space];
        unsigned dims = 0;
        for (int d = 0; d < n.dims && d < space.dims; ++d) { dims |= n.shape[d] == space.shape[d] ? bit(d) : 0; }
        const bool same_dims = n.dims == space.dims;
        switch (p.kind) {
        case pass_kind::matmul: {
            const bool rows = o == 0 && space.attrs.a == 0;
            return same_dims ? dims & (bit(space.dims - (rows ? 1 : 2)) - 1) : 0;
        }
        case pass_kind::conv2d: return o == 0 ? dims & 1U : 0;
        case pass_kind::embedding: return o == 1 ? dims : 0;
        default: return same_dims ? dims : 0;
        }
    }
    /// The last pass of [first, end) that writes a slot, or -1.
    constexpr int writer_of(int slot_index, int first, int end) const
    {
        for (int i = end - 1; i >= first; --i) {
            for (const pass_result& r : results_of(plan, plan.passes[i])) {
                if (r.slot == slot_index) { return i; }
            }
        }
        return -1;
    }

    /// Whether pass `next` continues [first, next) with values of this rank alone.
    constexpr bool stays_local(int first, int next) const
    {
        const pass_plan& p = plan.passes[next];
        if (is_contraction(p.kind) || p.chunked_until != 0 || p.group != plan.passes[first].group) { return false; }
        bool continues = false;
        for (const pass_operand& o : operands_of(plan, p)) {
            const int writer = o.slot < 0 ? -1 : writer_of(o.slot, first, next);
            if (writer < 0) { continue; }
            continues = true;
            for (const pass_result& r : results_of(plan, plan.passes[writer])) {
                if (r.slot == o.slot && (r.to != destination::own || o.from != source::own)) { return false; }
            }
        }
        return continues;
    }
};

/// Whether a pass of a pipeline must wait for signals of other ranks' passes: of all ranks that run it, or of the equal
/// rank alone.
enum class signal_scope : std::uint8_t { none, group, peer };

/// How pass `reader` depends on pass `writer`, earlier in the same pipeline.
constexpr signal_scope depends_on(const pass_view& reader, const pass_view& writer)
{
    signal_scope scope = signal_scope::none;
    for (const pass_operand& o : reader.operands) {
        for (const pass_result& r : writer.results) {
            if (o.slot < 0 || r.slot != o.slot) { continue; }
            if (o.from != source::own || r.to == destination::all_ranks) { return signal_scope::group; }
            if (r.to == destination::peer) { scope = signal_scope::peer; }
        }
    }
    return scope;
}

}  // namespace plait::detail
