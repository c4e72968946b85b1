// A kernel of several passes that takes row after row: a thread holds what it has of a row until the last pass is done with it.
#pragma once

#include <plait/core/slice.hpp>
#include <plait/target/cuda/meeting.cuh>
#include <plait/target/cuda/row_stage.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace plait::cuda {

/// Who does what of a row. It is reduced part by part, as slices would be, by a team of threads for each part.
struct row_walk {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    std::int64_t part = 0;   // elements; the last may be shorter, or empty
    int parts = 1;
    int team = warp_size;    // threads for a part, a power of two
    int threads = warp_size; // for a row, a power of two
    int block = line_threads;
    row_fill fill = row_fill::any;

    [[nodiscard]] __host__ __device__ int rows_of_block() const { return block / threads; }
};

/// How rows of so many elements are shared out. `threads` is beyond those of a block if they are too long.
inline row_walk row_walk_of(std::int64_t width, int ranks)
{
    row_walk w;
    w.width = width;
    w.parts = ranks;
    w.part = slice_of(width, 0, ranks).count;
    w.team = w.threads = threads_of_part(w.part);
    while (w.threads < w.team * ranks) { w.threads *= 2; }
    const std::int64_t most = std::int64_t{w.team} * line_group * line_turns;
    if (w.part > most || width == 0) { w.threads = line_threads + 1; }
    w.block = w.threads > block_threads ? line_threads : block_threads;
    const bool whole = width % line_group == 0 && w.part % line_group == 0;
    const bool all = w.part == most && w.threads == w.team * ranks && width == w.part * ranks;
    w.fill = !whole ? row_fill::any : all ? row_fill::all : row_fill::whole_groups;
    return w;
}

/// Where the result of a stage's reduction goes, and what a mean is divided by.
struct row_result_channel {
    std::byte* result = nullptr;
    double divisor = 1;
};

/// Held, Columns: see held_row, held_columns.
template <class Held, class Columns, class... Stage>
struct row_body {
    static constexpr bool has_peers = (Stage::has_peers || ...);
    using stages = std::make_integer_sequence<int, sizeof...(Stage)>;

    struct arguments {
        walk space;
        row_walk rows;
        meeting before;
        meeting after;
        members<typename Stage::channels...> stages;
        members<std::conditional_t<Stage::reduces, row_result_channel, nothing>...> results;
    };

    __device__ static void run(const arguments& a)
    {
        meet(a.before);
        unsigned first = blockIdx.x * static_cast<unsigned>(a.rows.rows_of_block());
        if (a.rows.fill == row_fill::any) {
            run_rows<row_form<0, row_fill::any>>(a, first, stages{});
        } else {
            with_peers<has_peers>(a.space.peers, [&](auto ranks) {
                constexpr int n = decltype(ranks)::value;
                if (a.rows.fill == row_fill::all) {
                    with_team<n>(a.rows.team, [&](auto team) { run_rows<row_form<n, row_fill::all, decltype(team)::value>>(a, first, stages{}); });
                }
                run_rows<row_form<n, row_fill::whole_groups>>(a, first, stages{});
            });
        }
        meet(a.after);
    }

  private:
    /// Calls f with the threads of a team as a constant where a row is one warp's or less, and the number of parts is known.
    template <int Ranks, class F>
    __device__ static void with_team(int team, F&& f)
    {
        if constexpr (Ranks != 0 && Ranks * least_team <= warp_size) {
            if (team == least_team) { return f(std::integral_constant<int, least_team>{}); }
        }
        if constexpr (Ranks != 0 && Ranks * 2 * least_team <= warp_size) {
            if (team == 2 * least_team) { return f(std::integral_constant<int, 2 * least_team>{}); }
        }
        f(std::integral_constant<int, 0>{});
    }

    /// What a thread has in every row.
    template <class Form>
    struct share {
        int threads;  // for a row
        int team;
        int row;      // of the block's
        int thread;   // of the row
        int part;
        int lane;     // of the team
        int begin;    // its first column
        int end;      // of its part

        __device__ explicit share(const row_walk& w)
            : threads(Form::team != 0 ? Form::team * Form::ranks : w.threads), team(Form::team != 0 ? Form::team : w.team)
        {
            const auto self = static_cast<int>(threadIdx.x);
            row = self / threads;
            thread = self % threads;
            part = thread / team;
            lane = thread % team;
            begin = part * static_cast<int>(w.part) + lane * line_group;
            const int last = (part + 1) * static_cast<int>(w.part);
            end = last < static_cast<int>(w.width) ? last : static_cast<int>(w.width);
        }
        [[nodiscard]] __device__ std::int64_t column(int turn) const { return begin + std::int64_t{turn} * (team * line_group); }
        /// The elements of a group, if the thread has any.
        [[nodiscard]] __device__ int size(int turn) const
        {
            const int left = end - (begin + turn * team * line_group);
            return Form::fill == row_fill::all || left > line_group ? line_group : left;
        }
    };

