// What a scheduled graph is executed as: passes over index spaces, reading and writing slots of memory.
#pragma once

#include <plait/core/view.hpp>
#include <plait/graph/graph.hpp>

#include <cstdint>
#include <string_view>

namespace plait {

/// What one kernel can take: operands in memory or registers from outside, and results.
inline constexpr int max_operands = 40;
inline constexpr int max_results = 24;

/// A piece of memory that passes read and write: a tensor that the user binds, or workspace of the executable.
/// It has the shape, layout and dtype of node `node`.
struct slot {
    int node = -1;
    bool is_tensor = false;
    bool written = false;
    bool peers_touch = false;  // other ranks read or write it directly
};

/// Where an operand comes from.
/// own: this rank's slot. all_ranks: every rank's slot, combined in rank order. root_combined: the same on the root,
/// zeros elsewhere. from_root: the root's slot. peer_parts: the slices of all ranks (all_to_all).
/// The others are no memory: a scalar argument, a number, the number of ranks, the mask of a dropout.
enum class source : std::uint8_t {
    own,
    all_ranks,
    root_combined,
    from_root,
    peer_parts,
    scalar,
    number,
    world_size,
    mask
};
/// Where a result goes: this rank's slot, every rank's, the root's (zeros elsewhere), or that of the equal rank of another
/// group.
enum class destination : std::uint8_t { own, all_ranks, root, peer };

struct pass_operand {
    int node = -1;
    int slot = -1;
    source from = source::own;
    reduction combine = reduction::sum;
    int root = 0;
    bool uniform = false;  // the same element along the innermost dimension
    bool old = false;      // a tensor's value from before the program
};

struct pass_result {
    int node = -1;
    int slot = -1;
    destination to = destination::own;
    int root = 0;
    bool reduces = false;  // over the whole space, or per tensor
};

/// map: elementwise over the space, with reductions over it. reduce_axis: one reduction along a dimension.
/// all_reduce: unfused, one-shot or two-shot by size. all_to_all: blocks between ranks. The others are the operations
/// of their name, on operands in memory.
enum class pass_kind : std::uint8_t { map, reduce_axis, all_reduce, all_to_all, matmul, conv2d, embedding };

constexpr std::string_view name_of(pass_kind k)
{
    constexpr std::string_view names[] = {"map", "reduce_axis", "all_reduce", "all_to_all", "matmul", "conv2d", "embedding"};
    return names[static_cast<int>(k)];
}
constexpr bool is_contraction(pass_kind k) { return k >= pass_kind::matmul; }

struct index_range {
    int first = 0;
    int count = 0;
};

/// One pass: for every index of its space (the shape of node `space`, or this rank's slice of it along `slice_dim`),
/// loads operands, evaluates steps, stores results.
struct pass_plan {
    pass_kind kind = pass_kind::map;
    int space = -1;
    int slice_dim = -1;
    int group = any_group;  // whose ranks run it
    int level = 0;
    bool barrier_before = false;
    bool fused = false;      // a collective runs inside
    int chunked_until = 0;   // of the first pass of a pipeline: the pass after its last
    unsigned chunk_dims = 0;  // and the dimensions along which it can be cut, as bits
    index_range operands{};  // of the plan's lists
    index_range steps{};
    index_range results{};
};

/// The passes of a program, in order, with room for so many of each.
template <int Slots, int Passes, int Operands, int Steps, int Results>
struct program_plan {
    static constexpr int slot_capacity = Slots;
    rule violated = rule::none;
    message why{};
    bool overflow = false;  // there was not enough room
    int n_slots = 0;
    int n_passes = 0;
    int n_operands = 0;
    int n_steps = 0;
    int n_results = 0;
    bool barrier_after = false;  // peers may still be at work on this rank's memory
    slot slots[Slots]{};
    pass_plan passes[Passes]{};
    pass_operand operands[Operands]{};
    int steps[Steps]{};  // nodes, in order of evaluation
    pass_result results[Results]{};

    /// The same in less room.
    template <class Smaller>
    [[nodiscard]] constexpr Smaller cut() const
    {
        Smaller p;
        p.violated = violated;
        p.why = why;
        p.n_slots = n_slots;
        p.n_passes = n_passes;
        p.n_operands = n_operands;
        p.n_steps = n_steps;
        p.n_results = n_results;
        p.barrier_after = barrier_after;
        for (int i = 0; i < n_slots; ++i) { p.slots[i] = slots[i]; }
        for (int i = 0; i < n_passes; ++i) { p.passes[i] = passes[i]; }
        for (int i = 0; i < n_operands; ++i) { p.operands[i] = operands[i]; }
        for (int i = 0; i < n_steps; ++i) { p.steps[i] = steps[i]; }
        for (int i = 0; i < n_results; ++i) { p.results[i] = results[i]; }
        return p;
    }
};

/// A pass as the runtime sees it.
struct pass_view {
    pass_kind kind = pass_kind::map;
    int space = -1;
    int slice_dim = -1;
    int group = any_group;
    bool barrier_before = false;
    bool fused = false;
    int chunked_until = 0;
    unsigned chunk_dims = 0;
    view<const pass_operand> operands{};
    view<const int> steps{};
    view<const pass_result> results{};
};

/// A plan as the runtime sees it.
struct plan_view {
    view<const slot> slots{};
    view<const pass_view> passes{};
    bool barrier_after = false;
};

}  // namespace plait
