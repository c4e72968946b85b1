// What a program means: evaluates a graph for all ranks at once, in float64, one plain loop per operation.
// Shares nothing with plans, kernels or targets. Values of f16 and bf16 nodes are rounded to their dtype and values of
// integer nodes truncated, as the language says; everything else stays float64.
#pragma once

#include "arrays.hpp"

#include <plait/core/philox.hpp>
#include <plait/core/slice.hpp>
#include <plait/graph/graph.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace reference {

/// A value on every rank. Replicated and sliced values are one array of the whole, shared by all ranks; of a sliced one
/// each rank holds its slice.
struct value {
    std::vector<std::shared_ptr<const numbers>> on;  // by rank
    shape extents;
};

/// What a program is given. Tensors by name and rank, always whole; a replicated or sliced one may be given once.
struct inputs {
    std::map<std::string, std::vector<numbers>> tensors;
    std::map<std::string, double> scalars;
    std::map<std::string, std::int64_t> extents;
    std::map<std::string, shape> counts;  // of the tensors that make up a dimension
};

inline double rounded_to(plait::dtype type, double x)
{
    switch (type) {
    case plait::dtype::f16: return static_cast<double>(static_cast<float>(plait::f16(static_cast<float>(x))));
    case plait::dtype::bf16: return static_cast<double>(static_cast<float>(plait::bf16(static_cast<float>(x))));
    case plait::dtype::u8: return static_cast<std::uint8_t>(static_cast<std::int64_t>(x));
    case plait::dtype::i32:
    case plait::dtype::i64: return std::trunc(x);
    case plait::dtype::boolean: return x != 0 ? 1 : 0;
    default: return x;
    }
}

inline double smallest(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b); }
inline double largest(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b); }

inline double combined(plait::reduction r, double a, double b)
{
    switch (r) {
    case plait::reduction::product: return a * b;
    case plait::reduction::min: return smallest(a, b);
    case plait::reduction::max: return largest(a, b);
    default: return a + b;
    }
}
/// What a reduction of nothing gives: of integers the largest or lowest one that there is.
inline double start_of(plait::reduction r, plait::dtype type)
{
    const double bound = type == plait::dtype::u8    ? 255
                         : type == plait::dtype::i32 ? 0x1p31 - 1
                         : type == plait::dtype::i64 ? 0x1p63
                                                     : INFINITY;
    switch (r) {
    case plait::reduction::product: return 1;
    case plait::reduction::min: return bound;
    case plait::reduction::max: return type == plait::dtype::u8 ? 0 : plait::is_integer(type) ? -bound - 1 : -bound;
    default: return 0;
    }
}

inline double elementwise(plait::op k, plait::dtype type, double a, double b, double c)
{
    using plait::op;
    switch (k) {
    case op::neg: return -a;
    case op::abs: return std::fabs(a);
    case op::sqrt: return std::sqrt(a);
    case op::rsqrt: return 1 / std::sqrt(a);
    case op::exp: return std::exp(a);
    case op::log: return std::log(a);
    case op::tanh: return std::tanh(a);
    case op::erf: return std::erf(a);
    case op::logical_not: return a == 0 ? 1 : 0;
    case op::cast: return a;
    case op::add: return a + b;
    case op::sub: return a - b;
    case op::mul: return a * b;
    case op::div: return plait::is_integer(type) && b == 0 ? 0 : a / b;
    case op::min: return smallest(a, b);
    case op::max: return largest(a, b);
    case op::pow: return std::pow(a, b);
    case op::less: return a < b ? 1 : 0;
    case op::less_equal: return a <= b ? 1 : 0;
    case op::equal: return a == b ? 1 : 0;
    case op::not_equal: return a != b ? 1 : 0;
    case op::logical_and: return a != 0 && b != 0 ? 1 : 0;
    case op::logical_or: return a != 0 || b != 0 ? 1 : 0;
    case op::select: return a != 0 ? b : c;
    default: throw std::logic_error("the oracle does not know an elementwise operation");
    }
}

