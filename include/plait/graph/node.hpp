// One node of a graph: an operation, its operands by index, and the type of its result.
#pragma once

#include <plait/graph/op.hpp>
#include <plait/graph/value_type.hpp>

#include <cstdint>

namespace plait {

inline constexpr int max_args = 3;

/// An extent inside a graph: a number >= 0, or -1-i for the dimension named by symbol i of the graph, or
/// `tensors_base`-1-i for the number of tensors that make it up.
using packed_extent = std::int64_t;
inline constexpr packed_extent tensors_base = -(std::int64_t{1} << 32);

constexpr bool is_named(packed_extent e) { return e < 0; }
constexpr bool is_per_tensor(packed_extent e) { return e < tensors_base; }
constexpr int symbol_of(packed_extent e) { return static_cast<int>(-1 - (is_per_tensor(e) ? e - tensors_base : e)); }

/// A node. Public and plain so that a graph can be a template argument.
struct node {
    op kind = op::constant;
    dtype type = dtype::none;
    layout_kind layout = layout_kind::replicated;
    int slice_dim = -1;
    int group = any_group;
    int n_args = 0;
    int args[max_args] = {-1, -1, -1};
    int dims = 0;
    packed_extent shape[max_dims]{};
    attributes attrs{};
    std::uint64_t bits = 0;   // of a constant: the double's
    int name = -1;            // symbol of a tensor or scalar
    int label = -1;           // symbol of the label, if any
    bool fused = false;       // a collective that runs inside its neighbours' kernel
    int overlap = 0;          // the pipeline that its stage runs in, counted from 1, or 0
    int contracts = 0;        // of an add or sub: 1 + the operand that is a product of its own, taken as one fma

    /// The dimension that is sliced, or -1.
    [[nodiscard]] constexpr int sliced_along() const { return layout == layout_kind::sliced ? slice_dim : -1; }

    /// Equal in what is computed, whatever the label: such nodes are one node of a graph.
    [[nodiscard]] constexpr bool same_value(const node& o) const
    {
        if (kind != o.kind || type != o.type || n_args != o.n_args || layout != o.layout || name != o.name ||
            bits != o.bits || attrs != o.attrs || slice_dim != o.slice_dim || group != o.group || dims != o.dims) {
            return false;
        }
        for (int i = 0; i < n_args; ++i) {
            if (args[i] != o.args[i]) { return false; }
        }
        for (int d = 0; d < dims; ++d) {
            if (shape[d] != o.shape[d]) { return false; }
        }
        return true;
    }
    constexpr bool operator==(const node&) const = default;
};

}  // namespace plait
