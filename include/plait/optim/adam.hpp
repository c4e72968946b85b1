// Adam and AdamW, data-parallel.
#pragma once

#include <plait/optim/gradient.hpp>

#include <cmath>
#include <cstdint>

namespace plait::optim {

/// The moments and the step direction that Adam, AdamW and LAMB share. c1 = 1 - beta1^t and c2 = 1 - beta2^t correct
/// the bias of step t (see bias_correction).
template <class Gradient, class Model, options Options>
struct moments : parameters<Gradient, Model> {
    using base = parameters<Gradient, Model>;
    static constexpr auto m = tensor<"m", float>(replicated, base::N);
    static constexpr auto v = tensor<"v", float>(replicated, base::N);
    static constexpr auto beta1 = scalar<"beta1", float>;
    static constexpr auto beta2 = scalar<"beta2", float>;
    static constexpr auto eps = scalar<"eps", float>;
    static constexpr auto c1 = scalar<"c1", float>;
    static constexpr auto c2 = scalar<"c2", float>;

    static constexpr auto gradient = averaged<Options>(base::g);
    static constexpr auto m1 = update(m, beta1 * m + (1_c - beta1) * gradient);
    static constexpr auto v1 = update(v, beta2 * v + (1_c - beta2) * gradient * gradient);
    // Corrected by factors that are the same for all elements: one division and one root per element are left.
    static constexpr auto direction = (m1 * (1_c / c1)) / (sqrt(v1 * (1_c / c2)) + eps);
};

/// 1 - beta^t, for c1 and c2 of step t = 1, 2, ...
inline float bias_correction(float beta, std::int64_t t)
{
    return static_cast<float>(1.0 - std::pow(static_cast<double>(beta), static_cast<double>(t)));
}

/// Adam (Kingma and Ba 2015): m and v moving averages of g and g*g; p = p - lr * (m / c1) / (sqrt(v / c2) + eps).
/// Bind g, p, m, v (f32 [N], m and v zeros at first), lr, beta1, beta2, eps, c1, c2; with a low-precision Model also
/// `model`. In `sliced` and `fused`, m and v (and p, where there is a model copy) are bound to this rank's slice.
template <class Gradient = float, class Model = float, options Options = options{}>
struct adam : moments<Gradient, Model, Options> {
    using base = moments<Gradient, Model, Options>;
    static constexpr auto p1 = update(base::p, base::p - base::lr * base::direction);

    /// all_reduce, then one kernel.
    static constexpr auto unscheduled = base::template make_program<"adam">(p1, base::m1, base::v1);
    /// reduce_scatter, kernel on slices, all_gather.
    static constexpr auto sliced = base::template sliced<"m", "v">(unscheduled);
    /// The same in one kernel.
    static constexpr auto fused = sliced | fuse;
};

/// AdamW (Loshchilov and Hutter 2019): Adam with decoupled weight decay, p = p - lr * (direction + weight_decay * p).
/// Bind as for adam, and weight_decay.
template <class Gradient = float, class Model = float, options Options = options{}>
struct adamw : moments<Gradient, Model, Options> {
    using base = moments<Gradient, Model, Options>;
    static constexpr auto weight_decay = scalar<"weight_decay", float>;
    static constexpr auto p1 = update(base::p, base::p - base::lr * (base::direction + weight_decay * base::p));

    /// all_reduce, then one kernel.
    static constexpr auto unscheduled = base::template make_program<"adamw">(p1, base::m1, base::v1);
    /// reduce_scatter, kernel on slices, all_gather.
    static constexpr auto sliced = base::template sliced<"m", "v">(unscheduled);
    /// The same in one kernel.
    static constexpr auto fused = sliced | fuse;
};

}  // namespace plait::optim