/// Evaluates one graph. `run` gives the new values of all tensors that the program updates.
template <class Graph>
class oracle {
  public:
    oracle(const Graph& graph, int ranks, const inputs& given) : g_(graph), ranks_(ranks), given_(given) {}

    /// By tensor and rank, whole.
    std::map<std::string, std::vector<numbers>> run()
    {
        values_.clear();
        for (int i = 0; i < g_.size; ++i) { values_.push_back(evaluate(i)); }
        std::map<std::string, std::vector<numbers>> results;
        for (int o = 0; o < g_.n_outputs; ++o) {
            const int u = g_.outputs[o];
            std::vector<numbers>& all = results[std::string(g_.text(g_[g_[u].args[0]].name))];
            for (const auto& mine : values_[static_cast<std::size_t>(u)].on) { all.push_back(*mine); }
        }
        return results;
    }

  private:
    using node = plait::node;

    const value& argument(const node& n, int a) const { return values_[static_cast<std::size_t>(n.args[a])]; }

    std::int64_t extent(plait::packed_extent e) const
    {
        if (!plait::is_named(e)) { return e; }
        const std::string name(g_.text(plait::symbol_of(e)));
        if (!plait::is_per_tensor(e)) { return given_.extents.at(name); }
        const auto counts = given_.counts.find(name);
        return counts == given_.counts.end() ? 1 : static_cast<std::int64_t>(counts->second.size());
    }
    shape extents_of(const node& n) const
    {
        shape s;
        for (int d = 0; d < n.dims; ++d) { s.push_back(extent(n.shape[d])); }
        return s;
    }
    /// The tensor that element i of dimension e belongs to.
    std::int64_t tensor_of(plait::packed_extent e, std::int64_t i) const
    {
        const auto counts = given_.counts.find(std::string(g_.text(plait::symbol_of(e))));
        if (counts == given_.counts.end()) { return 0; }
        std::int64_t t = 0;
        for (std::int64_t end = counts->second[0]; i >= end; end += counts->second[static_cast<std::size_t>(++t)]) {}
        return t;
    }
    /// Whether this rank holds the element: for values that are not sliced all ranks do.
    bool holds(const node& n, const shape& at, int rank) const
    {
        if (n.layout != plait::layout_kind::sliced) { return true; }
        const auto d = static_cast<std::size_t>(n.slice_dim);
        const auto part = plait::slice_of(extent(n.shape[n.slice_dim]), rank, ranks_);
        return at[d] >= part.begin && at[d] < part.begin + part.count;
    }

    /// A value computed once for all ranks, or rank by rank when it is local or an operand is.
    template <class F>
    value computed(const node& n, F&& f) const
    {
        value v;
        v.extents = extents_of(n);
        if (n.layout != plait::layout_kind::local) {
            v.on.assign(static_cast<std::size_t>(ranks_), std::make_shared<const numbers>(rounded(n, f(0))));
        } else {
            for (int r = 0; r < ranks_; ++r) { v.on.push_back(std::make_shared<const numbers>(rounded(n, f(r)))); }
        }
        return v;
    }
    static numbers rounded(const node& n, numbers x)
    {
        for (double& e : x) { e = rounded_to(n.type, e); }
        return x;
    }

