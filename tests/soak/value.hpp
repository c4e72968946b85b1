// A value of a random program: its text, its type, and how large and how wrong its elements may be.
#pragma once

#include <plait/graph/infer_collective.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace soak {

struct value {
    std::string text{};          // what it is called in the program
    plait::value_type type{};
    double largest = 0;          // no element is larger
    double error = 0;            // no element is further away from the float64 reference
    bool exact = false;          // the reference has the very same elements: they may be compared and truncated
};

/// Relative error of one rounding, with room for a float64 reference that rounds as well.
inline double epsilon(plait::dtype type)
{
    switch (type) {
    case plait::dtype::f16: return 0x1p-10;
    case plait::dtype::bf16: return 0x1p-7;
    case plait::dtype::f32: return 0x1p-23;
    case plait::dtype::f64: return 0x1p-51;
    default: return 0;
    }
}

/// What the driver binds at most: see check.hpp.
inline double bound_of(const plait::extent& e)
{
    return e.name.empty() ? static_cast<double>(e.number) : e.name == "N" ? 2100 : 20;
}
inline double elements_of(const plait::value_type& t)
{
    double n = 1;
    for (int d = 0; d < t.dims; ++d) { n *= bound_of(t.shape[d]); }
    return n;
}

inline const char* cpp_name(plait::dtype type)
{
    constexpr const char* names[] = {"", "bool", "std::uint8_t", "std::int32_t", "std::int64_t", "pl::f16", "pl::bf16", "float", "double"};
    return names[static_cast<int>(type)];
}
inline std::string text_of(const plait::extent& e)
{
    return e.name.empty() ? std::to_string(e.number) + "_c" : std::string(e.name);
}
inline std::string text_of(plait::layout_kind layout, int slice_dim)
{
    return layout == plait::layout_kind::local        ? "pl::local"
           : layout == plait::layout_kind::replicated ? "pl::replicated"
                                                      : "pl::sliced<" + std::to_string(slice_dim) + ">";
}
/// The declaration of a tensor of this type.
inline std::string declared(const std::string& name, const plait::value_type& t)
{
    std::string s = "pl::tensor<\"" + name + "\", " + cpp_name(t.type) + ">(" + text_of(t.layout, t.slice_dim);
    if (t.group > 0) { s += ", pl::group<" + std::to_string(t.group) + ">"; }
    for (int d = 0; d < t.dims; ++d) { s += ", " + text_of(t.shape[d]); }
    return s + ")";
}

/// The type of an operation, or nothing where the rules of the language refuse it.
inline std::optional<plait::value_type> type_of(plait::op k, const plait::attributes& attrs,
                                                std::initializer_list<plait::value_type> args)
{
    const plait::inferred found = plait::infer(k, attrs, args.begin(), static_cast<int>(args.size()));
    return found.ok() ? std::optional(found.type) : std::nullopt;
}

/// A value made by an operation whose own rounding errors are `roundings` of the largest element.
inline std::optional<value> made(std::string text, const std::optional<plait::value_type>& type, double largest, double error,
                                 double roundings, std::initializer_list<const value*> from)
{
    if (!type) { return std::nullopt; }
    value v{std::move(text), *type, largest, 0, true};
    for (const value* x : from) { v.exact = v.exact && x->exact; }
    v.exact = v.exact && !plait::is_floating(type->type);
    if (!v.exact) { v.error = error + roundings * epsilon(type->type) * std::max(largest, 0.01); }
    return v;
}

}  // namespace soak
