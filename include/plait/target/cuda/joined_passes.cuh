// Which passes over elements go on with a product in registers, in the product's own kernel.
#pragma once

#include <plait/plan/arguments.hpp>
#include <plait/plan/hazards.hpp>
#include <plait/plan/pipelines.hpp>
#include <plait/target/cuda/kernel_of.cuh>

#include <cstddef>
#include <cstdint>

namespace plait::cuda {

/// The first pass of the pipeline that a pass belongs to, or -1.
template <class Plan>
constexpr int pipeline_of(const Plan& plan, int pass)
{
    for (int first = 0; first <= pass; ++first) {
        if (plan.passes[first].chunked_until > pass) { return first; }
    }
    return -1;
}
constexpr bool is_product(pass_kind k) { return k == pass_kind::matmul || k == pass_kind::conv2d; }

/// What may be asked of a product and the pass over elements right after it.
template <class Graph, class Plan>
struct product_and_next {
    const Graph& g;
    const Plan& plan;
    int at;  // of the product

    /// The operand of the next pass that is the product, if that pass may be done in the product's epilogue; else -1. Then the
    /// product itself is stored nowhere.
    constexpr int operand() const
    {
        if (at + 1 >= plan.n_passes || !is_product(first().kind) || next().kind != pass_kind::map || !go_together()) { return -1; }
        const int j = only_reader();
        if (j < 0) { return -1; }
        for (int i = 0; i < next().operands.count; ++i) {
            if (i != j && !can_read(plan.operands[next().operands.first + i])) { return -1; }
        }
        for (const pass_result& r : plait::detail::results_of(plan, next())) {
            if (!can_write(r)) { return -1; }
        }
        return j;
    }

  private:
    constexpr const pass_plan& first() const { return plan.passes[at]; }
    constexpr const pass_plan& next() const { return plan.passes[at + 1]; }

    /// Both passes go over the same elements, and nothing happens in between.
    constexpr bool go_together() const
    {
        const node& a = g[first().space];
        const node& b = g[next().space];
        bool same = a.dims == b.dims && first().slice_dim == next().slice_dim && first().group == next().group;
        for (int d = 0; same && d < a.dims; ++d) { same = a.shape[d] == b.shape[d]; }
        return same && !next().barrier_before && pipeline_of(plan, at) == pipeline_of(plan, at + 1);
    }
    /// The operand of the next pass that alone reads the product, where it lies in workspace as the elements are numbered.
    constexpr int only_reader() const
    {
        if (first().results.count != 1) { return -1; }
        const pass_result& made = plan.results[first().results.first];
        const node& held = g[plan.slots[made.slot].node];
        if (made.to != destination::own || plan.slots[made.slot].is_tensor || !is_in_line(g[next().space], next().slice_dim, held) ||
            held.sliced_along() != next().slice_dim || held.type != g[made.node].type) {
            return -1;
        }
        int reader = -1;
        for (int p = 0; p < plan.n_passes; ++p) {
            for (const pass_result& r : plait::detail::results_of(plan, plan.passes[p])) {
                if (r.slot == made.slot && p != at) { return -1; }
            }
            for (int i = 0; i < plan.passes[p].operands.count; ++i) {
                const pass_operand& o = plan.operands[plan.passes[p].operands.first + i];
                if (o.slot != made.slot) { continue; }
                if (p != at + 1 || o.from != source::own || reader >= 0) { return -1; }
                reader = i;
            }
        }
        return reader;
    }
    /// No value of other ranks, for which the kernel would have to wait.
    constexpr bool can_read(const pass_operand& o) const
    {
        if (o.slot < 0) { return true; }
        if (o.from != source::own || is_per_tensor_value(g[plan.slots[o.slot].node])) { return false; }
        for (int p = pipeline_of(plan, at); p >= 0 && p < at; ++p) {
            for (const pass_result& r : plait::detail::results_of(plan, plan.passes[p])) {
                if (r.slot == o.slot && r.to != destination::own) { return false; }
            }
        }
        return true;
    }
    /// No sums, nothing that must be cleared before, and nothing that other tiles of the product still read. What other ranks
    /// wait for in a pipeline is workspace: then no rank finds that its buffers overlap, and all do alike.
    constexpr bool can_write(const pass_result& r) const
    {
        if (r.reduces || r.to == destination::root) { return false; }
        for (const pass_operand& o : plait::detail::operands_of(plan, first())) {
            if (o.slot == r.slot) { return false; }
        }
        if (!plan.slots[r.slot].is_tensor) { return true; }
        const int pipeline = pipeline_of(plan, at);
        for (int p = at + 2; pipeline >= 0 && p < plan.passes[pipeline].chunked_until; ++p) {
            for (const pass_operand& o : plait::detail::operands_of(plan, plan.passes[p])) {
                if (o.slot == r.slot && (o.from != source::own || r.to != destination::own)) { return false; }
            }
        }
        return true;
    }
};

template <class Graph, class Plan>
constexpr int joined_operand(const Graph& g, const Plan& plan, int product)
{
    return product_and_next<Graph, Plan>{g, plan, product}.operand();
}

/// Whether a product begins a pipeline and is the only contraction in it: then one launch can make all chunks.
template <class Plan>
constexpr bool begins_pipeline(const Plan& plan, int pass)
{
    const pass_plan& p = plan.passes[pass];
    if (!is_product(p.kind) || p.chunked_until == 0 || p.results.count != 1) { return false; }
    for (int i = pass + 1; i < p.chunked_until; ++i) {
        if (is_contraction(plan.passes[i].kind)) { return false; }
    }
    return true;
}

/// Whether the buffers of a run allow what the plan does: elements are numbered in 32 bits, and what the next pass writes
/// overlaps nothing that the product reads.
inline bool buffers_allow_joining(const arguments& args, const pass_view& product, const pass_view& next)
{
    const program_image& image = args.image();
    if (args.stored_elements_of(image.node_of(product.space)) > 0x7fff'ffff) { return false; }
    const auto bytes = [&](int slot) {
        const node& n = image.slot_node(slot);
        return static_cast<std::size_t>(args.stored_elements_of(n)) * size_of(n.type);
    };
    const auto address = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
    for (const pass_result& r : next.results) {
        for (int rank = 0; rank < args.ranks(); ++rank) {
            const std::byte* const to = args.buffer(r.slot, rank).data;
            for (const pass_operand& o : product.operands) {
                const std::byte* const from = args.buffer(o.slot).data;
                const bool apart = to == nullptr || from == nullptr || address(to) + bytes(r.slot) <= address(from) ||
                                   address(from) + bytes(o.slot) <= address(to);
                if (!apart) { return false; }
            }
        }
    }
    return true;
}

}  // namespace plait::cuda
