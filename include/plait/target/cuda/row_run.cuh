// Which passes one kernel can do that takes row after row: a reduction along the rows, and what comes before and after it.
#pragma once

#include <plait/target/cuda/joined_passes.cuh>

#include <cstdint>

namespace plait::cuda {

/// Where a stage of such a kernel has an operand from: memory; what a stage before holds of its row; memory, to be held for
/// later stages; one value for the row, from a reduction before; memory that is the same for all rows, to be held for all.
enum class row_source : std::uint8_t { memory, held, kept, reduced, column };
template <row_source From>
inline constexpr bool reads_memory = From == row_source::memory || From == row_source::kept || From == row_source::column;

/// Passes [first, first + count) as the stages of one kernel. By operand and result, as the plan numbers them: which held
/// line, reduced value or held column it is, or -1.
template <int Operands, int Results>
struct row_run {
    static constexpr int most_lines = 4;
    static constexpr int most_values = 8;
    int count = 0;  // 0: no such kernel
    int n_lines = 0;
    int n_values = 0;
    int n_columns = 0;
    dtype line[most_lines]{};
    dtype value[most_values]{};
    dtype column[most_lines]{};
    row_source from[Operands]{};
    int operand[Operands]{};
    int result[Results]{};
    bool stored[Results]{};  // whether anyone else reads it
};

template <class Graph, class Plan>
class row_planner {
  public:
    using run = row_run<static_cast<int>(std::size(Plan{}.operands)), static_cast<int>(std::size(Plan{}.results))>;

    constexpr row_planner(const Graph& graph, const Plan& plan, int first) : g_(graph), plan_(plan), first_(first) {}

    /// The longest run from pass `first` on; none if nothing is reduced along a row, or it would be a single pass.
    constexpr run find()
    {
        if (!goes_by_rows(first_)) { return {}; }
        int last = first_ + 1;
        while (last < plan_.n_passes && joins(last)) { ++last; }
        for (; last > first_ + 1; --last) {
            if (!reduces(last)) { break; }
            run r;
            if (assign(r, last)) { return r; }
        }
        return {};
    }

  private:
    [[nodiscard]] constexpr const pass_operand& operand(const pass_plan& p, int i) const { return plan_.operands[p.operands.first + i]; }
    [[nodiscard]] constexpr const pass_result& result(const pass_plan& p, int i) const { return plan_.results[p.results.first + i]; }
    [[nodiscard]] constexpr const node& slot_node(int slot) const { return g_[plan_.slots[slot].node]; }
    [[nodiscard]] constexpr reach reach_of(const pass_plan& p, int slot) const
    {
        return reach_in_line(g_[p.space], p.slice_dim, slot_node(slot), g_[p.space].dims - 1);
    }
    [[nodiscard]] constexpr bool reduces(int last) const
    {
        for (int j = first_; j < last; ++j) {
            if (plan_.passes[j].kind == pass_kind::reduce_axis) { return true; }
        }
        return false;
    }

    /// Whether everything that a pass touches is found by row and column.
    [[nodiscard]] constexpr bool goes_by_rows(int pass) const
    {
        const pass_plan& p = plan_.passes[pass];
        const int along = g_[p.space].dims - 1;
        if (along < 1 || p.slice_dim == along || !goes_along_line(g_, plan_, pass, along)) { return false; }
        for (int i = 0; i < p.results.count; ++i) {
            const pass_result& r = result(p, i);
            const bool fits = p.kind == pass_kind::map           ? !r.reduces && (r.to == destination::own || r.to == destination::all_ranks)
                              : p.kind == pass_kind::reduce_axis ? p.results.count == 1 && r.to == destination::own && g_[r.node].attrs.axis == along
                                                                 : false;
            if (!fits || g_[r.node].type != slot_node(r.slot).type) { return false; }
        }
        return true;
    }
    /// Whether pass j can follow those before it row by row.
    [[nodiscard]] constexpr bool joins(int j) const
    {
        const pass_plan& p = plan_.passes[j];
        const pass_plan& begin = plan_.passes[first_];
        // A pipeline may be cut into chunks: a run lies in one, or in none.
        const bool alike = p.group == begin.group && pipeline_of(plan_, j) == pipeline_of(plan_, first_) && !p.barrier_before && p.slice_dim == begin.slice_dim && plait::detail::same_shape(g_[p.space], g_[begin.space]);
        if (!alike || !goes_by_rows(j)) { return false; }
        for (int i = first_; i < j; ++i) {
            if (!can_follow(p, plan_.passes[i])) { return false; }
        }
        return true;
    }
    /// Of what one pass writes another one may read or write the same row alone.
    [[nodiscard]] constexpr bool can_follow(const pass_plan& p, const pass_plan& before) const
    {
        for (int w = 0; w < before.results.count; ++w) {
            const int slot = result(before, w).slot;
            const bool is_row = before.kind == pass_kind::reduce_axis;
            for (int o = 0; o < p.operands.count; ++o) {
                if (operand(p, o).slot != slot) { continue; }
                if (operand(p, o).from != source::own || reach_of(p, slot) != (is_row ? reach::row : reach::line)) { return false; }
            }
            for (int r = 0; r < p.results.count; ++r) {
                if (result(p, r).slot == slot) { return false; }
            }
        }
        for (int o = 0; o < before.operands.count; ++o) {
            const pass_operand& read = operand(before, o);
            // A tensor of a value for each row may be bound to the memory of one for each column, of as many, that is not read again.
            if (p.kind == pass_kind::reduce_axis && plan_.slots[result(p, 0).slot].is_tensor && read.slot >= 0 && read.from == source::own &&
                reach_of(before, read.slot) == reach::column) {
                return false;
            }
            for (int r = 0; r < p.results.count; ++r) {
                if (read.slot < 0 || result(p, r).slot != read.slot) { continue; }
                const bool same = read.from == source::own && result(p, r).to == destination::own && p.kind == pass_kind::map &&
                                  reach_of(before, read.slot) == reach::line;
                if (!same) { return false; }
            }
        }
        return true;
    }

