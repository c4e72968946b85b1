// Random matrix products, convolutions and embeddings; operands that are missing are declared.
#pragma once

#include "elementwise.hpp"

namespace soak {

inline maybe product(scope& s)
{
    const value* found = s.pick([](const value& v) { return plait::is_floating(v.type.type) && v.type.dims >= 2; });
    if (found == nullptr) { return {}; }
    const value x = *found;  // declaring moves values
    plait::attributes attrs;
    attrs.a = s.random.chance(25) ? 1 : 0;
    attrs.b = s.random.chance(25) ? 1 : 0;
    const int inner = x.type.dims - (attrs.a != 0 ? 2 : 1);
    const auto fits = [&](const value& v) {
        return plait::is_floating(v.type.type) && v.type.dims >= 2 && type_of(plait::op::matmul, attrs, {x.type, v.type}).has_value();
    };
    if (s.pick(fits) == nullptr || s.random.chance(30)) {
        plait::value_type t = s.shaped(x.type.type, {x.type.shape[inner], s.extent()});
        if (attrs.b != 0) { std::swap(t.shape[0], t.shape[1]); }
        const bool contracts = x.type.is_sliced() && x.type.slice_dim == inner;
        if (contracts) {
            t.layout = plait::layout_kind::sliced;
            t.slice_dim = attrs.b;
        } else if (s.random.chance(40)) {
            s.lay_out(t);
        }
        if (elements_of(t) > 1e5 || (s.first_only && t.slice_dim > 0)) { return {}; }
        s.declare(t);
    }
    const value* y = s.pick(fits);
    if (y == nullptr) { return {}; }
    const double k = bound_of(x.type.shape[inner]);
    const auto type = type_of(plait::op::matmul, attrs, {x.type, y->type});
    const double wide = type->type == plait::dtype::f64 ? 0x1p-51 : 0x1p-23;
    if (elements_of(*type) * k > 2e6) { return {}; }
    const double largest = k * x.largest * y->largest;
    std::string text = "pl::matmul(" + x.text + ", " + y->text;
    text += attrs.a != 0 && attrs.b != 0 ? ", pl::transposed_both" : attrs.a != 0 ? ", pl::transposed_a" : attrs.b != 0 ? ", pl::transposed_b" : "";
    return made(s.labelled(text + ")"), type, largest,
                k * (x.largest * y->error + y->largest * x.error) + 4 * std::sqrt(k) * wide * largest, 2, {&x, y});
}

inline maybe convolution(scope& s)
{
    const plait::dtype type = s.random.one_of(s.floating);
    const auto number = [](int n) { return plait::extent{n, {}, false}; };
    plait::value_type image = s.shaped(type, {{0, "M", false}, number(2), number(5), number(6)});
    plait::value_type filter = s.shaped(type, {number(3), number(2), number(3), number(2)});
    s.lay_out(image);
    s.lay_out(filter);
    plait::attributes attrs;
    attrs.a = 1 + s.random.below(2);
    attrs.b = s.random.below(2);
    const auto result = type_of(plait::op::conv2d, attrs, {image, filter});
    if (!result) { return {}; }
    const value x = s.declare(image);
    const value w = s.declare(filter);
    return made("pl::conv2d(" + x.text + ", " + w.text + ", pl::stride<" + std::to_string(attrs.a) + ">, pl::padding<" +
                    std::to_string(attrs.b) + ">)",
                result, 12, 64 * epsilon(plait::dtype::f32), 2, {&x, &w});
}

/// Indices lie in [0, 8): tables have eight rows.
inline maybe looked_up(scope& s)
{
    plait::value_type table = s.shaped(s.random.one_of(s.floating), {{8, {}, false}, s.extent()});
    plait::value_type index = s.shaped(s.random.chance(50) ? plait::dtype::i32 : plait::dtype::i64, {s.extent()});
    s.lay_out(table);
    s.lay_out(index);
    const auto result = type_of(plait::op::embedding, {}, {table, index});
    if (!result || elements_of(*result) > 1e5) { return {}; }
    const value t = s.declare(table);
    const value i = s.declare(index, true);
    return made("pl::embedding(" + t.text + ", " + i.text + ")", result, 1, 0, 0, {&t, &i});
}

}  // namespace soak
