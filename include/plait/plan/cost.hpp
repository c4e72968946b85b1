// What the passes of a plan cost on a machine: bytes, operations, messages, and the time that these take.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/plan/machine.hpp>

#include <algorithm>
#include <cstddef>

namespace plait {

/// What one rank does in a pass. Constexpr and at run time: the same code.
struct stage_cost {
    double memory = 0;  ///< bytes read and written, the other ranks' included
    double wire = 0;    ///< bytes that move between this rank and others, in and out
    double wire_out = 0;  ///< those of them that this rank writes
    double flops = 0;   ///< of matrix products
    double steps = 0;   ///< elementwise operations, weighted: see weight_of
    int meetings = 0;   ///< of all ranks, before it (and after it, of the last pass)

    constexpr stage_cost& operator+=(const stage_cost& o)
    {
        memory += o.memory;
        wire += o.wire;
        wire_out += o.wire_out;
        flops += o.flops;
        steps += o.steps;
        meetings += o.meetings;
        return *this;
    }
};

/// Sizes that a plan is costed for: by symbol of the program the number of a dimension, and (where it has several) that
/// of the tensors which make it up; and the ranks of a group.
struct plan_sizes {
    view<const std::int64_t> extents{};
    view<const std::int64_t> tensors{};
    int ranks = 1;

