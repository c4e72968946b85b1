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
    static constexpr body_facts facts{body::is_strided, body::has_sums, body::group};

    static void fill(arguments& a, map_layout& layout)
    {
        fill_inputs(a, layout);
        fill_outputs(a, layout, outputs{});
        if constexpr (body::has_sums) { a.sums = layout.sums(); }
    }
    static void fill_inputs(arguments& a, map_layout& layout)
    {
        a.space = layout.space();
        fill_inputs(a, layout, inputs{});
    }
    /// What may differ from run to run: values of scalars.
    static void refresh(arguments& a, const plait::arguments& run, const pass_view& pass) { refresh(a, run, pass, inputs{}); }

  private:
    template <int... I>
    static void fill_inputs(arguments& a, map_layout& layout, std::integer_sequence<int, I...>)
    {
        (fill_input<I, Input>(get<I>(a.in), layout), ...);
    }
    template <int I, class In>
    static void fill_input(typename In::channel& c, map_layout& layout)
    {
        if constexpr (std::is_same_v<typename In::channel, memory_channel>) {
            c = layout.operand(I, In::combines);
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
        if constexpr (!Out::is_sum) { c = layout.result(O, Out::to_all); }
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
void build_map(Body, pass_build& b)
{
    const auto* kernel = reinterpret_cast<const void*>(&map_kernel<Body>);
    map_layout layout(b, body_parts<Body>::facts);
    auto l = std::make_unique<refreshed_launch<Body, typename Body::arguments>>(b, kernel);
    body_parts<Body>::fill(l->arguments, layout);
    l->arguments.before = b.before;
    l->arguments.after = b.after;
    const std::int64_t tiles = b.meets() ? layout.most_tiles() : layout.space().tiles;  // ranks that meet have equal grids
    const std::int64_t blocks = (tiles + block_warps - 1) / block_warps;
    l->blocks = static_cast<int>(std::clamp<std::int64_t>(blocks, 1, b.resident_blocks(kernel, block_threads)));
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
    l->arguments.pass.before = b.before;
    l->arguments.pass.after = b.after;
    l->arguments.lines = layout.lines();
    const std::int64_t threads = layout.most_lines() * (l->arguments.lines.by_warp ? warp_size : 1);
    const std::int64_t blocks = (threads + block_threads - 1) / block_threads;
    l->blocks = static_cast<int>(std::clamp<std::int64_t>(blocks, 1, b.resident_blocks(kernel, block_threads)));
    b.list.push_back(std::move(l));
}

}  // namespace plait::cuda
