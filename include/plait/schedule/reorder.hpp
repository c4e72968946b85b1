// reorder: moves an all_gather (or a send) below the computations that consume it (CoCoNeT's reorder).
#pragma once

#include <plait/schedule/slicer.hpp>

#include <string_view>

namespace plait {
namespace detail {

constexpr bool can_reorder(op k) { return k == op::all_gather || k == op::send; }

/// @pre `label` names an all_gather or a send, and something that consumes it can be computed before it.
/// @post elementwise operations, reductions (which gain a small all_reduce) and sends work on slices, and so do
/// reductions of other replicated values of the same shape; every replicated result that is still needed has one
/// all_gather.
template <class Graph>
constexpr scheduled<roomy<Graph>> reorder_graph(const Graph& old, std::string_view label)
{
    slicer<Graph> s{old};
    const auto is_target = [&](int i) {
        return can_reorder(old[i].kind) && old[i].label >= 0 && old.text(old[i].label) == label;
    };
    int target = -1;
    for (int i = 0; i < old.size && target < 0; ++i) { target = is_target(i) ? i : -1; }
    message what;
    what << "\"" << label << "\": reorder";
    const int named = old.labelled(label);
    if (named < 0) { return s.result.refuse(rule::unknown_label, what << " in program \"" << old.name.view() << "\""); }
    if (target < 0) { return s.result.refuse(rule::reorder_target, what << " of " << old.type_of(named)); }
    s.collective = old[target];
    message first_consumer;
    for (int i = 0; i < old.size; ++i) {
        const node& n = old[i];
        if (is_target(i) && n.kind == s.collective.kind && s.whole[n.args[0]] >= 0) {
            s.early[i] = s.whole[n.args[0]];
        } else if (!s.has_early_operand(n)) {
            if (s.collective.kind != op::all_gather || !s.reduce_slices(i, target)) { s.keep(i); }
        } else if (n.kind == op::update) {
            // Who reads the new value can read its slice; but as a rank's own value it must stay one.
            if (n.layout != layout_kind::local) { s.early[i] = s.early[n.args[1]]; }
            s.keep(i);
        } else if (!s.advance(i)) {
            if (first_consumer.size() == 0) { first_consumer << ", consumed by " << name_of(n.kind); }
            s.keep(i);
        }
    }
    if (s.moved_nodes == 0) {
        return s.result.refuse(rule::reorder_illegal, what << " of " << old.type_of(target) << first_consumer.view());
    }
    s.finish();
    return s.result;
}

}  // namespace detail

/// The transformation `reorder`.
template <fixed_string Label>
struct reorder_t : pass_base {
    template <class Graph>
    static constexpr auto apply(const Graph& g)
    {
        return detail::reorder_graph(g, Label.view());
    }
};

/// Moves the labelled all_gather (or send) below all computations that can do without it. They then work on slices,
/// 1/n of the elements on each rank.
template <fixed_string Label>
inline constexpr reorder_t<Label> reorder{};

}  // namespace plait
