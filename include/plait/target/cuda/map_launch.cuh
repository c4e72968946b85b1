// Launches of kernels over elements and of reductions along an axis.
#pragma once

#include <plait/plan/scalar_values.hpp>
#include <plait/target/cuda/axis_kernel.cuh>
#include <plait/target/cuda/map_layout.cuh>

#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace plait::cuda {

template <class Body>
struct body_parts;
template <class... Input, class... Step, class... Output>
struct body_parts<map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>>> {
    using body = map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>>;
    using arguments = typename body::arguments;
    using inputs = std::make_integer_sequence<int, sizeof...(Input)>;
    using outputs = std::make_integer_sequence<int, sizeof...(Output)>;
    using first_output = std::tuple_element_t<0, std::tuple<Output...>>;
    static constexpr body_facts facts{.is_strided = body::places == arrangement::strided,
                                      .has_rows = body::places == arrangement::rows,
                                      .has_sums = body::has_sums,
                                      .group = body::group};

    static void fill(arguments& a, map_layout& layout)
    {
        fill_inputs(a, layout);
        fill_outputs(a, layout, outputs{});
        if constexpr (body::has_sums) { a.sums = layout.sums(); }
        if constexpr (body::has_peers) { a.space.peers = common_peers(a, inputs{}, outputs{}); }
        if constexpr (body::can_be_flat) { make_flat(a, inputs{}, outputs{}); }
    }
    static void fill_inputs(arguments& a, map_layout& layout)
    {
        a.space = layout.space();
        fill_inputs(a, layout, inputs{});
    }
    /// What may differ from run to run: values of scalars.
    static void refresh(arguments& a, const plait::arguments& run, const pass_view& pass)
    {
        refresh(a, run, pass, inputs{});
        body::find_constants(a);
    }

  private:
    template <int... I>
    static void fill_inputs(arguments& a, map_layout& layout, std::integer_sequence<int, I...>)
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
    static void fill_outputs(arguments& a, map_layout& layout, std::integer_sequence<int, O...>)
    {
        (fill_output<O, Output>(get<O>(a.out), layout), ...);
    }
    template <int O, class Out>
    static void fill_output(typename Out::channel& c, map_layout& layout)
    {
        if constexpr (!Out::is_sum) { layout.set_result(c, O); }
    }

    /// The ranks of all operands and results of several ranks, if they are as many and there is code for them.
    template <int... I, int... O>
    static int common_peers(const arguments& a, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>)
    {
        int common = -1;
        const auto look = [&](const auto& c) {
            if constexpr (requires { c.ranks; }) { common = common == -1 || common == c.ranks ? c.ranks : 0; }
        };
        (look(get<I>(a.in)), ...);
        (look(get<O>(a.out)), ...);
        return common == 2 || common == 4 || common == 8 ? common : 1;
    }
    /// Makes the space one run if all memory is aligned alike and nothing is in pieces.
    template <int... I, int... O>
    static void make_flat(arguments& a, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>)
    {
        constexpr int group = body::group;
        walk& w = a.space;
        if (w.segments != nullptr || w.wide || !w.vectors) { return; }
        const std::int64_t low = (group - w.shift % group) % group;
        if (low + group > w.count) { return; }
        if (facts.has_rows && (low != 0 || w.row % group != 0)) { return; }
        const bool alike = (is_aligned<Input>(get<I>(a.in), low) && ... && true) && (is_aligned<Output>(get<O>(a.out), low) && ... && true);
        if (!alike) { return; }
        if (body::has_sums && w.count % group != 0) { return; }
        w.flat = w.peers;
        if (body::has_sums) { return; }
        w.low = static_cast<unsigned>(low);
        w.high = static_cast<unsigned>(low + (w.count - low) / group * group);
        w.tiles = low == 0 && w.high == w.count ? 0 : 2;
    }
    template <class Value>
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
                return (static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) % 16) + at) % std::min(16, body::group * Value::element_bytes) == 0;
            }
        }
        else { return true; }
    }

    template <int... I>
    static void refresh(arguments& a, const plait::arguments& run, const pass_view& pass, std::integer_sequence<int, I...>)
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

/// Puts the launch of a pass over elements at the end of the build's list.
template <class Body>
void build_map(Body, pass_build& b, int row_dims)
{
    const auto* kernel = reinterpret_cast<const void*>(&map_kernel<Body>);
    body_facts facts = body_parts<Body>::facts;
    facts.row_dims = row_dims;
    map_layout layout(b, facts);
    auto l = std::make_unique<refreshed_launch<Body, typename Body::arguments>>(b, kernel);
    body_parts<Body>::fill(l->arguments, layout);
    l->arguments.before = b.before.as_argument();
    l->arguments.after = b.after.as_argument();
    const std::int64_t tiles = b.meets() ? layout.most_tiles() : layout.space().tiles;  // ranks that meet have equal grids
    l->blocks = blocks_for(b, tiles * warp_size, kernel);
    b.list.push_back(std::move(l));
}

/// Puts the launch of a reduction along an axis at the end of the build's list.
template <class Body>
void build_axis(Body, pass_build& b)
{
    using kernel_body = axis_kernel_body<Body, typename body_parts<Body>::first_output>;
    const auto* kernel = reinterpret_cast<const void*>(&axis_kernel<kernel_body>);
    map_layout layout(b, {.is_strided = true, .along_axis = true});
    auto l = std::make_unique<refreshed_launch<Body, typename kernel_body::arguments>>(b, kernel);
    body_parts<Body>::fill_inputs(l->arguments.pass, layout);
    l->arguments.pass.before = b.before.as_argument();
    l->arguments.pass.after = b.after.as_argument();
    l->arguments.lines = layout.lines();
    l->blocks = blocks_for(b, layout.most_lines() * (l->arguments.lines.by_warp ? warp_size : 1), kernel);
    b.list.push_back(std::move(l));
}

}  // namespace plait::cuda
