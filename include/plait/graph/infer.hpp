// The rules of the language: from an operation and its operands' types to the result's type, or to the rule violated.
#pragma once

#include <plait/graph/rule.hpp>
#include <plait/graph/value_type.hpp>

#include <cstdint>

namespace plait {

/// Either the type of a result, or the rule that is violated and the operands that violate it.
struct inferred {
    value_type type{};
    rule violated = rule::none;
    int first = 0;
    int second = -1;
    [[nodiscard]] constexpr bool ok() const { return violated == rule::none; }
};

/// The words for a violated rule: `"p": all_reduce of "p" (f32 [N] replicated)`. Names come first, since some
/// compilers cut long strings.
constexpr message why(op k, const value_type* args, const inferred& result)
{
    message m;
    const value_type& a = args[result.first];
    name_to(m, a);
    if (result.second >= 0) { name_to(m << ", ", args[result.second]); }
    m << ": " << name_of(k) << " of " << a;
    return result.second < 0 ? m : m << " and " << args[result.second];
}

namespace detail {

constexpr inferred refuse(rule r, int first = 0, int second = -1)
{
    inferred result;
    result.violated = r;
    result.first = first;
    result.second = second;
    return result;
}

constexpr inferred accept(const value_type& t)
{
    inferred result;
    result.type = t;
    return result;
}

constexpr int wrap_axis(int axis, int dims) { return axis < 0 && axis != attributes::all_axes ? axis + dims : axis; }

/// The named dimension that `per_tensor` counts the tensors of broadcasts against that dimension itself.
constexpr bool tensors_of(const extent& many, const extent& whole)
{
    return many.per_tensor && !whole.per_tensor && many.name == whole.name;
}

/// Joins the shape, layout and group of one more elementwise operand, the i-th, into `result`.
constexpr inferred join(value_type result, const value_type& b, int i)
{
    if (result.group == any_group) { result.group = b.group; }
    if (b.group != any_group && result.group != b.group) { return refuse(rule::group_mix, 0, i); }
    value_type joined = result;
    joined.dims = result.dims > b.dims ? result.dims : b.dims;
    const int shift_a = joined.dims - result.dims;
    const int shift_b = joined.dims - b.dims;
    int slice_a = result.is_sliced() ? result.slice_dim + shift_a : -1;
    int slice_b = b.is_sliced() ? b.slice_dim + shift_b : -1;
    for (int d = 0; d < joined.dims; ++d) {
        const extent one{1, {}, false};
        const extent ea = d < shift_a ? one : result.shape[d - shift_a];
        const extent eb = d < shift_b ? one : b.shape[d - shift_b];
        const bool vectors = result.dims == 1 && b.dims == 1;
        if (ea == eb || eb.is_one() || (vectors && tensors_of(eb, ea))) {
            joined.shape[d] = ea;
        } else if (ea.is_one() || (vectors && tensors_of(ea, eb))) {
            joined.shape[d] = eb;
        } else {
            return refuse(rule::shape_mix, 0, i);
        }
        if ((d == slice_a && joined.shape[d] != ea) || (d == slice_b && joined.shape[d] != eb)) {
            return refuse(rule::slice_broadcast, 0, i);
        }
    }
    if (slice_a >= 0 && slice_b >= 0 && slice_a != slice_b) { return refuse(rule::slice_mix, 0, i); }
    const bool any_local = result.layout == layout_kind::local || b.layout == layout_kind::local;
    const int sliced = slice_a >= 0 ? slice_a : slice_b;
    if (any_local && sliced >= 0) { return refuse(rule::local_with_sliced, 0, i); }
    joined.layout = any_local     ? layout_kind::local
                    : sliced >= 0 ? layout_kind::sliced
                                  : layout_kind::replicated;
    joined.slice_dim = sliced;
    return accept(joined);
}

constexpr inferred infer_elementwise(op k, const attributes& attrs, const value_type* args, int n)
{
    value_type result = args[0];
    for (int i = 1; i < n; ++i) {
        const inferred step = join(result, args[i], i);
        if (!step.ok()) { return step; }
        result = step.type;
    }
    dtype type = args[0].type;
    const value_type& second = args[n > 1 ? 1 : 0];
    const value_type& third = args[n > 2 ? 2 : 0];
    if (k == op::select) {
        if (type != dtype::boolean) { return refuse(rule::select); }
        type = promote(second.type, third.type);
        const bool mixes = type != dtype::none || second.type == third.type;
        if (!mixes) { return refuse(rule::dtype_mix, 1, 2); }
    } else if (k == op::dropout) {
        const bool fits = is_floating(type) && second.dims == 0 && third.dims == 0 &&
                          (is_floating(second.type) || second.type == dtype::none) &&
                          (is_integer(third.type) || third.type == dtype::none);
        if (!fits) { return refuse(rule::dropout); }
    } else {
        for (int i = 0; i < n; ++i) {
            const dtype t = args[i].type;
            const bool boolean = t == dtype::boolean;
            const bool wrong = k == op::cast                              ? false
                               : is_logical(k)                            ? !boolean
                               : k == op::equal || k == op::not_equal     ? false
                               : is_transcendental(k)                     ? !(is_floating(t) || t == dtype::none)
                                                                          : boolean;
            if (wrong) { return refuse(rule::dtype, i); }
        }
        if (n == 2) {
            type = promote(args[0].type, args[1].type);
            if (type == dtype::none && args[0].type != args[1].type) {
                return refuse(rule::dtype_mix, 0, 1);
            }
        }
    }
    if (is_comparison(k)) { type = dtype::boolean; }
    if (k == op::cast) { type = static_cast<dtype>(attrs.a); }
    result.type = type;
    return accept(result);
}

/// reduce along one dimension or all: drops the dimension (or keeps it as 1). Along the sliced dimension each rank has
/// only its own part of the result, so the result is local.
constexpr bool can_reduce(const attributes& attrs, dtype type)
{
    return type != dtype::boolean && (attrs.combine != reduction::mean || !is_integer(type));
}

constexpr inferred infer_reduce(const attributes& attrs, const value_type& x)
{
    if (!can_reduce(attrs, x.type)) { return refuse(rule::dtype); }
    value_type result = x;
    if (attrs.axis == attributes::all_axes) {
        if (attrs.a == 0) { result.dims = 0; }
        for (int d = 0; d < result.dims; ++d) { result.shape[d] = extent{1, {}, false}; }
        if (x.is_sliced()) { result.layout = layout_kind::local; }
        result.slice_dim = -1;
        return accept(result);
    }
    if (attrs.axis < 0 || attrs.axis >= x.dims) { return refuse(rule::axis); }
    const bool keep = attrs.a != 0;
    if (x.is_sliced() && x.slice_dim == attrs.axis) {
        result.layout = layout_kind::local;
        result.slice_dim = -1;
    } else if (x.is_sliced() && !keep && x.slice_dim > attrs.axis) {
        --result.slice_dim;
    }
    if (keep) {
        result.shape[attrs.axis] = extent{1, {}, false};
    } else {
        for (int d = attrs.axis; d + 1 < x.dims; ++d) { result.shape[d] = x.shape[d + 1]; }
        --result.dims;
    }
    return accept(result);
}

constexpr inferred infer_reduce_per_tensor(const attributes& attrs, const value_type& x)
{
    if (x.dims != 1 || x.shape[0].name.empty() || x.shape[0].per_tensor) {
        return refuse(rule::per_tensor);
    }
    if (!can_reduce(attrs, x.type)) { return refuse(rule::dtype); }
    value_type result = x;
    result.shape[0].per_tensor = true;
    if (x.is_sliced()) { result.layout = layout_kind::local; }
    result.slice_dim = -1;
    return accept(result);
}

/// matmul: [..., M, K] x [..., K, N] -> [..., M, N]; leading dimensions broadcast.
constexpr inferred infer_matmul(const attributes& attrs, const value_type& a, const value_type& b)
{
    const bool shaped = a.dims >= 2 && b.dims >= 2;
    const int row_a = a.dims - (attrs.a != 0 ? 1 : 2);
    const int inner_a = a.dims - (attrs.a != 0 ? 2 : 1);
    const int inner_b = b.dims - (attrs.b != 0 ? 1 : 2);
    const int column_b = b.dims - (attrs.b != 0 ? 2 : 1);
    if (!shaped || a.shape[inner_a] != b.shape[inner_b]) { return refuse(rule::matmul_dims, 0, 1); }
    const dtype type = promote(a.type, b.type);
    if (type == dtype::none) { return refuse(rule::dtype_mix, 0, 1); }
    if (!is_floating(type)) { return refuse(rule::dtype); }
    const bool contracted_a = a.is_sliced() && a.slice_dim == inner_a;
    const bool contracted_b = b.is_sliced() && b.slice_dim == inner_b;
    if (contracted_a != contracted_b) { return refuse(rule::matmul_slices, 0, 1); }
    // The leading dimensions (and the layouts of all but the contracted one) join as in an elementwise operation on
    // the operands stretched to the result: [..., M, 1] and [..., 1, N].
    value_type left = a;
    value_type right = b;
    left.shape[a.dims - 2] = a.shape[row_a];
    left.shape[a.dims - 1] = extent{1, {}, false};
    right.shape[b.dims - 2] = extent{1, {}, false};
    right.shape[b.dims - 1] = b.shape[column_b];
    if (a.is_sliced() && a.slice_dim == row_a) { left.slice_dim = a.dims - 2; }
    if (b.is_sliced() && b.slice_dim == column_b) { right.slice_dim = b.dims - 1; }
    if (contracted_a) {
        left.layout = layout_kind::local;
        right.layout = layout_kind::local;
        left.slice_dim = right.slice_dim = -1;
    }
    inferred result = join(left, right, 1);
    if (!result.ok()) {
        const rule r = result.violated == rule::shape_mix ? rule::matmul_dims : result.violated;
        return refuse(r, 0, 1);
    }
    result.type.type = type;
    return result;
}

/// conv2d: x[N, C, H, W] * w[K, C, R, S] -> [N, K, (H + 2 padding - R) / stride + 1, ...]; cross-correlation, as in the
/// deep-learning frameworks.
constexpr inferred infer_conv2d(const attributes& attrs, const value_type& x, const value_type& w)
{
    bool fits = x.dims == 4 && w.dims == 4 && attrs.a >= 1 && attrs.b >= 0 && x.shape[1] == w.shape[1];
    for (int d = 1; fits && d < 4; ++d) { fits = x.shape[d].name.empty() && w.shape[d].name.empty(); }
    if (!fits) { return refuse(rule::conv2d_dims, 0, 1); }
    const dtype type = promote(x.type, w.type);
    if (!is_floating(type)) { return refuse(rule::dtype); }
    if ((x.is_sliced() && x.slice_dim != 0) || (w.is_sliced() && w.slice_dim != 0) || (x.is_sliced() && w.is_sliced())) {
        return refuse(rule::conv2d_slices, 0, 1);
    }
    if (x.group != w.group && x.group != any_group && w.group != any_group) { return refuse(rule::group_mix, 0, 1); }
    const bool any_local = x.layout == layout_kind::local || w.layout == layout_kind::local;
    if (any_local && (x.is_sliced() || w.is_sliced())) { return refuse(rule::local_with_sliced, 0, 1); }
    value_type result = x;
    result.type = type;
    result.shape[1] = w.shape[0];
    for (int d = 2; d < 4; ++d) {
        const std::int64_t room = x.shape[d].number + 2 * attrs.b - w.shape[d].number;
        if (room < 0) { return refuse(rule::conv2d_dims, 0, 1); }
        result.shape[d] = extent{room / attrs.a + 1, {}, false};
    }
    if (any_local) { result.layout = layout_kind::local; }
    if (w.is_sliced()) {
        result.layout = layout_kind::sliced;
        result.slice_dim = 1;
    }
    return accept(result);
}

/// embedding: table[V, H], indices[...] -> [..., H]. Of a table sliced by rows each rank gives its own rows and zeros
/// elsewhere, a partial sum.
constexpr inferred infer_embedding(const value_type& table, const value_type& indices)
{
    const bool by_rows = table.is_sliced() && table.slice_dim == 0;
    const bool fits = table.dims == 2 && is_integer(indices.type) && indices.dims < max_dims &&
                      !(by_rows && indices.is_sliced());
    if (!fits) { return refuse(rule::embedding, 0, 1); }
    if (table.type == dtype::boolean || (by_rows && is_integer(table.type))) { return refuse(rule::dtype); }
    // The layouts join as those of [H] and [..., 1].
    value_type columns = table;
    columns.dims = 1;
    columns.shape[0] = table.shape[1];
    columns.slice_dim = by_rows ? -1 : table.slice_dim - 1;
    if (by_rows) { columns.layout = layout_kind::local; }
    value_type rows = indices;
    rows.shape[rows.dims++] = extent{1, {}, false};
    inferred result = join(rows, columns, 1);
    if (result.ok()) { result.type.type = table.type; }
    return result;
}

}  // namespace detail
}  // namespace plait
