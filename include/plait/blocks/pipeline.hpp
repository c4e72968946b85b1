// The block between two pipeline groups: what a group computes last is sent to the next one.
#pragma once

#include <plait/blocks/model_parallel.hpp>

namespace plait::blocks {

/// CoCoNeT's pipeline-parallel workload: partial products are joined, finished and sent to the next group:
///     out (on group 1) = send(residual + dropout(all_reduce(x) + bias))
/// Group 0 binds x[B, S, H], its ranks' partial products, and bias, residual, p, seed as in row_parallel; group 1 binds
/// out[B, S, H]. In the sliced schedules a rank sends its slice: 1/n of the bytes. `Axis`: the dimension that is sliced.
template <class T = float, int Axis = 2>
struct pipeline {
    using tail = epilogue<T>;
    static constexpr auto x = tensor<"x", T>(local, B, S, H);
    static constexpr auto out = tensor<"out", T>(replicated, group<1>, B, S, H);
    static constexpr auto total = label<"sum">(all_reduce(sum, x));

    /// AR, C, P2P.
    static constexpr auto unscheduled =
        program<"pipeline">(update(out, label<"send">(send(tail::of(total), next_group))));
    /// RS, C, P2P, AG: slices are sent, and joined by the receiving group.
    static constexpr auto sliced = unscheduled | split<"sum", Axis> | reorder<"sum">;
    /// RS, fuse(C-P2P), AG: results are written straight into the receivers' buffers.
    static constexpr auto fused_send = sliced | fuse_only<"send">;
    /// fuse(RS-C-P2P), AG.
    static constexpr auto fused = sliced | fuse;
    /// overlap(RS, fuse(C-P2P), AG).
    static constexpr auto overlapped = fused_send | overlap<"sum", "send">;
    /// overlap(fuse(RS-C-P2P), AG).
    static constexpr auto fused_overlapped = fused | overlap<"sum", "send">;

    /// AR, C and P2P on slices, AG: for links on which an all_reduce is fast and the send is not.
    static constexpr auto all_reduced =
        program<"pipeline">(update(out, label<"join">(all_gather(label<"send">(send(tail::of(slice(total, axis<Axis>)), next_group))))));
    /// AR, P2P, C: the receiving group finishes. Here bias and residual are bound by group 1 (late_epilogue).
    struct late_epilogue {
        static constexpr auto bias = tensor<"bias", T>(replicated, group<1>, H);
        static constexpr auto residual = tensor<"residual", T>(replicated, group<1>, B, S, H);
    };
    static constexpr auto late_total = label<"send">(send(total, next_group));
    static constexpr auto late = program<"pipeline_late">(
        update(out, late_epilogue::residual + dropout(late_total + late_epilogue::bias, tail::p, tail::seed)));
    /// RS, P2P, C, AG.
    static constexpr auto late_sliced = late | split<"sum", Axis> | reorder<"sum">;
    /// RS, P2P, fuse(C-AG).
    static constexpr auto late_fused = late_sliced | fuse;
    /// overlap(RS, P2P, fuse(C-AG)).
    static constexpr auto late_overlapped = late_fused | overlap<"sum", "send">;
};

/// The same behind the product that makes the partial values: x[B, S, K] and w[K, H] of group 0, sliced along K.
template <class T = float, int Axis = 2>
struct pipeline_projection {
    using tail = epilogue<T>;
    static constexpr auto x = tensor<"x", T>(plait::sliced<2>, B, S, K);
    static constexpr auto w = tensor<"w", T>(plait::sliced<0>, K, H);
    static constexpr auto out = tensor<"out", T>(replicated, group<1>, B, S, H);
    static constexpr auto total = label<"sum">(all_reduce(sum, label<"mm">(matmul(x, w))));

    /// MM, AR, C, P2P.
    static constexpr auto unscheduled =
        program<"pipeline_projection">(update(out, label<"send">(send(tail::of(total), next_group))));
    /// MM, fuse(RS-C-P2P), AG.
    static constexpr auto fused = unscheduled | split<"sum", Axis> | reorder<"sum"> | fuse;
    /// overlap(MM, fuse(RS-C-P2P), AG): three stages.
    static constexpr auto overlapped = fused | overlap<"mm", "sum", "send">;
};

}  // namespace plait::blocks
