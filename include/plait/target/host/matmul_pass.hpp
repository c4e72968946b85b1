// matmul on the host: one matrix product per index of the leading dimensions, as few as they can be merged into.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/graph/node.hpp>
#include <plait/target/host/box.hpp>
#include <plait/target/host/contraction_boxes.hpp>
#include <plait/target/host/pass_context.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace plait::host {

/// c[..., M, N] = a[..., M, K] b[..., K, N], of which this rank has a slice of any dimension but K, or the partial sum
/// over its slice of K.
template <class T>
void run_matmul(const pass_context& c)
{
    const node& n = c.node_at(c.pass.space);
    const node& a = c.node_at(c.operand(0).node);
    const node& b = c.node_at(c.operand(1).node);
    const int row = n.dims - 2;
    const int column = n.dims - 1;
    const matmul_boxes boxes(c.args, n, a, b, c.within);
    const auto& [a_row, a_inner, b_inner, b_column, out, left, right] = boxes;
    const std::int64_t k = left.count[a_inner];
    for (int d = 0; d < n.dims; ++d) {
        if (out.count[d] == 0) { return; }
    }

    const strided from_a = in_slot(c.args, a, c.operand(0).slot, left);
    const strided from_b = in_slot(c.args, b, c.operand(1).slot, right);
    contraction_scratch& scratch = c.scratch.contraction;
    const strided to = in_slot(c.args, n, c.result(0).slot, out);
    const auto stride_of = [&](const node& operand, const strided& v, int d) {
        const int own = d - (n.dims - operand.dims);
        return own < 0 ? std::int64_t{0} : v.stride[own];
    };
    // Leading dimensions that only make more rows become part of them.
    int outer = row;
    std::int64_t rows = out.count[row];
    const std::int64_t a_step = from_a.stride[a_row];
    while (outer > 0 && a.type == dtype_of<T> && stride_of(b, from_b, outer - 1) == 0 &&
           stride_of(a, from_a, outer - 1) == a_step * rows && to.stride[outer - 1] == to.stride[row] * rows) {
        rows *= out.count[--outer];
    }
    // In chunks, what every chunk reads is packed once; plait's own product takes it then.
    bool in_chunks = c.within.dim >= 0;
    for (int d = 0; d < outer; ++d) { in_chunks = in_chunks && stride_of(b, from_b, d) == 0; }
    gemm_scratch* packed = in_chunks ? &scratch.packed[&c.pass] : nullptr;
    bool packs = in_chunks && c.within.is_first;
    // Matrices that share a packed operand are one product.
    std::int64_t groups = 1;
    row_groups<const T> left_rows{};
    row_groups<T> result_rows{};
    if (in_chunks && outer > 0 && a.type == dtype_of<T>) {
        groups = out.count[--outer];
        left_rows.step = stride_of(a, from_a, outer);
        result_rows.step = to.stride[outer];
    }
    for_each_index(outer, out.count, [&](const std::int64_t* at) {
        strided at_a = from_a;
        strided at_b = from_b;
        strided at_c = to;
        for (int d = 0; d < outer; ++d) {
            at_a.data += at[d] * stride_of(a, from_a, d) * static_cast<std::int64_t>(size_of(a.type));
            at_b.data += at[d] * stride_of(b, from_b, d) * static_cast<std::int64_t>(size_of(b.type));
            at_c.data += at[d] * to.stride[d] * static_cast<std::int64_t>(sizeof(T));
        }
        const auto m = static_cast<std::size_t>(rows);
        const auto width = static_cast<std::size_t>(out.count[column]);
        const auto depth = static_cast<std::size_t>(k);
        const auto lhs = as_matrix<T>(a, at_a, a_row, a_inner, left, scratch.left);
        const auto result =
            matrix(reinterpret_cast<T*>(at_c.data), to.stride[row], to.stride[column], rows, out.count[column]);
        if (in_chunks) {
            left_rows.first = lhs;
            result_rows.first = result;
            left_rows.count = result_rows.count = m;
        }
        const auto rhs = [&] { return as_matrix<T>(b, at_b, b_inner, b_column, right, scratch.right); };
        const std::size_t all_rows = m * static_cast<std::size_t>(groups);
        if (std::exchange(packs, false)) {
            own::gemm_packing<T, T>(all_rows, width, depth, left_rows, rhs(), *packed, result_rows, scratch.panels);
        } else if (in_chunks) {
            own::gemm_packed<T, T>(all_rows, width, depth, left_rows, *packed, result_rows, scratch.panels);
        } else {
            gemm<T, T>(m, width, depth, lhs, rhs(), result, scratch.panels);
        }
    });
    copy_results(c, n, out);
}

}  // namespace plait::host
