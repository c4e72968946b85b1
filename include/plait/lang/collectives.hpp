// Collectives and point-to-point: communication as operations on values.
#pragma once

#include <plait/lang/reductions.hpp>

namespace plait {

/// The type of `root`.
template <int Rank>
struct root_t {};
/// The rank, counted from 0, that a collective starts or ends at.
template <int Rank>
inline constexpr root_t<Rank> root{};

namespace detail {

/// sum, product, min or max. `mean` is no collective's operator: divide a sum by world_size.
template <class Op>
concept combining = requires { requires Op::combine != reduction::mean; };

}  // namespace detail

/// Combines the ranks' local values, in rank order; every rank gets the whole result. local -> replicated.
/// The operator is sum, product, min or max; f16 and bf16 accumulate in f32. Moves 2(n-1)/n of the value per rank.
template <detail::combining Op, expression X>
constexpr detail::made<op::all_reduce, Op::combine, 0, 0, 0, X> all_reduce(Op, X) { return {}; }

/// Combines the ranks' local values, in rank order; rank i gets part i of dimension `axis` (default 0).
/// local -> sliced<axis>. Moves (n-1)/n of the value per rank.
template <detail::combining Op, expression X, int Axis = 0>
constexpr detail::made<op::reduce_scatter, Op::combine, Axis, 0, 0, X> reduce_scatter(
    Op, X, axis_t<Axis> = {})
{
    return {};
}

/// Joins the slices: every rank gets the whole value. sliced -> replicated. Moves (n-1)/n of the value per rank.
template <expression X>
constexpr detail::made<op::all_gather, reduction::sum, 0, 0, 0, X> all_gather(X) { return {}; }

/// Combines the ranks' local values on the root, in rank order. local -> local: the root holds the result, every other
/// rank zeros.
template <detail::combining Op, expression X, int Rank>
constexpr detail::made<op::reduce_to_root, Op::combine, 0, Rank, 0, X> reduce(Op, X, root_t<Rank>)
{
    return {};
}

/// Every rank gets the root's value. local -> replicated.
template <expression X, int Rank>
constexpr detail::made<op::broadcast, reduction::sum, 0, Rank, 0, X> broadcast(X, root_t<Rank>) { return {}; }

/// Joins the slices on the root. sliced -> local: the root holds the whole value, every other rank zeros.
template <expression X, int Rank>
constexpr detail::made<op::gather, reduction::sum, 0, Rank, 0, X> gather(X, root_t<Rank>) { return {}; }

/// Rank i gets part i of the root's value along `axis` (default 0). local -> sliced<axis>.
template <expression X, int Rank, int Axis = 0>
constexpr detail::made<op::scatter, reduction::sum, Axis, Rank, 0, X> scatter(X, root_t<Rank>, axis_t<Axis> = {})
{
    return {};
}

/// Moves the slicing to dimension `axis`: every rank sends each other rank a block. sliced<d> -> sliced<axis>.
template <expression X, int Axis>
constexpr detail::made<op::all_to_all, reduction::sum, Axis, 0, 0, X> all_to_all(X, axis_t<Axis>) { return {}; }

/// Each rank's part of a replicated value along `axis` (default 0), without communication. replicated -> sliced<axis>.
template <expression X, int Axis = 0>
constexpr detail::made<op::slice, reduction::sum, Axis, 0, 0, X> slice(X, axis_t<Axis> = {}) { return {}; }

/// Sends a value to the equal rank of another pipeline group, where it has the same layout: a sliced value sends 1/n.
/// The result lives on that group; the groups meet there, so there is no separate receive.
template <expression X, int Number, bool Relative>
constexpr detail::made<op::send, reduction::sum, 0, Number, Relative, X> send(
    X, group_t<Number, Relative>)
{
    return {};
}

}  // namespace plait
