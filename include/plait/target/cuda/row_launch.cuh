// Launches of kernels that take row after row.
#pragma once

#include <plait/core/view.hpp>
#include <plait/run/chunks.hpp>
#include <plait/target/cuda/map_launch.cuh>
#include <plait/target/cuda/row_kernel.cuh>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace plait::cuda {

/// Whether the rows of a pass are short enough to be held. All ranks decide alike.
inline bool rows_can_be_held(const arguments& args, const pass_view& pass)
{
    const node& n = args.image().node_of(pass.space);
    const host::space largest = host::space_of(args, n, pass.slice_dim, 0);
    return row_walk_of(largest.count[n.dims - 1], args.ranks()).threads <= line_threads &&
           host::elements_in(largest.dims, largest.count) <= std::numeric_limits<std::int32_t>::max();
}

/// Whether chunks of a pass are rows that follow each other in memory. All ranks decide alike.
inline bool are_rows(const arguments& args, const pass_view& pass, const plait::detail::chunking& chunks)
{
    const node& n = args.image().node_of(pass.space);
    for (int d = 0; d < chunks.dim; ++d) {
        if (args.extent_of(n.shape[d]) != 1) { return false; }
    }
    return chunks.dim + 1 < n.dims;
}

template <class Body>
class row_launch;
/// A kernel of several passes; scalars are read anew for every run.
template <class Held, class Columns, class... Stage>
class row_launch<row_body<Held, Columns, Stage...>> : public kernel_launch<typename row_body<Held, Columns, Stage...>::arguments> {
    using body = row_body<Held, Columns, Stage...>;

  public:
    /// Of the passes from the build's on.
    explicit row_launch(const pass_build& b)
        : kernel_launch<typename body::arguments>(b.stage, reinterpret_cast<const void*>(&row_kernel<body>)), run_(b.args), passes_(b.passes_from_here().first(sizeof...(Stage)))
    {
        this->arguments.before = b.before.as_argument();
        this->arguments.after = b.after.as_argument();
        fill(b, typename body::stages{});
    }
    void enqueue(cudaStream_t stream) override
    {
        refresh(typename body::stages{});
        kernel_launch<typename body::arguments>::enqueue(stream);
    }

  private:
    template <int... S>
    void fill(const pass_build& b, std::integer_sequence<int, S...>)
    {
        row_walk& rows = this->arguments.rows;
        rows = row_walk_of(run_.extent_of(b.node_at(passes_[0].space).shape[b.node_at(passes_[0].space).dims - 1]), run_.ranks());
        int ranks = -1;
        std::int64_t most = 0;
        (fill_stage<S, Stage>(b, ranks, most), ...);
        // Code for a number of ranks takes as many parts for granted.
        if constexpr (body::has_peers) { this->arguments.space.peers = ranks == rows.parts ? ranks_with_code(ranks) : 1; }
        rows.rows = this->arguments.space.count / rows.width;
        this->threads = rows.block;
        this->blocks = blocks_for(b, (most / rows.width + rows.rows_of_block() - 1) / rows.rows_of_block() * rows.block,
                                  reinterpret_cast<const void*>(&row_kernel<body>), rows.block);
    }
    template <int S, class St>
    void fill_stage(const pass_build& b, int& ranks, std::int64_t& most)
    {
        using parts = body_parts<typename St::body>;
        auto& channels = get<S>(this->arguments.stages);
        pass_build of_stage = b.of_pass(passes_[S]);
        map_layout layout(of_stage, {.has_rows = true, .row_dims = b.node_at(passes_[S].space).dims - 1});
        parts::fill_channels(channels, layout);
        if constexpr (St::reduces) {
            const axis_walk lines = layout.lines();
            get<S>(this->arguments.results) = {lines.result, lines.divisor};
        }
        ranks = parts::common_ranks(channels, ranks);
        row_walk& rows = this->arguments.rows;
        if (!layout.space().vectors || !parts::template are_aligned<line_group>(channels, 0)) { rows.fill = row_fill::any; }
        this->arguments.space = layout.space();
        most = b.meets() ? layout.most_elements() : layout.space().count;
    }
    template <int... S>
    void refresh(std::integer_sequence<int, S...>)
    {
        (body_parts<typename Stage::body>::refresh(get<S>(this->arguments.stages), run_, passes_[S]), ...);
    }

    const arguments& run_;
    view<const pass_view> passes_;
};

/// Puts the launch of the passes from the build's on, as many as the body has stages, at the end of the build's list.
template <class Body>
void build_rows(Body, pass_build& b)
{
    b.list.push_back(std::unique_ptr<launch>(new row_launch<Body>(b)));
}

/// The stage of pass P in the run that begins with pass First, an empty object.
template <class Lowered, int First, int P, int... I, int... O>
constexpr auto make_row_stage(std::integer_sequence<int, I...>, std::integer_sequence<int, O...>)
{
    constexpr const auto& run = row_run_of<Lowered, First>;
    constexpr pass_plan p = Lowered::plan.passes[P];
    constexpr int along = Lowered::graph[p.space].dims - 1;
    return row_stage<decltype(make_body_of_rows<Lowered, P, along>()),
                     kernels::list<row_operand<run.from[p.operands.first + I], run.operand[p.operands.first + I]>...>,
                     kernels::list<row_result<run.result[p.results.first + O], run.stored[p.results.first + O]>...>>{};
}
template <class Lowered, int First, int... S, int... L, int... V, int... C>
constexpr auto make_row_body(std::integer_sequence<int, S...>, std::integer_sequence<int, L...>, std::integer_sequence<int, V...>, std::integer_sequence<int, C...>)
{
    constexpr const auto& run = row_run_of<Lowered, First>;
    constexpr const auto& passes = Lowered::plan.passes;
    using held = held_row<std::integer_sequence<dtype, run.line[L]...>, std::integer_sequence<dtype, run.value[V]...>>;
    return row_body<held, held_columns<run.column[C]...>,
                    decltype(make_row_stage<Lowered, First, First + S>(std::make_integer_sequence<int, passes[First + S].operands.count>{},
                                                                       std::make_integer_sequence<int, passes[First + S].results.count>{}))...>{};
}
/// The body of the kernel of the run that begins with pass First, an empty object.
template <class Lowered, int First>
constexpr auto make_row_body()
{
    constexpr const auto& run = row_run_of<Lowered, First>;
    return make_row_body<Lowered, First>(std::make_integer_sequence<int, run.count>{}, std::make_integer_sequence<int, run.n_lines>{},
                                         std::make_integer_sequence<int, run.n_values>{}, std::make_integer_sequence<int, run.n_columns>{});
}

}  // namespace plait::cuda
