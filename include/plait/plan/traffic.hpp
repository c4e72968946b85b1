// How many bytes a schedule moves, from its plan.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/lowered.hpp>

#include <cstddef>

namespace plait {

/// Bytes per element of the program's index space and per rank (of a program on groups: of one rank of each): what a rank reads and writes in memory (its own and the
/// others'), and how much of that is other ranks' memory.
struct traffic {
    double read = 0;
    double written = 0;
    double remote = 0;
    [[nodiscard]] constexpr double total() const { return read + written; }
};

namespace detail {

/// Whether a value has one element per index of a space. Numbers and values per tensor weigh nothing beside those that
/// do.
constexpr bool fills(const node& value, const node& space)
{
    bool same = value.dims == space.dims && value.dims > 0;
    for (int d = 0; same && d < value.dims; ++d) { same = value.shape[d] == space.shape[d]; }
    return same;
}

constexpr traffic traffic_of_pass(view<const node> nodes, view<const slot> slots, const pass_view& pass,
                                  int ranks)
{
    const double n = ranks;
    const node& space = nodes[static_cast<std::size_t>(pass.space)];
    // A slice is 1/n of the space. An unfused all_reduce hands slices around, too (below a few kilobytes two ranks do
    // not).
    const double share = pass.slice_dim >= 0 || pass.kind == pass_kind::all_reduce ? 1 / n : 1;
    const auto bytes = [&](int s) {
        const node& value = nodes[static_cast<std::size_t>(slots[static_cast<std::size_t>(s)].node)];
        return fills(value, space) ? static_cast<double>(size_of(value.type)) * share : 0.0;
    };
    traffic t;
    for (const pass_operand& o : pass.operands) {
        if (o.slot < 0) { continue; }
        const bool all = o.from == source::all_ranks || o.from == source::root_combined;
        const double others = all ? n - 1 : o.from == source::own ? 0 : (n - 1) / n;
        t.read += bytes(o.slot) * (all ? n : 1);
        t.remote += bytes(o.slot) * others;
    }
    for (const pass_result& r : pass.results) {
        if (r.reduces) { continue; }
        const bool all = r.to == destination::all_ranks;
        t.written += bytes(r.slot) * (all ? n : 1);
        t.remote += bytes(r.slot) * (all                            ? n - 1
                                     : r.to == destination::root ? (n - 1) / n
                                     : r.to == destination::peer ? 1
                                                                 : 0);
    }
    return t;
}

}  // namespace detail

/// What one step of a program moves on `ranks` ranks. For data-parallel Adam in f32 it is 36 bytes unscheduled,
/// 8 + 36/n as reduce_scatter, update, all_gather, and 8 + 20/n fused with sliced state.
template <class Program>
constexpr traffic traffic_of(Program, int ranks)
{
    using program = lowered<Program>;
    traffic sum;
    for (int p = 0; p < program::plan.n_passes; ++p) {
        const view<const node> nodes{program::graph.nodes, static_cast<std::size_t>(program::graph.size)};
        const traffic t =
            detail::traffic_of_pass(nodes, program::view.slots, program::passes[static_cast<std::size_t>(p)], ranks);
        sum.read += t.read;
        sum.written += t.written;
        sum.remote += t.remote;
    }
    return sum;
}

}  // namespace plait
