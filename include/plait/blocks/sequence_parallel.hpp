// Sequence-parallel blocks: activations sliced along the sequence between the products (Korthikanti et al. 2022).
#pragma once

#include <plait/blocks/model_parallel.hpp>

#include <cstdint>

namespace plait::blocks {

/// The MLP with its layer_norm, on slices of the sequence (Korthikanti et al. 2022, arXiv 2205.05198):
///     y = x + dropout(reduce_scatter(gelu(all_gather(layer_norm(x)) w1 + b1) w2) + bias)
/// Bind x[B, S, H] and y[B, S, H], of which each rank has its slice of S; gamma[H], beta[H] and bias[H], whole; w1[H, K],
/// b1[K] and w2[K, H], of which each rank has its slice of K; p and seed.
template <class T = float>
struct sequence_mlp {
    static constexpr auto x = tensor<"x", T>(plait::sliced<1>, B, S, H);
    static constexpr auto y = tensor<"y", T>(plait::sliced<1>, B, S, H);
    static constexpr auto gamma = tensor<"gamma", T>(replicated, H);
    static constexpr auto beta = tensor<"beta", T>(replicated, H);
    static constexpr auto w1 = tensor<"w1", T>(plait::sliced<1>, H, K);
    static constexpr auto b1 = tensor<"b1", T>(plait::sliced<0>, K);
    static constexpr auto w2 = tensor<"w2", T>(plait::sliced<0>, K, H);
    static constexpr auto bias = tensor<"bias", T>(replicated, H);
    static constexpr auto p = scalar<"p", float>;
    static constexpr auto seed = scalar<"seed", std::int64_t>;

    static constexpr auto whole = label<"gather">(all_gather(layer_norm(x, gamma, beta, 1e-5_c)));
    static constexpr auto inner = gelu(label<"mm1">(matmul(whole, w1)) + b1);
    static constexpr auto part = label<"scatter">(reduce_scatter(sum, label<"mm2">(matmul(inner, w2)), axis<1>));

    /// LN, AG, MM, C, MM, RS, C.
    static constexpr auto unscheduled = program<"sequence_mlp">(update(y, x + dropout(part + bias, p, seed)));
    /// fuse(LN-AG), MM, C, MM, fuse(RS-C).
    static constexpr auto fused = unscheduled | fuse;
    /// overlap(fuse(LN-AG), MM), C, overlap(MM, fuse(RS-C)).
    static constexpr auto overlapped = fused | overlap<"gather", "mm1"> | overlap<"mm2", "scatter">;
    /// All of it as one pipeline.
    static constexpr auto overlapped_whole = fused | overlap<"gather", "mm1", "mm2", "scatter">;
};

/// The output projection of attention on slices of the sequence, with the layer_norm that follows it:
///     y = residual + dropout(reduce_scatter(x w) + bias);  z = layer_norm(y)
/// Bind x[B, S, K] and w[K, H], of which each rank has its slice of K; residual, y and z[B, S, H], of which each rank has
/// its slice of S; bias, gamma and beta[H], whole; p and seed.
template <class T = float>
struct sequence_projection {
    static constexpr auto x = tensor<"x", T>(plait::sliced<2>, B, S, K);
    static constexpr auto w = tensor<"w", T>(plait::sliced<0>, K, H);
    static constexpr auto bias = tensor<"bias", T>(replicated, H);
    static constexpr auto residual = tensor<"residual", T>(plait::sliced<1>, B, S, H);
    static constexpr auto gamma = tensor<"gamma", T>(replicated, H);
    static constexpr auto beta = tensor<"beta", T>(replicated, H);
    static constexpr auto y = tensor<"y", T>(plait::sliced<1>, B, S, H);
    static constexpr auto z = tensor<"z", T>(plait::sliced<1>, B, S, H);
    static constexpr auto p = scalar<"p", float>;
    static constexpr auto seed = scalar<"seed", std::int64_t>;

    static constexpr auto part = label<"scatter">(reduce_scatter(sum, label<"mm">(matmul(x, w)), axis<1>));
    static constexpr auto y1 = update(y, residual + dropout(part + bias, p, seed));

    /// MM, RS, C, LN.
    static constexpr auto unscheduled =
        program<"sequence_projection">(y1, update(z, layer_norm(y1, gamma, beta, 1e-5_c)));
    /// MM, fuse(RS-C-LN).
    static constexpr auto fused = unscheduled | fuse;
    /// overlap(MM, fuse(RS-C-LN)).
    static constexpr auto overlapped = fused | overlap<"mm", "scatter">;
};

}  // namespace plait::blocks
