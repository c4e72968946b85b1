// Random collectives, most with a label, and updates that are read again.
#pragma once

#include "elementwise.hpp"

namespace soak {

inline maybe moved(scope& s, const value* x = nullptr)
{
    using plait::layout_kind;
    using plait::op;
    using plait::reduction;
    // Local values above all: what they become can be scheduled.
    const bool local = s.random.chance(60);
    const auto fits = [&](const value& v) { return v.type.group != plait::any_group && (!local || v.type.layout == layout_kind::local); };
    if (x == nullptr) { x = s.pick(fits); }
    if (x == nullptr) { return {}; }
    constexpr const char* names[] = {"sum", "product", "min", "max"};
    plait::attributes attrs;
    attrs.combine = s.random.chance(60) ? reduction::sum : static_cast<reduction>(s.random.below(4));
    if (attrs.combine == reduction::product && x->largest > 1.5) { attrs.combine = reduction::max; }
    const std::string combine = std::string("pl::") + names[static_cast<int>(attrs.combine)] + ", ";
    const int axis = s.random.below(std::max(x->type.dims, 1));
    const std::string along = ", pl::axis<" + std::to_string(axis) + ">)";
    std::string text;
    op k = op::all_reduce;
    if (x->type.layout == layout_kind::local) {
        switch (s.random.below(9)) {
        case 0: k = op::reduce_scatter; attrs.axis = axis; text = "pl::reduce_scatter(" + combine + x->text + along; break;
        case 1: k = op::reduce_to_root; text = "pl::reduce(" + combine + x->text + ", pl::root<0>)"; break;
        case 2: k = op::broadcast; text = "pl::broadcast(" + x->text + ", pl::root<0>)"; break;
        case 3: k = op::scatter; attrs.axis = axis; text = "pl::scatter(" + x->text + ", pl::root<0>" + along; break;
        default: text = "pl::all_reduce(" + combine + x->text + ")";
        }
    } else if (x->type.layout == layout_kind::sliced) {
        switch (s.random.below(5)) {
        case 0: k = op::gather; text = "pl::gather(" + x->text + ", pl::root<0>)"; break;
        case 1: k = op::all_to_all; attrs.axis = axis; text = "pl::all_to_all(" + x->text + along; break;
        default: k = op::all_gather; text = "pl::all_gather(" + x->text + ")";
        }
    } else {
        k = op::slice;
        attrs.axis = axis;
        text = "pl::slice(" + x->text + along;
    }
    const bool combines = k == op::all_reduce || k == op::reduce_scatter || k == op::reduce_to_root;
    if (!combines) { attrs.combine = reduction::sum; }
    const bool adds = combines && attrs.combine == reduction::sum;
    const bool multiplies = combines && attrs.combine == reduction::product;
    const double scale = adds ? 5 : multiplies ? 5 * std::pow(std::max(x->largest, 1.0), 4) : 1;
    const double largest = adds ? 5 * x->largest : multiplies ? std::pow(std::max(x->largest, 1.0), 5) : x->largest;
    const auto type = type_of(k, attrs, {x->type});
    if (type && k != op::slice && s.random.chance(85)) { text = s.labelled(text); }
    return made(text, type, largest, scale * x->error, combines ? 8 : 1, {x});
}

/// A value sent to the second pipeline group.
inline maybe sent(scope& s)
{
    const value* x = s.pick([](const value& v) { return v.type.group == 0; });
    if (x == nullptr) { return {}; }
    plait::attributes attrs;
    attrs.a = 1;
    return made(s.labelled("pl::send(" + x->text + ", pl::group<1>)"), type_of(plait::op::send, attrs, {x->type}), x->largest, x->error, 0, {x});
}

/// A tensor's new value, which other values may read.
inline maybe updated(scope& s, std::vector<std::string>& outputs)
{
    std::vector<std::pair<const value*, const value*>> pairs;
    for (const value& t : s.values) {
        if (t.type.made_by != plait::op::tensor || t.text[0] != 'x') { continue; }
        const bool again = std::ranges::any_of(outputs, [&](const std::string& o) { return o.starts_with(t.text + " "); });
        for (const value& v : s.values) {
            if (again || v.type.made_by == plait::op::tensor || v.type.made_by == plait::op::scalar || v.type.group != 0) { continue; }
            if (type_of(plait::op::update, {}, {t.type, v.type})) { pairs.emplace_back(&t, &v); }
        }
    }
    if (pairs.empty()) { return {}; }
    const auto [t, v] = s.random.one_of(pairs);
    outputs.push_back(t->text + " = v" + std::to_string(s.values.size()));
    maybe result = made("pl::update(" + t->text + ", " + v->text + ")", type_of(plait::op::update, {}, {t->type, v->type}), v->largest,
                        v->error, 0, {v});
    return result;
}

}  // namespace soak
