// The rules of collectives, slices and updates, and `infer`, the one entry to all rules.
#pragma once

#include <plait/graph/infer.hpp>

namespace plait {
namespace detail {

constexpr inferred infer_collective(op k, const attributes& attrs, const value_type& x)
{
    value_type result = x;
    const bool local = x.layout == layout_kind::local;
    const bool to_axis = k == op::reduce_scatter || k == op::scatter || k == op::all_to_all || k == op::slice;
    const bool rooted = k == op::reduce_to_root || k == op::broadcast || k == op::gather || k == op::scatter;
    const auto replicated = [&] { result.layout = layout_kind::replicated; result.slice_dim = -1; };
    const auto sliced = [&] { result.layout = layout_kind::sliced; result.slice_dim = attrs.axis; };
    const auto whole_local = [&] { result.layout = layout_kind::local; result.slice_dim = -1; };
    const bool combines = k == op::all_reduce || k == op::reduce_scatter || k == op::reduce_to_root;
    if (combines && x.type == dtype::boolean) { return refuse(rule::dtype); }
    if (rooted && attrs.a < 0) { return refuse(rule::root); }
    if (to_axis && (attrs.axis < 0 || attrs.axis >= x.dims)) { return refuse(rule::axis); }
    switch (k) {
    case op::all_reduce:
        if (!local) { return refuse(rule::all_reduce); }
        replicated();
        break;
    case op::reduce_scatter:
        if (!local) { return refuse(rule::reduce_scatter); }
        sliced();
        break;
    case op::all_gather:
        if (!x.is_sliced()) { return refuse(rule::all_gather); }
        replicated();
        break;
    case op::reduce_to_root:
        if (!local) { return refuse(rule::reduce); }
        break;
    case op::broadcast:
        if (!local) { return refuse(rule::broadcast); }
        replicated();
        break;
    case op::gather:
        if (!x.is_sliced()) { return refuse(rule::gather); }
        whole_local();
        break;
    case op::scatter:
        if (!local) { return refuse(rule::scatter); }
        sliced();
        break;
    case op::all_to_all:
        if (!x.is_sliced() || x.slice_dim == attrs.axis) { return refuse(rule::all_to_all); }
        sliced();
        break;
    case op::slice:
        if (x.layout != layout_kind::replicated) { return refuse(rule::slice); }
        sliced();
        break;
    default:  // send: attrs.b tells a group relative to the value's own from an absolute one
        result.group = attrs.b != 0 ? x.group + attrs.a : attrs.a;
        if (result.group < 0 || result.group == x.group) { return refuse(rule::send); }
    }
    return accept(result);
}

constexpr inferred infer_update(const value_type& t, const value_type& value)
{
    if (t.made_by != op::tensor) { return refuse(rule::update_target, 0, 1); }
    if (value.type != t.type && value.type != dtype::none) { return refuse(rule::update_dtype, 0, 1); }
    if (t.group != value.group && value.group != any_group) { return refuse(rule::group_mix, 0, 1); }
    if (!t.same_shape(value) && value.dims != 0) { return refuse(rule::update_shape, 0, 1); }
    // One number for all elements; a rank's own one for a tensor of its own.
    const bool uniform = value.dims == 0 && (value.layout == layout_kind::replicated || t.layout == layout_kind::local);
    const bool fits = uniform || (t.layout == value.layout && t.slice_dim == value.slice_dim) ||
                      (t.layout == layout_kind::local && value.layout == layout_kind::replicated);
    if (!fits) { return refuse(rule::update_layout, 0, 1); }
    value_type result = t;
    result.made_by = op::update;
    return accept(result);
}

}  // namespace detail

/// The type of operation `k` on operands of the types `args[0..n)`, or the rule that it violates. `attrs.axis` counts
/// from 0, or from the end when negative.
constexpr inferred infer(op k, attributes attrs, const value_type* args, int n)
{
    if (n > 0) { attrs.axis = detail::wrap_axis(attrs.axis, args[0].dims); }
    inferred result = k == op::reduce              ? detail::infer_reduce(attrs, args[0])
                      : k == op::reduce_per_tensor ? detail::infer_reduce_per_tensor(attrs, args[0])
                      : k == op::matmul            ? detail::infer_matmul(attrs, args[0], args[1])
                      : k == op::conv2d            ? detail::infer_conv2d(attrs, args[0], args[1])
                      : k == op::embedding         ? detail::infer_embedding(args[0], args[1])
                      : k == op::update            ? detail::infer_update(args[0], args[1])
                      : is_elementwise(k)          ? detail::infer_elementwise(k, attrs, args, n)
                                                   : detail::infer_collective(k, attrs, args[0]);
    if (k != op::update) {
        result.type.name = {};
        result.type.made_by = k;
    }
    return result;
}

}  // namespace plait
