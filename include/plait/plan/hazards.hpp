// What passes do to each other's memory: values overwritten too early, and where ranks must meet in between.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/plan.hpp>

#include <cstddef>

namespace plait::detail {

template <class Plan>
constexpr view<const pass_operand> operands_of(const Plan& plan, const pass_plan& p)
{
    return {plan.operands + p.operands.first, static_cast<std::size_t>(p.operands.count)};
}
template <class Plan>
constexpr view<const pass_result> results_of(const Plan& plan, const pass_plan& p)
{
    return {plan.results + p.results.first, static_cast<std::size_t>(p.results.count)};
}

/// Whether the old value of a tensor that pass i writes is read by pass i itself, elsewhere, or by a later one.
template <class Plan>
constexpr bool read_later(const Plan& plan, int i, int written)
{
    for (int j = i; j < plan.n_passes; ++j) {
        for (const pass_operand& o : operands_of(plan, plan.passes[j])) {
            if (o.slot != written) { continue; }
            const bool from_peers = o.from != source::own;
            const bool reads_old = o.old || from_peers;
            const bool in_place = j == i && !from_peers && plan.passes[i].kind == pass_kind::map;
            if (reads_old && !in_place) { return true; }
        }
    }
    return false;
}

/// What has happened to a slot since the last barrier.
struct slot_history {
    bool read = false;  // by this rank
    bool written = false;
    bool peers_read = false;
    bool peers_wrote = false;
};

/// Whether a pass must not run before all ranks have done what they did since the last barrier.
template <class Plan>
constexpr bool needs_barrier(const Plan& plan, const pass_plan& p, const slot_history* since)
{
    for (const pass_operand& o : operands_of(plan, p)) {
        if (o.slot < 0) { continue; }
        const slot_history& h = since[o.slot];
        if (h.peers_wrote || (o.from != source::own && h.written)) { return true; }
    }
    for (const pass_result& r : results_of(plan, p)) {
        const slot_history& h = since[r.slot];
        if (h.peers_read || h.peers_wrote || (r.to != destination::own && (h.read || h.written))) { return true; }
    }
    return false;
}

/// Adds what a pass does. Returns whether other ranks have part in it.
template <class Plan>
constexpr bool note(const Plan& plan, const pass_plan& p, slot_history* since)
{
    bool peers = false;
    for (const pass_operand& o : operands_of(plan, p)) {
        if (o.slot < 0) { continue; }
        const bool own = o.from == source::own;
        (own ? since[o.slot].read : since[o.slot].peers_read) = true;
        peers = peers || !own;
    }
    for (const pass_result& r : results_of(plan, p)) {
        const bool own = r.to == destination::own;
        since[r.slot].written = true;
        since[r.slot].peers_wrote = since[r.slot].peers_wrote || !own;
        peers = peers || !own;
    }
    return peers;
}

/// Puts a barrier before every pass that would read what peers may still write, or the other way round. A pipeline is
/// one stage here: its passes wait for each other's signals.
template <class Plan>
constexpr void place_barriers(Plan& plan)
{
    slot_history since[Plan::slot_capacity]{};
    bool any_peers = false;
    for (int i = 0; i < plan.n_passes;) {
        const int end = plan.passes[i].chunked_until > i ? plan.passes[i].chunked_until : i + 1;
        bool needed = false;
        for (int j = i; j < end; ++j) { needed = needed || needs_barrier(plan, plan.passes[j], since); }
        if (needed) {
            plan.passes[i].barrier_before = true;
            for (int s = 0; s < plan.n_slots; ++s) { since[s] = slot_history{}; }
            any_peers = false;
        }
        for (; i < end; ++i) { any_peers = note(plan, plan.passes[i], since) || any_peers; }
    }
    plan.barrier_after = any_peers;
}

}  // namespace plait::detail