    value evaluate(int i) const
    {
        using plait::op;
        const node& n = g_[i];
        switch (n.kind) {
        case op::tensor: return input(n);
        case op::scalar:
            return computed(n, [&](int) { return numbers{given_.scalars.at(std::string(g_.text(n.name)))}; });
        case op::constant: return computed(n, [&](int) { return numbers{std::bit_cast<double>(n.bits)}; });
        case op::world_size: return computed(n, [&](int) { return numbers{static_cast<double>(ranks_)}; });
        case op::reduce:
        case op::reduce_per_tensor: return computed(n, [&](int r) { return reduce(n, r); });
        case op::matmul: return computed(n, [&](int r) { return matmul(n, r); });
        case op::conv2d: return computed(n, [&](int r) { return conv2d(n, r); });
        case op::embedding: return computed(n, [&](int r) { return embedding(n, r); });
        case op::all_reduce:
        case op::reduce_scatter: return computed(n, [&](int) { return over_ranks(n); });
        case op::reduce_to_root: return computed(n, [&](int r) { return on_root(n, r, over_ranks(n)); });
        case op::gather: return computed(n, [&](int r) { return on_root(n, r, *argument(n, 0).on[0]); });
        case op::broadcast:
        case op::scatter:
            return computed(n, [&](int) { return *argument(n, 0).on[static_cast<std::size_t>(n.attrs.a)]; });
        case op::slice:
        case op::all_gather:
        case op::all_to_all:
        case op::send: return computed(n, [&](int r) { return *argument(n, 0).on[static_cast<std::size_t>(r)]; });
        case op::update: return computed(n, [&](int r) { return filled(n, r); });
        default: return computed(n, [&](int r) { return map(n, r); });
        }
    }

    value input(const node& n) const
    {
        const auto& given = given_.tensors.at(std::string(g_.text(n.name)));
        return computed(n, [&](int r) {
            const numbers& x = given[given.size() == 1 ? 0 : static_cast<std::size_t>(r)];
            if (static_cast<std::int64_t>(x.size()) != size_of(extents_of(n))) {
                throw std::logic_error("an input of the oracle has another size than its tensor");
            }
            return x;
        });
    }

    /// The element of operand `a` that element `at` of a result of node n is computed from.
    double operand(const node& n, int a, int rank, const shape& at) const
    {
        const node& from = g_[n.args[a]];
        const value& v = argument(n, a);
        std::int64_t offset = 0;
        for (int d = 0; d < from.dims; ++d) {
            const auto here = static_cast<std::size_t>(d + n.dims - from.dims);
            std::int64_t index = v.extents[static_cast<std::size_t>(d)] == 1 ? 0 : at[here];
            const bool tensors = plait::is_per_tensor(from.shape[d]) && !plait::is_per_tensor(n.shape[here]);
            if (tensors) { index = tensor_of(from.shape[d], at[here]); }
            offset = offset * v.extents[static_cast<std::size_t>(d)] + index;
        }
        return (*v.on[static_cast<std::size_t>(rank)])[static_cast<std::size_t>(offset)];
    }
    numbers map(const node& n, int rank) const
    {
        const shape extents = extents_of(n);
        numbers out(static_cast<std::size_t>(size_of(extents)));
        for (std::size_t i = 0; i < out.size(); ++i) {
            const shape at = coordinates(static_cast<std::int64_t>(i), extents);
            double x[3] = {0, 0, 0};
            for (int a = 0; a < n.n_args; ++a) { x[a] = operand(n, a, rank, at); }
            if (n.kind == plait::op::dropout) {
                const std::uint32_t word =
                    plait::philox_u32(static_cast<std::uint64_t>(static_cast<std::int64_t>(x[2])), i);
                out[i] = static_cast<double>(word) >= x[1] * 0x1p32 ? x[0] / (1 - x[1]) : 0;
            } else {
                const bool compares = plait::is_comparison(n.kind) || n.kind == plait::op::cast;
                out[i] = elementwise(n.kind, compares ? plait::dtype::f64 : n.type, x[0], x[1], x[2]);
            }
        }
        return out;
    }
    numbers filled(const node& n, int rank) const
    {
        const numbers& x = *argument(n, 1).on[static_cast<std::size_t>(rank)];
        const auto size = static_cast<std::size_t>(size_of(extents_of(n)));
        return argument(n, 1).extents.size() == static_cast<std::size_t>(n.dims) ? x : numbers(size, x[0]);
    }