    /// The block's rows from `first` on; where threads have all of their groups, as long as each has a row.
    template <class Form, int... S>
    __device__ static void run_rows(const arguments& a, unsigned& first, std::integer_sequence<int, S...>)
    {
        constexpr bool all = Form::fill == row_fill::all;
        const auto rows = static_cast<unsigned>(a.rows.rows);
        const auto of_block = static_cast<unsigned>(a.rows.rows_of_block());
        const auto is_done = [&] { return all ? first + of_block > rows : first >= rows; };
        if (is_done()) { return; }
        const share<Form> mine(a.rows);
        members<typename Stage::template cursors<Form::ranks>...> k;
        ((get<S>(k) = Stage::template cursors<Form::ranks>::open(get<S>(a.stages), a.space)), ...);
        Columns columns;
        (load_columns<S, Stage>(a, get<S>(k), mine, columns), ...);
        // All threads of a block go round equally often, as they may have to wait for each other.
#pragma unroll 1
        for (; !is_done(); first += gridDim.x * of_block) {
            const unsigned row = first + static_cast<unsigned>(mine.row);
            Held held;
            (run_stage<S, Stage>(a, get<S>(k), mine, row, all || row < rows, columns, held), ...);
        }
    }
    template <int S, class St, class Form, class Cursors>
    __device__ static void load_columns(const arguments& a, const Cursors& k, const share<Form>& mine, Columns& columns)
    {
        if constexpr (Form::is_whole) {
#pragma unroll
            for (int t = 0; t < line_turns; ++t) {
                if (mine.size(t) > 0) { St::load_columns(get<S>(a.stages), a.space, k, row_group<Form>{t, line_group, 0, 0, mine.column(t)}, columns); }
            }
        }
    }

    template <int S, class St, class Form, class Cursors>
    __device__ static void run_stage(const arguments& a, const Cursors& k, const share<Form>& mine, unsigned row, bool is_there, const Columns& columns, Held& held)
    {
        auto sum = [] {
            if constexpr (St::reduces) { return line_sum<typename St::first_output>::nothing_yet(); }
            else { return nothing{}; }
        }();
        const std::int64_t begin = std::int64_t{row} * static_cast<unsigned>(a.rows.width);
#pragma unroll
        for (int t = 0; t < line_turns; ++t) {
            const int size = mine.size(t);
            if (!is_there || size <= 0) { continue; }
            St::run(get<S>(a.stages), a.space, k, row_group<Form>{t, size, begin + mine.column(t), row, mine.column(t)}, columns, held, sum);
        }
        if constexpr (St::reduces) {
            using Out = typename St::first_output;
            const stored_t<Out::type> x = as_stored<Out::type>(sum_of_row<Out>(a.rows, mine, sum, get<S>(a.results).divisor));
            if constexpr (St::held_value >= 0) { get<St::held_value>(held.values) = computed<Out::type>(x); }
            if constexpr (St::stores_value) {
                if (is_there && mine.thread == 0) { reinterpret_cast<stored_t<Out::type>*>(get<S>(a.results).result)[row] = x; }
            }
        }
    }

    /// Memory of the block that all code for rows shares: of each part what its warps have, or the one that it has.
    template <class Total>
    __device__ static Total* totals_of_block()
    {
        __shared__ Total totals[line_threads / least_team];
        return totals;
    }
    /// The reduction of a row, in all of its threads.
    template <class Out, class Form, class Few>
    __device__ static typename Out::element sum_of_row(const row_walk& w, const share<Form>& mine, Few x, double divisor)
    {
        using total = typename Out::total;
        using value = typename Out::element;
        const auto add = [](value a, value b) { return kernels::combine<Out::over, value>(a, b); };
        x = mine.team >= warp_size ? combined_lanes<Out::over>(x) : combined_lanes<Out::over>(x, mine.team);
        if (mine.threads <= warp_size) {
            const Few own = static_cast<Few>(element_of_part<Out>(static_cast<total>(x), divisor));
            const auto of_part = [&](int p) { return static_cast<value>(__shfl_sync(0xffff'ffffU, own, p * mine.team, mine.threads)); };
            value all = of_part(0);
            if constexpr (Form::team != 0) {
#pragma unroll
                for (int p = 1; p < Form::ranks; ++p) { all = add(all, of_part(p)); }
            } else {
#pragma unroll 1
                for (int p = 1; p < w.parts; ++p) { all = add(all, of_part(p)); }
            }
            return all;
        }
        const int warps = mine.team > warp_size ? mine.team / warp_size : 1;
        total* const of_row = totals_of_block<total>() + mine.row * (mine.threads / mine.team * warps);
        if (mine.lane % warp_size == 0) { of_row[mine.part * warps + mine.lane / warp_size] = static_cast<total>(x); }
        const auto of_part = [&](int p) { return element_of_part<Out>(combined_in_order<Out::over>(of_row + p * warps, warps), divisor); };
        __syncthreads();
        value all = of_part(0);
#pragma unroll 1
        for (int p = 1; p < w.parts; ++p) { all = add(all, of_part(p)); }
        __syncthreads();
        return all;
    }
};

/// One block for each multiprocessor is asked for: rows are held in registers.
template <class Body>
__global__ void __launch_bounds__(line_threads, 1) row_kernel(const __grid_constant__ typename Body::arguments a)
{
    Body::run(a);
}

}  // namespace plait::cuda
