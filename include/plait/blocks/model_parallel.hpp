// Model-parallel blocks of a transformer: weights sliced over the ranks, partial products joined by an all_reduce.
#pragma once

#include <plait/lang/composite.hpp>
#include <plait/lang/linear.hpp>
#include <plait/schedule/schedule.hpp>

#include <cstdint>

namespace plait::blocks {

using namespace literals;

/// The dimensions of the blocks: batch, sequence, hidden width, inner width.
inline constexpr auto B = dim<"B">;
inline constexpr auto S = dim<"S">;
inline constexpr auto H = dim<"H">;
inline constexpr auto K = dim<"K">;

/// residual + dropout(x + bias), on x[B, S, H], with bias[H] and residual[B, S, H]. The masks depend on `seed` and the global index alone.
template <class T>
struct epilogue {
    static constexpr auto bias = tensor<"bias", T>(replicated, H);
    static constexpr auto residual = tensor<"residual", T>(replicated, B, S, H);
    static constexpr auto p = scalar<"p", float>;  ///< the probability of a zero
    static constexpr auto seed = scalar<"seed", std::int64_t>;  ///< of the masks: another one in every step
    /// The expression for x[B, S, H].
    template <expression X>
    static constexpr auto of(X x)
    {
        return residual + dropout(x + bias, p, seed);
    }
};

/// The output projection of attention, and the second product of an MLP (Shoeybi et al. 2019, arXiv 1909.08053):
///     y = residual + dropout(all_reduce(x w) + bias)
/// Bind x[B, S, K] and w[K, H], of which each rank has its slice of K; bias[H], residual[B, S, H] and y[B, S, H], whole;
/// p and seed. `Axis`: the dimension of y that schedules slice, 0 ... 2 (2: H). The schedules are those of CoCoNeT's
/// model-parallel workload; all give the same y.
template <class T = float, int Axis = 2>
struct row_parallel {
    using tail = epilogue<T>;
    static constexpr auto x = tensor<"x", T>(plait::sliced<2>, B, S, K);
    static constexpr auto w = tensor<"w", T>(plait::sliced<0>, K, H);
    static constexpr auto y = tensor<"y", T>(replicated, B, S, H);
    static constexpr auto total = label<"sum">(all_reduce(sum, label<"mm">(matmul(x, w))));

    /// MM, AR, C: matmul, all_reduce, one kernel.
    static constexpr auto unscheduled = program<"row_parallel">(update(y, tail::of(total)));
    /// MM, RS, C, AG: the kernel works on slices.
    static constexpr auto sliced = unscheduled | split<"sum", Axis> | reorder<"sum">;
    /// MM, fuse(RS-C-AG).
    static constexpr auto fused = sliced | fuse;
    /// overlap(MM, fuse(RS-C-AG)).
    static constexpr auto overlapped = fused | overlap<"mm", "sum">;
};

/// The MLP of a transformer, both products: the first by columns of w1, the second by rows of w2:
///     y = residual + dropout(all_reduce(gelu(x w1 + b1) w2) + bias)
/// Bind x[B, S, H], whole; w1[H, K], b1[K] and w2[K, H], of which each rank has its slice of K; the rest as above.
template <class T = float, int Axis = 2>
struct mlp {
    using tail = epilogue<T>;
    static constexpr auto x = tensor<"x", T>(replicated, B, S, H);
    static constexpr auto w1 = tensor<"w1", T>(plait::sliced<1>, H, K);
    static constexpr auto b1 = tensor<"b1", T>(plait::sliced<0>, K);
    static constexpr auto w2 = tensor<"w2", T>(plait::sliced<0>, K, H);
    static constexpr auto y = tensor<"y", T>(replicated, B, S, H);
    static constexpr auto inner = gelu(label<"mm1">(matmul(x, w1)) + b1);
    static constexpr auto total = label<"sum">(all_reduce(sum, label<"mm">(matmul(inner, w2))));

    /// MM, C, MM, AR, C: matmul, gelu, matmul, all_reduce, one kernel.
    static constexpr auto unscheduled = program<"mlp">(update(y, tail::of(total)));
    /// MM, C, MM, RS, C, AG: the last kernel works on slices.
    static constexpr auto sliced = unscheduled | split<"sum", Axis> | reorder<"sum">;
    /// MM, C, MM, fuse(RS-C-AG).
    static constexpr auto fused = sliced | fuse;
    /// overlap(MM, fuse(RS-C-AG)) of the second product.
    static constexpr auto overlapped = fused | overlap<"mm", "sum">;
    /// Everything in chunks, from the first product on.
    static constexpr auto overlapped_whole = fused | overlap<"mm1", "mm", "sum">;
};

}  // namespace plait::blocks
