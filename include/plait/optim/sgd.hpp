// Stochastic gradient descent with momentum, data-parallel.
#pragma once

#include <plait/optim/gradient.hpp>

namespace plait::optim {

/// m = momentum * m + g + weight_decay * p;  p = p - lr * m   (Polyak 1964, as in PyTorch's SGD)
/// Bind g, p, m (f32 [N], zeros at first), lr, momentum, weight_decay; with a low-precision Model also `model`.
template <class Gradient = float, class Model = float, options Options = options{}>
struct sgd : parameters<Gradient, Model> {
    using base = parameters<Gradient, Model>;
    static constexpr auto m = tensor<"m", float>(replicated, base::N);
    static constexpr auto momentum = scalar<"momentum", float>;
    static constexpr auto weight_decay = scalar<"weight_decay", float>;

    static constexpr auto m1 = update(m, momentum * m + (averaged<Options>(base::g) + weight_decay * base::p));
    static constexpr auto p1 = update(base::p, base::p - base::lr * m1);

    /// all_reduce, then one kernel.
    static constexpr auto unscheduled = base::template make_program<"sgd">(p1, m1);
    /// reduce_scatter, kernel on slices, all_gather; m is bound to this rank's slice.
    static constexpr auto sliced = base::template sliced<"m">(unscheduled);
    /// The same in one kernel.
    static constexpr auto fused = sliced | fuse;
};

}  // namespace plait::optim