    /// Where a slot was written among passes [first, j): the number of the result, or -1.
    [[nodiscard]] constexpr int written_before(int slot, int j) const
    {
        for (int i = first_; i < j; ++i) {
            const pass_plan& p = plan_.passes[i];
            for (int r = 0; r < p.results.count; ++r) {
                if (result(p, r).slot == slot) { return p.results.first + r; }
            }
        }
        return -1;
    }
    /// Whether a slot's line is read by a pass among [from, to).
    [[nodiscard]] constexpr bool is_read(int slot, int from, int to) const
    {
        for (int i = from; i < to; ++i) {
            const pass_plan& p = plan_.passes[i];
            for (int o = 0; o < p.operands.count; ++o) {
                if (operand(p, o).slot == slot) { return true; }
            }
        }
        return false;
    }
    [[nodiscard]] constexpr bool is_wanted_outside(int slot, int last) const
    {
        const struct slot& s = plan_.slots[slot];
        return s.is_tensor || s.peers_touch || is_read(slot, 0, first_) || is_read(slot, last, plan_.n_passes);
    }

    /// Numbers what is held. False if that would be too much.
    [[nodiscard]] constexpr bool assign(run& r, int last) const
    {
        constexpr int most_bytes = 16;  // of registers, for each element that a thread has of a row
        int bytes = 0;
        const auto add = [&](int slot, dtype* list, int& n) {
            const dtype type = slot_node(slot).type;
            const int more = size_of(type) > 4 ? 8 : 4;
            if (n == run::most_lines || bytes + more > most_bytes) { return -1; }
            bytes += more;
            list[n] = type;
            return n++;
        };
        const auto add_line = [&](int slot) { return add(slot, r.line, r.n_lines); };
        for (int& o : r.operand) { o = -1; }
        for (int& o : r.result) { o = -1; }
        for (int j = first_; j < last; ++j) {
            const pass_plan& p = plan_.passes[j];
            for (int i = 0; i < p.results.count; ++i) {
                const int at = p.results.first + i;
                const int slot = plan_.results[at].slot;
                r.stored[at] = is_wanted_outside(slot, last) || result(p, i).to != destination::own;
                if (!is_read(slot, j + 1, last)) { continue; }
                if (p.kind == pass_kind::map) { r.result[at] = add_line(slot); }
                else if (r.n_values < run::most_values) {
                    r.result[at] = r.n_values;
                    r.value[r.n_values++] = slot_node(slot).type;
                }
                if (r.result[at] < 0) { return false; }
            }
        }
        for (int j = first_; j < last; ++j) { assign_operands(r, j, last, add_line); }
        for (int j = first_; j < last; ++j) {
            assign_columns(r, j, [&](int slot) { return add(slot, r.column, r.n_columns); });
        }
        r.count = last - first_;
        return true;
    }
    template <class AddLine>
    constexpr void assign_operands(run& r, int j, int last, AddLine&& add_line) const
    {
        const pass_plan& p = plan_.passes[j];
        for (int i = 0; i < p.operands.count; ++i) {
            const int at = p.operands.first + i;
            const pass_operand& o = plan_.operands[at];
            if (o.slot < 0 || o.from != source::own) { continue; }
            const int writer = written_before(o.slot, j);
            if (writer >= 0) {
                r.operand[at] = r.result[writer];
                r.from[at] = reach_of(p, o.slot) == reach::row ? row_source::reduced : row_source::held;
                continue;
            }
            if (reach_of(p, o.slot) != reach::line) { continue; }
            for (int k = plan_.passes[first_].operands.first; k < p.operands.first; ++k) {
                if (r.from[k] == row_source::kept && plan_.operands[k].slot == o.slot) {
                    r.operand[at] = r.operand[k];
                    r.from[at] = row_source::held;
                }
            }
            const bool again = r.from[at] == row_source::memory && is_read(o.slot, j + 1, last);
            if (const int line = again ? add_line(o.slot) : -1; line >= 0) {
                r.operand[at] = line;
                r.from[at] = row_source::kept;
            }
        }
    }

    /// What is the same in all rows stays in the registers that lines leave.
    template <class AddColumn>
    constexpr void assign_columns(run& r, int j, AddColumn&& add_column) const
    {
        const pass_plan& p = plan_.passes[j];
        for (int i = 0; i < p.operands.count; ++i) {
            const int at = p.operands.first + i;
            const pass_operand& o = plan_.operands[at];
            if (o.slot < 0 || o.from != source::own || reach_of(p, o.slot) != reach::column) { continue; }
            for (int k = plan_.passes[first_].operands.first; k < at; ++k) {
                if (r.from[k] == row_source::column && plan_.operands[k].slot == o.slot) { r.operand[at] = r.operand[k]; }
            }
            if (r.operand[at] < 0) { r.operand[at] = add_column(o.slot); }
            if (r.operand[at] >= 0) { r.from[at] = row_source::column; }
        }
    }

    const Graph& g_;
    const Plan& plan_;
    int first_;
};

/// The run of a lowered program that begins with pass P.
template <class Lowered, int P>
inline constexpr auto row_run_of = row_planner(Lowered::graph, Lowered::plan, P).find();

}  // namespace plait::cuda
