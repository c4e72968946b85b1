// Reductions along a dimension, over a whole tensor, or per tensor; and the reduction operators as objects.
#pragma once

#include <plait/lang/elementwise.hpp>

namespace plait {

/// The type of `axis`.
template <int Axis>
struct axis_t {};
/// A dimension of a value, counted from 0, or from the end with negative numbers.
template <int Axis>
inline constexpr axis_t<Axis> axis{};

/// The type of `per_tensor`.
struct per_tensor_t {};
/// Reduces every tensor of a scattered or partitioned dimension by itself: a value [N] gives one number per tensor,
/// which then broadcasts against [N] again.
inline constexpr per_tensor_t per_tensor{};

/// The type of `keep_dims`.
struct keep_dims_t {};
/// Keeps the reduced dimension, with extent 1.
inline constexpr keep_dims_t keep_dims{};

/// A reduction operator: an argument of the collectives, and itself a function:
/// `sum(x)` over all elements, `sum(x, axis<-1>)` along one dimension (dropped, or kept as 1 with keep_dims),
/// `sum(x, per_tensor)` one number per tensor of a scattered dimension.
/// f16 and bf16 accumulate in f32, and the sum is rounded once. Long sums have one canonical order: each rank's slice
/// in 16 interleaved lanes, the slices then in rank order; slicing does not change the result.
/// A reduction along the sliced dimension gives a local value, one part per rank, for all_reduce with the same operator.
template <reduction R>
struct reduction_t {
    static constexpr reduction combine = R;
    /// Of all elements: one number.
    template <expression X>
    constexpr detail::made<op::reduce, R, attributes::all_axes, 0, 0, X> operator()(X) const { return {}; }
    /// Along one dimension, which the result does not have.
    template <expression X, int Axis>
    constexpr detail::made<op::reduce, R, Axis, 0, 0, X> operator()(X, axis_t<Axis>) const { return {}; }
    /// Along one dimension, whose extent is then 1.
    template <expression X, int Axis>
    constexpr detail::made<op::reduce, R, Axis, 1, 0, X> operator()(X, axis_t<Axis>, keep_dims_t) const { return {}; }
    /// Of each tensor of a scattered or partitioned dimension: [N] -> one number per tensor.
    template <expression X>
    constexpr detail::made<op::reduce_per_tensor, R, 0, 0, 0, X> operator()(
        X, per_tensor_t) const
    {
        return {};
    }
};

/// min and max are also elementwise functions of two values: `max(a, b)`. NaN wins.
template <reduction R, op Elementwise>
struct selection_t : reduction_t<R> {
    using reduction_t<R>::operator();
    /// Element by element: the smaller or larger one.
    template <class A, class B>
        requires detail::operands<A, B>
    constexpr detail::elementwise<Elementwise, A, B> operator()(A, B) const { return {}; }
};

/// The operators. Integers wrap around. Of no elements the sum is 0, the product 1, the mean NaN, min the largest value of
/// the dtype (infinity) and max the smallest. mean is for floating point alone, and no collective's operator.
inline constexpr reduction_t<reduction::sum> sum{};
inline constexpr reduction_t<reduction::product> product{};
inline constexpr reduction_t<reduction::mean> mean{};
inline constexpr selection_t<reduction::min, op::min> min{};
inline constexpr selection_t<reduction::max, op::max> max{};

}  // namespace plait
