// Launches of kernels over elements and of reductions along an axis.
#pragma once

#include <plait/plan/scalar_values.hpp>
#include <plait/target/cuda/axis_kernel.cuh>
#include <plait/target/cuda/map_layout.cuh>

#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

namespace plait::cuda {

/// As many ranks as there is code for, or 1, which is code for any number.
inline int ranks_with_code(int ranks) { return ranks == 2 || ranks == 4 || ranks == 8 ? ranks : 1; }

template <class First, class... Others>
struct first_type {
    using type = First;
};

template <class Body>
struct body_parts;
template <class... Input, class... Step, class... Output>
struct body_parts<map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>>> {
    using body = map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>>;
    using arguments = typename body::arguments;
    using channels = typename body::channels;
    using inputs = std::make_integer_sequence<int, sizeof...(Input)>;
    using outputs = std::make_integer_sequence<int, sizeof...(Output)>;
    using first_output = typename first_type<Output...>::type;
    static constexpr body_facts facts{.is_strided = body::places == arrangement::strided,
                                      .has_rows = body::places == arrangement::rows,
                                      .has_sums = body::has_sums,
                                      .group = body::group};

    static void fill(arguments& a, map_layout& layout)
    {
        a.space = layout.space();
        fill_channels(a, layout);
        if constexpr (body::has_sums) { a.sums = layout.sums(); }
        if constexpr (body::has_peers) { a.space.peers = ranks_with_code(common_ranks(a, -1)); }
        if constexpr (body::can_be_flat) { make_flat(a); }
    }
    static void fill_inputs(arguments& a, map_layout& layout)
    {
        a.space = layout.space();
        fill_inputs(a, layout, inputs{});
    }
    static void fill_channels(channels& c, map_layout& layout)
    {
        fill_inputs(c, layout, inputs{});
        fill_outputs(c, layout, outputs{});
    }
    /// The number of ranks of all operands and results of several: -1 if there are none, 0 if they are not as many, nor
    /// `as_many`, if that is known.
    static int common_ranks(const channels& c, int as_many) { return common_ranks(c, as_many, inputs{}, outputs{}); }
    /// Whether groups of N elements that begin at element `low` lie at aligned addresses, in one piece.
    template <int N>
    static bool are_aligned(const channels& c, std::int64_t low)
    {
        return are_aligned<N>(c, low, inputs{}, outputs{});
    }
    /// What may differ from run to run: values of scalars.
    static void refresh(channels& a, const plait::arguments& run, const pass_view& pass)
    {
        refresh(a, run, pass, inputs{});
        body::find_constants(a);
    }

  private:
    template <int... I>
    static void fill_inputs(channels& a, map_layout& layout, std::integer_sequence<int, I...>)
    {
        (fill_input<I, Input>(get<I>(a.in), layout), ...);
    }
    template <int I, class In>
    static void fill_input(typename In::channel& c, map_layout& layout)
    {
        if constexpr (std::is_base_of_v<memory_channel, typename In::channel>) {
            layout.set_operand(c, I);
        } else if constexpr (std::is_same_v<typename In::channel, mask_channel>) {
            const host::stream& s = layout.mask(I);
            c.offset = s.offset;
            std::copy_n(s.stride, max_dims, c.stride);
        }
    }
    template <int... O>
    static void fill_outputs(channels& a, map_layout& layout, std::integer_sequence<int, O...>)
    {
        (fill_output<O, Output>(get<O>(a.out), layout), ...);
    }
    template <int O, class Out>
    static void fill_output(typename Out::channel& c, map_layout& layout)
    {
        if constexpr (!Out::is_sum) { layout.set_result(c, O); }
    }