    [[nodiscard]] constexpr double of(packed_extent e) const
    {
        if (!is_named(e)) { return static_cast<double>(e); }
        const auto symbol = static_cast<std::size_t>(symbol_of(e));
        if (is_per_tensor(e)) { return symbol < tensors.size() ? static_cast<double>(tensors[symbol]) : 1; }
        return symbol < extents.size() ? static_cast<double>(extents[symbol]) : 0;
    }
    /// Elements of the whole of a value, and of what a rank holds of it.
    [[nodiscard]] constexpr double elements(const node& n) const
    {
        double count = 1;
        for (int d = 0; d < n.dims; ++d) { count *= of(n.shape[d]); }
        return count;
    }
    [[nodiscard]] constexpr double held(const node& n) const
    {
        return elements(n) / (n.layout == layout_kind::sliced ? ranks : 1);
    }
};

namespace detail {

/// Elementwise operations in units of an addition, from vectorised loops on x86-64 and from instruction counts on GPUs.
constexpr double weight_of(op k)
{
    switch (k) {
    case op::dropout: return 12;  // Philox: ten rounds for four words
    case op::exp:
    case op::log:
    case op::tanh:
    case op::erf: return 10;
    case op::pow: return 20;
    case op::sqrt:
    case op::rsqrt:
    case op::div: return 4;
    default: return is_elementwise(k) ? 1 : 0;
    }
}

/// Elements that are multiplied and added for each element of a contraction's result.
constexpr double terms_of(view<const node> nodes, const plan_sizes& sizes, const node& product)
{
    const node& a = nodes[static_cast<std::size_t>(product.args[0])];
    const node& b = nodes[static_cast<std::size_t>(product.args[1])];
    if (product.kind == op::matmul) {
        const int inner = product.attrs.a != 0 ? a.dims - 2 : a.dims - 1;
        const double k = sizes.of(a.shape[inner]);
        return a.layout == layout_kind::sliced && a.slice_dim == inner ? k / sizes.ranks : k;
    }
    if (product.kind == op::conv2d) {  // a filter of [out, in, height, width]
        double k = 1;
        for (int d = 1; d < b.dims; ++d) { k *= sizes.of(b.shape[d]); }
        return k;
    }
    return 0;
}

}  // namespace detail

/// What one rank does in pass `p` of a program. A rank of another group does nothing in it.
constexpr stage_cost cost_of_pass(const program_image& image, std::size_t p, const plan_sizes& sizes)
{
    const pass_view& pass = image.plan.passes[p];
    const node& space = image.node_of(pass.space);
    const double n = sizes.ranks;
    const bool shared_out = pass.kind == pass_kind::all_reduce || pass.kind == pass_kind::all_to_all;
    const double share = pass.slice_dim >= 0 || shared_out ? 1 / n : 1;
    // A value that fills the space is read where the pass works; one that does not is read as it is held.
    const auto bytes = [&](int s) {
        const node& value = image.slot_node(s);
        bool fills = value.dims == space.dims && !is_contraction(pass.kind);
        for (int d = 0; fills && d < space.dims; ++d) { fills = value.shape[d] == space.shape[d]; }
        return static_cast<double>(size_of(value.type)) * (fills ? sizes.elements(value) * share : sizes.held(value));
    };
    stage_cost c;
    for (const pass_operand& o : pass.operands) {
        if (o.slot < 0) { continue; }
        const bool all = o.from == source::all_ranks || o.from == source::root_combined;
        const double size = is_contraction(pass.kind) && pass.kind == pass_kind::embedding && &o == &pass.operands[0]
                                ? 0  // of a table only the rows that are asked for
                                : bytes(o.slot);
        c.memory += size * (all ? n : 1);
        c.wire += size * (all ? n - 1 : o.from == source::own ? 0 : o.from == source::from_root ? 1 : (n - 1) / n);
    }
    for (const pass_result& r : pass.results) {
        if (r.reduces) { continue; }
        const double size = bytes(r.slot);
        c.memory += size * (r.to == destination::all_ranks ? n : 1);
        c.wire_out += size * (r.to == destination::all_ranks ? n - 1 : r.to == destination::own ? 0 : 1);
    }
    c.wire += c.wire_out;
    const double elements = (pass.slice_dim >= 0 || shared_out) ? sizes.elements(space) * share : sizes.held(space);
    for (const int s : pass.steps) { c.steps += detail::weight_of(image.node_of(s).kind) * elements; }
    for (const pass_operand& o : pass.operands) {
        const bool combines = o.from == source::all_ranks || o.from == source::root_combined;
        if (combines) { c.steps += (n - 1) * elements; }
        if (o.from == source::mask) { c.steps += detail::weight_of(op::dropout) * elements; }
    }
    if (is_contraction(pass.kind)) { c.flops = 2 * detail::terms_of(image.nodes, sizes, space) * sizes.held(space); }
    c.meetings = pass.barrier_before ? 1 : 0;
    if (p + 1 == image.plan.passes.size() && image.plan.barrier_after) { ++c.meetings; }
    return c;
}

/// The time of one pass that is not part of a pipeline.
struct stage_time {
    double work = 0;  ///< memory and arithmetic
    double wire = 0;  ///< the link
    double fixed = 0;  ///< launch and meetings
    [[nodiscard]] constexpr double total() const { return work + wire + fixed; }
};

constexpr stage_time time_of(const stage_cost& c, const machine& m, int ranks)
{
    const machine::level& link = m.between(ranks);
    stage_time t;
    const double bandwidth = c.memory <= m.cache ? m.cache_bandwidth : m.bandwidth;
    t.work = std::max(c.memory / bandwidth, c.steps / m.step_rate) + c.flops / m.product_rate;
    if (c.wire > 0) { t.wire = link.latency + c.wire / link.bandwidth; }
    t.fixed = m.launch + c.meetings * m.meeting;
    return t;
}

/// The time of a program's run on `sizes.ranks` ranks of each group, and of each stage before it through
/// `each(pass, cost, seconds)`; the stages of a pipeline run at once, so that their times count once, with the first.
/// `chunks_of(pass)`: into how many chunks the pipeline that begins there is cut. A pipeline takes as long as the longer
/// of its work and its transfers, and one chunk of the shorter (the limit of CoCoNeT's overlap).
template <class ChunksOf, class Each>
constexpr double predicted_time(const program_image& image, const plan_sizes& sizes, const machine& m, ChunksOf&& chunks_of, Each&& each)
{
    const std::size_t n = image.plan.passes.size();
    double total = 0;
    for (std::size_t p = 0; p < n;) {
        const auto until = static_cast<std::size_t>(image.plan.passes[p].chunked_until);
        if (until == 0) {
            const stage_cost c = cost_of_pass(image, p, sizes);
            const double t = time_of(c, m, sizes.ranks).total();
            each(p, c, t);
            total += t;
            ++p;
            continue;
        }
        const int chunks = std::max(1, chunks_of(p));
        stage_time sum;
        for (std::size_t q = p; q < until; ++q) {
            const stage_time t = time_of(cost_of_pass(image, q, sizes), m, sizes.ranks);
            sum.work += t.work;
            sum.wire += t.wire;
            sum.fixed += t.fixed + (chunks - 1) * m.launch;
        }
        const double t = sum.fixed + std::max(sum.work, sum.wire) + std::min(sum.work, sum.wire) / chunks;
        for (std::size_t q = p; q < until; ++q) { each(q, cost_of_pass(image, q, sizes), q == p ? t : 0.0); }
        total += t;
        p = until;
    }
    return total;
}
/// The same without a look at the stages; pipelines are cut into `chunks`.
constexpr double predicted_time(const program_image& image, const plan_sizes& sizes, const machine& m, int chunks = 8)
{
    return predicted_time(image, sizes, m, [chunks](std::size_t) { return chunks; }, [](std::size_t, const stage_cost&, double) {});
}

}  // namespace plait
