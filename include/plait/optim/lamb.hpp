// LAMB, data-parallel, with one trust ratio per tensor.
#pragma once

#include <plait/optim/adam.hpp>

namespace plait::optim {

/// LAMB (You et al. 2020): u = direction + weight_decay * p as in AdamW; each tensor's step is scaled by its trust ratio
/// ||p|| / ||u||, or 1 where either norm is 0: p = p - lr * ratio * u. The tensors are the pieces of a scattered N, or
/// the partition that N is bound to; without either the whole vector is one tensor.
/// Bind as for adamw. The norms' parts of all tensors are combined in one small all_reduce.
template <class Gradient = float, class Model = float, options Options = options{}>
struct lamb : moments<Gradient, Model, Options> {
    using base = moments<Gradient, Model, Options>;
    static constexpr auto weight_decay = scalar<"weight_decay", float>;
    static constexpr auto u = base::direction + weight_decay * base::p;
    static constexpr auto p_norm = norm(base::p, per_tensor);
    static constexpr auto u_norm = norm(u, per_tensor);
    static constexpr auto ratio = select(p_norm > 0_c && u_norm > 0_c, p_norm / u_norm, 1_c);
    static constexpr auto p1 = update(base::p, base::p - base::lr * ratio * u);

    /// all_reduce, then two kernels: the norms need all of u.
    static constexpr auto unscheduled = base::template make_program<"lamb">(p1, base::m1, base::v1);
    /// reduce_scatter, kernels on slices, all_gather.
    static constexpr auto sliced = base::template sliced<"m", "v">(unscheduled);
    /// Collectives inside the kernels.
    static constexpr auto fused = sliced | fuse;
};

}  // namespace plait::optim
