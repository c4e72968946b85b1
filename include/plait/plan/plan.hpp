// What a scheduled graph is executed as: passes over index spaces, reading and writing slots of memory.
#pragma once

#include <plait/graph/graph.hpp>

#include <cstdint>

namespace plait {

inline constexpr int max_slots = 96;
inline constexpr int max_passes = 40;
inline constexpr int max_operands = 40;
inline constexpr int max_results = 24;
inline constexpr int max_steps = 256;

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
/// Where a result goes: this rank's slot, every rank's, or the root's (zeros elsewhere).
enum class destination : std::uint8_t { own, all_ranks, root };

struct pass_operand {
    int node = -1;
    int slot = -1;
    source from = source::own;
    reduction combine = reduction::sum;
    int root = 0;
    bool uniform = false;  // the same element along the innermost dimension
};

struct pass_result {
    int node = -1;
    int slot = -1;
    destination to = destination::own;
    int root = 0;
    bool reduces = false;  // over the whole space, or per tensor
};

/// map: elementwise over the space, with reductions over it. reduce_axis: one reduction along a dimension.
/// all_reduce: unfused, one-shot or two-shot by size. all_to_all: blocks between ranks.
enum class pass_kind : std::uint8_t { map, reduce_axis, all_reduce, all_to_all };

/// One pass: for every index of its space (the shape of node `space`, or this rank's slice of it along `slice_dim`),
/// loads operands, evaluates steps, stores results.
struct pass_plan {
    pass_kind kind = pass_kind::map;
    int space = -1;
    int slice_dim = -1;
    int level = 0;
    bool barrier_before = false;
    bool fused = false;  // a collective runs inside
    int n_operands = 0;
    int n_steps = 0;
    int n_results = 0;
    pass_operand operands[max_operands]{};
    int steps[max_steps]{};  // nodes, in order
    pass_result results[max_results]{};
};

/// The passes of a program, in order.
struct program_plan {
    rule violated = rule::none;
    message why{};
    int n_slots = 0;
    int n_passes = 0;
    bool barrier_after = false;  // peers may still be at work on this rank's memory
    slot slots[max_slots]{};
    pass_plan passes[max_passes]{};

    constexpr bool operator==(const program_plan&) const = delete;
};

}  // namespace plait