    numbers reduce(const node& n, int rank) const
    {
        const node& from = g_[n.args[0]];
        const value& x = argument(n, 0);
        const bool mean = n.attrs.combine == plait::reduction::mean;
        const bool whole = n.kind == plait::op::reduce && n.attrs.axis == plait::attributes::all_axes;
        numbers out(static_cast<std::size_t>(size_of(extents_of(n))), start_of(n.attrs.combine, n.type));
        numbers terms(out.size(), 0);  // of all ranks
        const auto size = size_of(x.extents);
        for (std::int64_t i = 0; i < size; ++i) {
            const shape at = coordinates(i, x.extents);
            std::int64_t to = 0;
            if (n.kind == plait::op::reduce_per_tensor) {
                to = tensor_of(from.shape[0], i);
            } else if (!whole) {
                for (std::size_t d = 0; d < at.size(); ++d) {
                    if (static_cast<int>(d) != n.attrs.axis) { to = to * x.extents[d] + at[d]; }
                }
            }
            terms[static_cast<std::size_t>(to)] += 1;
            if (n.layout == plait::layout_kind::local && !holds(from, at, rank)) { continue; }  // a part
            double& sum = out[static_cast<std::size_t>(to)];
            sum = combined(n.attrs.combine, sum, (*x.on[static_cast<std::size_t>(rank)])[static_cast<std::size_t>(i)]);
        }
        if (mean && whole) { terms[0] = static_cast<double>(size); }
        for (std::size_t i = 0; mean && i < out.size(); ++i) { out[i] /= terms[i]; }
        return out;
    }

    numbers over_ranks(const node& n) const
    {
        const value& x = argument(n, 0);
        numbers out = *x.on[0];
        for (std::size_t r = 1; r < x.on.size(); ++r) {
            for (std::size_t i = 0; i < out.size(); ++i) { out[i] = combined(n.attrs.combine, out[i], (*x.on[r])[i]); }
        }
        return out;
    }
    static numbers on_root(const node& n, int rank, numbers x)
    {
        return rank == n.attrs.a ? x : numbers(x.size(), 0.0);
    }

    numbers matmul(const node& n, int rank) const
    {
        const node& a = g_[n.args[0]];
        const int inner = a.dims - (n.attrs.a != 0 ? 2 : 1);
        const bool in_parts = a.layout == plait::layout_kind::sliced && a.slice_dim == inner;
        const std::int64_t k = argument(n, 0).extents[static_cast<std::size_t>(inner)];
        const auto part = in_parts ? plait::slice_of(k, rank, ranks_) : plait::slice_range{0, k};
        return matrix_product(n.attrs, array_of(n, 0, rank), array_of(n, 1, rank), extents_of(n), part);
    }
    numbers conv2d(const node& n, int rank) const
    {
        return convolution(n.attrs, array_of(n, 0, rank), array_of(n, 1, rank), extents_of(n));
    }
    numbers embedding(const node& n, int rank) const
    {
        const node& table = g_[n.args[0]];
        const numbers& rows = *argument(n, 0).on[static_cast<std::size_t>(rank)];
        const numbers& indices = *argument(n, 1).on[static_cast<std::size_t>(rank)];
        const auto width = static_cast<std::size_t>(argument(n, 0).extents[1]);
        const bool by_rows = table.layout == plait::layout_kind::sliced && table.slice_dim == 0;
        numbers out;
        for (double index : indices) {
            const bool mine = !by_rows || holds(table, {static_cast<std::int64_t>(index), 0}, rank);
            for (std::size_t h = 0; h < width; ++h) {
                out.push_back(mine ? rows[static_cast<std::size_t>(index) * width + h] : 0);
            }
        }
        return out;
    }
    array array_of(const node& n, int a, int rank) const
    {
        const value& v = argument(n, a);
        return {*v.on[static_cast<std::size_t>(rank)], v.extents};
    }

    const Graph& g_;
    int ranks_;
    const inputs& given_;
    std::vector<value> values_;
};

/// New values of all updated tensors of a program, by tensor and rank.
template <class Program>
std::map<std::string, std::vector<numbers>> evaluate(Program, int ranks, const inputs& given)
{
    return oracle(Program::graph, ranks, given).run();
}

}  // namespace reference