    template <int... I, int... O>
    static int common_ranks(const channels& a, int common, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>)
    {
        const auto look = [&](const auto& c) {
            if constexpr (requires { c.ranks; }) { common = common == -1 || common == c.ranks ? c.ranks : 0; }
        };
        (look(get<I>(a.in)), ...);
        (look(get<O>(a.out)), ...);
        return common;
    }
    template <int N, int... I, int... O>
    static bool are_aligned(const channels& a, std::int64_t low, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>)
    {
        return (is_aligned<Input, N>(get<I>(a.in), low) && ... && true) && (is_aligned<Output, N>(get<O>(a.out), low) && ... && true);
    }
    /// Makes the space one run if all memory is aligned alike and nothing is in pieces.
    static void make_flat(arguments& a)
    {
        constexpr int group = body::group;
        walk& w = a.space;
        if (w.segments != nullptr || w.wide || !w.vectors) { return; }
        const std::int64_t low = (group - w.shift % group) % group;
        if (low + group > w.count) { return; }
        if (facts.has_rows && (low != 0 || w.row % group != 0)) { return; }
        if (!are_aligned<group>(a, low)) { return; }
        if (body::has_sums && w.count % group != 0) { return; }
        w.flat = w.peers;
        if (body::has_sums) { return; }
        w.low = static_cast<unsigned>(low);
        w.high = static_cast<unsigned>(low + (w.count - low) / group * group);
        w.tiles = low == 0 && w.high == w.count ? 0 : 2;
    }
    template <class Value, int N>
    static bool is_aligned(const typename Value::channel& c, std::int64_t low)
    {
        if constexpr (std::is_same_v<typename Value::channel, mask_channel>) { return (c.offset + low) % 4 == 0; }
        else if constexpr (std::is_base_of_v<memory_channel, typename Value::channel>) {
            if (c.pieces != 0) { return false; }
            if constexpr (Value::element_bytes == 0) { return true; }
            else {
                const void* first = c.base;
                if constexpr (requires { c.ranks; }) { first = c.direct[0]; }
                const std::int64_t at = Value::how == reach::line ? low * Value::element_bytes : 0;
                return (static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) % 16) + at) % std::min(16, N * Value::element_bytes) == 0;
            }
        }
        else { return true; }
    }

    template <int... I>
    static void refresh(channels& a, const plait::arguments& run, const pass_view& pass, std::integer_sequence<int, I...>)
    {
        (refresh_input(get<I>(a.in), run, pass.operands[I]), ...);
    }
    static void refresh_input(memory_channel&, const plait::arguments&, const pass_operand&) {}
    static void refresh_input(no_channel&, const plait::arguments&, const pass_operand&) {}
    static void refresh_input(scalar_channel& c, const plait::arguments& run, const pass_operand& o)
    {
        if (o.from == source::world_size) {
            const auto ranks = static_cast<double>(run.ranks());
            std::memcpy(&c.bits, &ranks, sizeof ranks);
        } else {
            std::memcpy(&c.bits, run.scalar(run.image().node_of(o.node).name), sizeof c.bits);
        }
    }
    static void refresh_input(mask_channel& c, const plait::arguments& run, const pass_operand& o)
    {
        const node& dropout = run.image().node_of(o.node);
        c.threshold = keep_threshold(number_of(run, run.image().node_of(dropout.args[1])));
        c.seed = seed_of(run, run.image().node_of(dropout.args[2]));
    }
};

/// A kernel whose scalars are read anew for every run.
template <class Body, class Arguments>
class refreshed_launch : public kernel_launch<Arguments> {
  public:
    refreshed_launch(const pass_build& b, const void* kernel)
        : kernel_launch<Arguments>(b.stage, kernel), run_(b.args), pass_(b.pass)
    {
    }
    void enqueue(cudaStream_t stream) override
    {
        if constexpr (requires { this->arguments.pass; }) {
            body_parts<Body>::refresh(this->arguments.pass, run_, pass_);
        } else {
            body_parts<Body>::refresh(this->arguments, run_, pass_);
        }
        kernel_launch<Arguments>::enqueue(stream);
    }

  private:
    const arguments& run_;
    const pass_view& pass_;
};

/// Puts the launch of a pass over elements, by a kernel that takes the body's arguments, at the end of the build's list.
template <class Body>
void build_map_by(const void* kernel, pass_build& b, int row_dims)
{
    body_facts facts = body_parts<Body>::facts;
    facts.row_dims = row_dims;
    map_layout layout(b, facts);
    auto* l = new refreshed_launch<Body, typename Body::arguments>(b, kernel);
    std::unique_ptr<launch> owned(l);
    body_parts<Body>::fill(l->arguments, layout);
    l->arguments.before = b.before.as_argument();
    l->arguments.after = b.after.as_argument();
    const std::int64_t tiles = b.meets() ? layout.most_tiles() : layout.space().tiles;  // ranks that meet have equal grids
    l->blocks = blocks_for(b, tiles * warp_size, kernel);
    b.list.push_back(std::move(owned));
}

/// The same, by the kernel of all devices.
template <class Body>
void build_map(Body, pass_build& b, int row_dims)
{
    build_map_by<Body>(reinterpret_cast<const void*>(&map_kernel<Body>), b, row_dims);
}

/// Puts the launch of a reduction along an axis at the end of the build's list.
template <class Body>
void build_axis(Body, pass_build& b)
{
    using kernel_body = axis_kernel_body<Body, typename body_parts<Body>::first_output>;
    const auto* kernel = reinterpret_cast<const void*>(&axis_kernel<kernel_body>);
    map_layout layout(b, {.is_strided = true, .along_axis = true});
    auto* l = new refreshed_launch<Body, typename kernel_body::arguments>(b, kernel);
    std::unique_ptr<launch> owned(l);
    body_parts<Body>::fill_inputs(l->arguments.pass, layout);
    l->arguments.pass.before = b.before.as_argument();
    l->arguments.pass.after = b.after.as_argument();
    l->arguments.lines = layout.lines();
    l->threads = line_threads;
    l->blocks = blocks_for(b, layout.most_lines() * l->arguments.lines.threads, kernel, line_threads);
    b.list.push_back(std::move(owned));
}

}  // namespace plait::cuda
