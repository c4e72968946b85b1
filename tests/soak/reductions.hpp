// Random reductions, and what is made of them: norms, softmax, layers' normalisations.
#pragma once

#include "elementwise.hpp"

namespace soak {

inline maybe reduced(scope& s)
{
    using plait::reduction;
    const value* x = s.pick([](const value& v) { return v.type.group == 0 && (plait::is_floating(v.type.type) || plait::is_integer(v.type.type)); });
    if (x == nullptr) { return {}; }
    constexpr const char* names[] = {"sum", "product", "min", "max", "mean"};
    constexpr reduction kinds[] = {reduction::sum, reduction::sum, reduction::min, reduction::max, reduction::mean};
    const bool whole = x->type.dims == 0 || s.random.chance(35);
    plait::attributes attrs;
    attrs.combine = kinds[s.random.below(5)];
    attrs.axis = whole ? plait::attributes::all_axes : s.random.below(x->type.dims);
    attrs.a = !whole && s.random.chance(50) ? 1 : 0;
    const double n = whole ? elements_of(x->type) : bound_of(x->type.shape[attrs.axis]);
    const bool picks = attrs.combine == reduction::min || attrs.combine == reduction::max;
    // Of no elements there is no extreme integer that the reference could count on with.
    if (picks && plait::is_integer(x->type.type)) { return {}; }
    if (whole && !picks && x->type.dims > 1 && !s.first_only && plait::is_floating(x->type.type)) { return {}; }
    std::string text = std::string("pl::") + names[static_cast<int>(attrs.combine)] + "(" + x->text;
    if (!whole) { text += ", pl::axis<" + std::to_string(attrs.axis) + ">"; }
    if (attrs.a != 0) { text += ", pl::keep_dims"; }
    const bool adds = attrs.combine == reduction::sum;
    const double scale = adds ? n : 1;
    const plait::dtype type = x->type.type;
    const double wide = type == plait::dtype::f64 ? 0x1p-51 : 0x1p-23;  // what sums are accumulated in
    const double rounding = picks || !plait::is_floating(type) ? 0 : 4 * std::sqrt(n) * wide * scale * x->largest;
    return made(text + ")", type_of(plait::op::reduce, attrs, {x->type}), x->largest * scale, x->error * scale + rounding, 2, {x});
}

/// x divided by a norm of y.
inline maybe normed(scope& s)
{
    const value* x = s.pick_number();
    const value* y = s.pick_number();
    if (x == nullptr || y == nullptr) { return {}; }
    const bool per_tensor = y->type.dims == 1 && !y->type.shape[0].name.empty() && s.random.chance(60);
    if (!per_tensor && y->type.dims > 1 && !s.first_only) { return {}; }
    plait::value_type norm = y->type;
    norm.dims = per_tensor ? 1 : 0;
    norm.shape[0].per_tensor = per_tensor;
    norm.slice_dim = -1;
    if (norm.is_sliced()) { norm.layout = plait::layout_kind::replicated; }
    if (norm.type < plait::dtype::f32) { norm.type = plait::dtype::f32; }
    if (elements_of(x->type) < elements_of(norm) && per_tensor) { return {}; }
    const double n = std::sqrt(elements_of(y->type));
    const double rounding = 20 * epsilon(norm.type) * x->largest;  // of a norm that is less exact than x
    return made(x->text + " / (pl::norm(" + y->text + (per_tensor ? ", pl::per_tensor" : "") + ") + 1_c)",
                type_of(plait::op::div, {}, {x->type, norm}), x->largest, x->error + x->largest * n * y->error + rounding, 20, {x, y});
}

/// Row-wise steps of networks.
inline maybe row_wise(scope& s)
{
    const value* found = s.pick([](const value& v) {
        const bool whole_rows = v.type.dims > 0 && (!v.type.is_sliced() || v.type.slice_dim < v.type.dims - 1);
        return plait::is_floating(v.type.type) && whole_rows;
    });
    if (found == nullptr) { return {}; }
    const value x = *found;  // declaring moves values
    if (s.random.chance(40)) { return made("pl::softmax(" + x.text + ")", x.type, 1, x.error + 16 * epsilon(plait::dtype::f32), 2, {&x}); }
    const plait::extent row = x.type.shape[x.type.dims - 1];
    const auto fits = [&](const value& v) {
        return v.type.dims == 1 && v.type.shape[0] == row && plait::is_floating(v.type.type) && !v.type.is_sliced();
    };
    if (s.pick(fits) == nullptr) { s.declare(s.shaped(s.random.one_of(s.floating), {row})); }
    const value* gamma = s.pick(fits);
    const value* beta = s.pick(fits);
    const double n = std::sqrt(bound_of(row));
    const bool layer = s.random.chance(60);
    const bool low = x.type.type < plait::dtype::f32;
    const auto wide = [](plait::value_type t) {
        if (t.type < plait::dtype::f32) { t.type = plait::dtype::f32; }
        return t;
    };
    auto type = type_of(plait::op::mul, {}, {wide(x.type), wide(gamma->type)});
    if (type && layer) { type = type_of(plait::op::add, {}, {*type, wide(beta->type)}); }
    if (type && low) { type->type = x.type.type; }
    const double size = std::min(n, 2.9 * x.largest);
    const double error = (3 + 1.5 * n) * (x.error + 8 * epsilon(plait::dtype::f32) * x.largest);
    const std::string tail = layer ? ", " + beta->text : "";
    return made(std::string(layer ? "pl::layer_norm(" : "pl::rms_norm(") + x.text + ", " + gamma->text + tail + ", 0.5_c)", type,
                size * gamma->largest + beta->largest, error * gamma->largest + size * gamma->error + beta->error, 4, {&x, gamma, beta});
}

}  // namespace soak
