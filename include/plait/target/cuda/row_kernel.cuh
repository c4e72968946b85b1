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
    int team = warp_size;    // threads for a part
    int threads = warp_size; // for a row, a power of two
    row_fill fill = row_fill::any;

    [[nodiscard]] __host__ __device__ int rows_of_block() const { return line_threads / threads; }
    [[nodiscard]] __device__ int row_of_thread() const { return static_cast<int>(threadIdx.x) / threads; }
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

/// Held: see held_row.
template <class Held, class... Stage>
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
            run_rows<0, row_fill::any>(a, first, stages{});
        } else {
            with_peers<has_peers>(a.space.peers, [&](auto ranks) {
                if (a.rows.fill == row_fill::all) { run_rows<decltype(ranks)::value, row_fill::all>(a, first, stages{}); }
                run_rows<decltype(ranks)::value, row_fill::whole_groups>(a, first, stages{});
            });
        }
        meet(a.after);
    }

  private:
    /// What a thread has in every row.
    struct share {
        int thread;  // of the row
        int part;
        int lane;    // of the team
        int column[line_turns];
        int size[line_turns];  // elements of its group

        __device__ explicit share(const row_walk& w)
        {
            thread = static_cast<int>(threadIdx.x) % w.threads;
            part = thread / w.team;
            lane = thread % w.team;
            const int begin = part * static_cast<int>(w.part);
            const int last = begin + static_cast<int>(w.part);
            const int end = last < static_cast<int>(w.width) ? last : static_cast<int>(w.width);
#pragma unroll
            for (int t = 0; t < line_turns; ++t) {
                column[t] = begin + (t * w.team + lane) * line_group;
                const int left = end - column[t];
                size[t] = left < 0 ? 0 : left < line_group ? left : line_group;
            }
        }
    };

    /// The block's rows from `first` on; where threads have all of their groups, as long as each has a row.
    template <int Ranks, row_fill Fill, int... S>
    __device__ static void run_rows(const arguments& a, unsigned& first, std::integer_sequence<int, S...>)
    {
        constexpr bool all = Fill == row_fill::all;
        const auto rows = static_cast<unsigned>(a.rows.rows);
        const auto of_block = static_cast<unsigned>(a.rows.rows_of_block());
        const auto is_done = [&] { return all ? first + of_block > rows : first >= rows; };
        if (is_done()) { return; }
        const share mine(a.rows);
        members<typename Stage::template cursors<Ranks>...> k;
        ((get<S>(k) = Stage::template cursors<Ranks>::open(get<S>(a.stages), a.space)), ...);
        // All threads of a block go round equally often, as they may have to wait for each other.
#pragma unroll 1
        for (; !is_done(); first += gridDim.x * of_block) {
            const unsigned row = first + static_cast<unsigned>(a.rows.row_of_thread());
            Held held;
            (run_stage<S, Stage, Fill>(a, get<S>(k), mine, row, all || row < rows, held), ...);
        }
    }

    template <int S, class St, row_fill Fill, class Cursors>
    __device__ static void run_stage(const arguments& a, const Cursors& k, const share& mine, unsigned row, bool is_there, Held& held)
    {
        auto sum = [] {
            if constexpr (St::reduces) { return line_sum<typename St::first_output>::nothing_yet(); }
            else { return nothing{}; }
        }();
        const unsigned begin = row * static_cast<unsigned>(a.rows.width);
#pragma unroll
        for (int t = 0; t < line_turns; ++t) {
            if (Fill != row_fill::all && (!is_there || mine.size[t] == 0)) { continue; }
            const auto column = static_cast<unsigned>(mine.column[t]);
            St::run(get<S>(a.stages), a.space, k, row_group<Fill>{t, mine.size[t], begin + column, row, column}, held, sum);
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

    /// The reduction of a row, in all of its threads.
    template <class Out, class Few>
    __device__ static typename Out::element sum_of_row(const row_walk& w, const share& mine, Few x, double divisor)
    {
        using total = typename Out::total;
        using value = typename Out::element;
        const auto add = [](value a, value b) { return kernels::combine<Out::over, value>(a, b); };
        x = combined_lanes<Out::over>(x, w.team);
        if (w.threads <= warp_size) {
            const Few own = static_cast<Few>(element_of_part<Out>(static_cast<total>(x), divisor));
            value all = static_cast<value>(__shfl_sync(0xffff'ffffU, own, 0, w.threads));
#pragma unroll 1
            for (int p = 1; p < w.parts; ++p) { all = add(all, static_cast<value>(__shfl_sync(0xffff'ffffU, own, p * w.team, w.threads))); }
            return all;
        }
        // Of each part the totals of its warps, or the one that it has.
        __shared__ total totals[line_threads / least_team];
        const int warps = w.team > warp_size ? w.team / warp_size : 1;
        total* const of_row = totals + w.row_of_thread() * (w.threads / w.team * warps);
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
