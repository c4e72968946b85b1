// Which consecutive passes run together chunk by chunk: stages that overlap, and row-wise steps of one fused kernel.
#pragma once

#include <plait/plan/hazards.hpp>
#include <plait/plan/levels.hpp>

#include <cstdint>

namespace plait::detail {

/// Sets of dimensions are bits of an unsigned.
constexpr unsigned bit(int d) { return 1U << static_cast<unsigned>(d); }

/// Finds pipelines in a plan. In a pipeline every pass runs for chunk 0, 1, 2, ... of one dimension, and a chunk needs
/// only the same chunk of the passes before: of this rank, or of all ranks (then a signal is waited for).
template <class Graph, class Plan>
struct pipelines {
    const Graph& g;
    Plan& plan;
    int writer[Plan::slot_capacity]{};          // of a slot: the pass that writes it, or -1
    destination written_to[Plan::slot_capacity]{};
    bool read_before[Plan::slot_capacity]{};    // a pass reads it before the one that writes it

    constexpr pipelines(const Graph& graph, Plan& p) : g(graph), plan(p)
    {
        for (int& w : writer) { w = -1; }
        for (int i = 0; i < plan.n_passes; ++i) {
            for (const pass_result& r : results_of(plan, plan.passes[i])) {
                writer[r.slot] = i;
                written_to[r.slot] = r.to;
            }
        }
        for (int i = 0; i < plan.n_passes; ++i) {
            for (const pass_operand& o : operands_of(plan, plan.passes[i])) {
                if (o.slot >= 0 && writer[o.slot] > i) { read_before[o.slot] = true; }
            }
        }
    }

    /// Pipelines that a schedule asked for, then the longest runs of passes around fused collectives that need no other
    /// rank in between: their values stay in the caches.
    constexpr void form()
    {
        int ids = 0;
        for (int i = 0; i < g.size; ++i) { ids = g[i].overlap > ids ? g[i].overlap : ids; }
        for (int id = 1; id <= ids && plan.violated == rule::none; ++id) { request(id); }
        for (int i = 0; i < plan.n_passes && plan.violated == rule::none;) { i = follow(i); }
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

    /// Makes a pipeline of all passes that have part in what was labelled, and those in between.
    constexpr void request(int id)
    {
        int first = -1;
        int last = -1;
        for (int i = 0; i < plan.n_passes; ++i) {
            if (!has_part(plan.passes[i], id)) { continue; }
            first = first < 0 ? i : first;
            last = i;
        }
        if (first == last) {
            plan.violated = rule::overlap_target;
            for (int i = 0; i < g.size; ++i) {
                if (g[i].overlap != id) { continue; }
                plan.why << g.type_of(i) << ": overlap";
                return;
            }
            return;
        }
        for (int i = 0; i <= last; ++i) {
            const int end = plan.passes[i].chunked_until;
            if (end <= first) { continue; }
            // Another pipeline's passes lie among these: all are one.
            plan.passes[i].chunked_until = 0;
            first = first < i ? first : i;
            last = last > end - 1 ? last : end - 1;
            i = -1;
        }
        unsigned dims = ~0U;
        for (int i = first; i <= last; ++i) {
            dims &= cuts(first, i);
            if (dims != 0) { continue; }
            plan.violated = rule::overlap_stage;
            plan.why << g.type_of(plan.results[plan.passes[i].results.first].node) << ": overlap";
            return;
        }
        join(first, last + 1, dims);
    }

    /// Makes a pipeline of pass `first` and those after it, if they are steps of one kernel. Returns the pass after them.
    constexpr int follow(int first)
    {
        const pass_plan& p = plan.passes[first];
        if (p.chunked_until != 0) { return p.chunked_until; }
        unsigned dims = is_contraction(p.kind) ? 0 : cuts(first, first);
        bool fused = p.fused;
        int end = first + 1;
        while (dims != 0 && end < plan.n_passes && stays_local(first, end)) {
            const unsigned together = dims & cuts(first, end);
            if (together == 0) { break; }
            dims = together;
            fused = fused || plan.passes[end].fused;
            ++end;
        }
        if (fused && end > first + 1) { join(first, end, dims); }
        return end;
    }

    constexpr void join(int first, int end, unsigned dims)
    {
        plan.passes[first].chunked_until = end;
        plan.passes[first].chunk_dims = dims;
    }

    /// The dimensions along which pass i can run in chunks after passes [first, i) of its pipeline.
    constexpr unsigned cuts(int first, int i) const
    {
        const pass_plan& p = plan.passes[i];
        const node& space = g[p.space];
        const node& first_space = g[plan.passes[first].space];
        unsigned dims = by_itself(p);
        for (int d = 0; d < space.dims; ++d) {
            if (d >= first_space.dims || space.shape[d] != first_space.shape[d]) { dims &= ~bit(d); }
        }
        for (int o = 0; o < p.operands.count; ++o) {
            const pass_operand& x = plan.operands[p.operands.first + o];
            const bool made_here = x.slot >= 0 && writer[x.slot] >= first && writer[x.slot] < i;
            if (made_here) { dims &= alike(p, o, g[x.node]); }
        }
        for (const pass_result& r : results_of(plan, p)) {
            if (writer[r.slot] != i) { return 0; }  // written twice
            if (read_before[r.slot]) { dims &= overwrites(first, i, r); }
        }
        return dims;
    }
    /// What earlier passes of the pipeline read is overwritten by this rank alone, and chunk by chunk.
    constexpr unsigned overwrites(int first, int i, const pass_result& r) const
    {
        unsigned dims = ~0U;
        for (int j = first; j < i; ++j) {
            const pass_plan& p = plan.passes[j];
            for (int o = 0; o < p.operands.count; ++o) {
                const pass_operand& x = plan.operands[p.operands.first + o];
                if (x.slot != r.slot) { continue; }
                if (r.to != destination::own || x.from != source::own) { return 0; }
                dims &= alike(p, o, g[x.node]);
            }
        }
        return dims;
    }
    /// Of one pass by itself.
    constexpr unsigned by_itself(const pass_plan& p) const
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

    /// Whether pass `next` continues [first, next) with values of this rank alone.
    constexpr bool stays_local(int first, int next) const
    {
        const pass_plan& p = plan.passes[next];
        if (is_contraction(p.kind) || p.chunked_until != 0 || p.group != plan.passes[first].group) { return false; }
        bool continues = false;
        for (const pass_operand& o : operands_of(plan, p)) {
            if (o.slot < 0 || writer[o.slot] < first || writer[o.slot] >= next) { continue; }
            continues = true;
            if (written_to[o.slot] != destination::own || o.from != source::own) { return false; }
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
