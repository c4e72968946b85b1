// What is known about a value at compile time: dtype, shape, layout, group, and what to call it in a message.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/fixed_string.hpp>
#include <plait/graph/op.hpp>

#include <cstdint>
#include <string_view>

namespace plait {

/// Where a value's elements are.
/// local: every rank holds its own, whole value. replicated: equal on every rank. sliced: rank i holds part i of one
/// dimension (see core/slice.hpp).
enum class layout_kind : std::uint8_t { local, replicated, sliced };

constexpr std::string_view name_of(layout_kind l)
{
    constexpr std::string_view names[] = {"local", "replicated", "sliced"};
    return names[static_cast<int>(l)];
}

inline constexpr int max_dims = 5;

/// The group of values that every group has: numbers, scalars.
inline constexpr int any_group = -1;

/// One extent: a number, a named dimension whose number is bound at run time, or the number of tensors that make up a
/// named dimension (`per_tensor`, the shape of a reduction per tensor).
struct extent {
    std::int64_t number = 0;
    std::string_view name{};
    bool per_tensor = false;

    [[nodiscard]] constexpr bool is_one() const { return name.empty() && number == 1; }
    constexpr bool operator==(const extent&) const = default;
};

/// The compile-time type of a value. Shapes are global: a sliced value has the shape of the whole.
struct value_type {
    dtype type = dtype::none;
    layout_kind layout = layout_kind::replicated;
    int slice_dim = -1;  // when sliced
    int group = 0;
    int dims = 0;
    extent shape[max_dims]{};
    std::string_view name{};  // a tensor's, scalar's or label's; empty for an unnamed result
    op made_by = op::constant;

    [[nodiscard]] constexpr bool is_sliced() const { return layout == layout_kind::sliced; }
    [[nodiscard]] constexpr bool same_shape(const value_type& other) const
    {
        if (dims != other.dims) { return false; }
        for (int d = 0; d < dims; ++d) {
            if (shape[d] != other.shape[d]) { return false; }
        }
        return true;
    }
};

constexpr message& operator<<(message& m, const extent& e)
{
    if (e.name.empty()) { return m << e.number; }
    return e.per_tensor ? m << "tensors(" << e.name << ")" : m << e.name;
}

/// `"g"` for something named, `the result of sqrt` otherwise.
constexpr message& name_to(message& m, const value_type& v)
{
    if (!v.name.empty()) { return m << "\"" << v.name << "\""; }
    if (v.made_by == op::constant) { return m << "a number"; }
    return m << "the result of " << name_of(v.made_by);
}

/// `f32 [B, 4] sliced<0>`.
constexpr message& type_to(message& m, const value_type& v)
{
    m << name_of(v.type) << " [";
    for (int d = 0; d < v.dims; ++d) { (d > 0 ? m << ", " : m) << v.shape[d]; }
    m << "] " << name_of(v.layout);
    if (v.is_sliced()) { m << "<" << v.slice_dim << ">"; }
    if (v.group > 0) { m << " on group " << v.group; }
    return m;
}

/// `"g" (f32 [N] local)`.
constexpr message& operator<<(message& m, const value_type& v)
{
    name_to(m, v) << " (";
    return type_to(m, v) << ")";
}

}  // namespace plait
