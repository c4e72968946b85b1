// Random elementwise operations.
#pragma once

#include "scope.hpp"

namespace soak {

using maybe = std::optional<value>;

/// Of one floating-point value. Bounds of errors are by the derivative's.
inline maybe one_number(scope& s)
{
    const value* x = s.pick_number();
    if (x == nullptr) { return {}; }
    const std::string& t = x->text;
    const double l = x->largest;
    const double e = x->error;
    const auto type = std::optional(x->type);
    constexpr double single = 0x1p-23;  // what functions of f16 and bf16 are computed with
    switch (s.random.below(16)) {
    case 0: return made("-" + t, type, l, e, 1, {x});
    case 1: return made("pl::abs(" + t + ")", type, l, e, 1, {x});
    case 2: return made("pl::tanh(" + t + ")", type, 1, e, 4, {x});
    case 3: return made("pl::erf(" + t + ")", type, 1, 1.13 * e, 4, {x});
    case 4: return made("pl::sqrt(pl::abs(" + t + ") + 0.5_c)", type, std::sqrt(l + 0.5), 0.71 * e, 4, {x});
    case 5: return made("pl::exp(pl::min(" + t + ", 1_c))", type, 2.72, 2.72 * e, 4, {x});
    case 6: return made("pl::log(pl::abs(" + t + ") + 1_c)", type, std::log(l + 1), e, 4 + l, {x});
    case 7: return made("pl::rsqrt(pl::abs(" + t + ") + 1_c)", type, 1, 0.5 * e, 4, {x});
    case 8: return made("pl::pow(pl::abs(" + t + ") + 1_c, 0.5_c)", type, std::sqrt(l + 1), 0.5 * e, 8, {x});
    case 9: return made("pl::relu(" + t + ")", type, l, e, 1, {x});
    case 10: return made("pl::gelu(" + t + ")", type, l, 1.13 * e + 4 * single * l, 2, {x});
    case 11: return made("pl::silu(" + t + ")", type, l, 1.1 * e + 4 * single * l, 2, {x});
    case 12: return made("pl::dropout(" + t + ", 0.25_c, 3_c)", type, l / 0.75, e / 0.75, 2, {x});
    case 13: return made(t + " / pl::world_size", type, l, e, 1, {x});
    case 14: return made("0.75_c * " + t + " - 0.5_c", type, l * 0.75 + 0.5, 0.75 * e, 3, {x});
    default: {
        const plait::dtype to = s.random.one_of(s.floating);
        plait::attributes attrs;
        attrs.a = static_cast<int>(to);
        return made(std::string("pl::cast<") + cpp_name(to) + ">(" + t + ")", type_of(plait::op::cast, attrs, {x->type}), l, e, 1, {x});
    }
    }
}

/// Of two floating-point values.
inline maybe two_numbers(scope& s)
{
    using plait::op;
    const value* x = s.pick_number();
    const value* y = s.pick_number();
    if (x == nullptr || y == nullptr) { return {}; }
    const std::string& a = x->text;
    const std::string& b = y->text;
    const double l = x->largest;
    const double m = y->largest;
    const double e = x->error;
    const double f = y->error;
    const auto type = [&](op k) { return type_of(k, {}, {x->type, y->type}); };
    switch (s.random.below(7)) {
    case 0: return made(a + " + " + b, type(op::add), l + m, e + f, 1, {x, y});
    case 1: return made(a + " - " + b, type(op::sub), l + m, e + f, 1, {x, y});
    case 2: return made(a + " * " + b, type(op::mul), l * m, l * f + m * e + e * f, 1, {x, y});
    case 3: return made(a + " / (pl::abs(" + b + ") + 1_c)", type(op::div), l, e + l * f, 3, {x, y});
    case 4: return made("pl::min(" + a + ", " + b + ")", type(op::min), std::max(l, m), std::max(e, f), 1, {x, y});
    case 5: return made("pl::max(" + a + ", " + b + ")", type(op::max), std::max(l, m), std::max(e, f), 1, {x, y});
    default: {
        const value* c = s.pick([](const value& v) { return v.type.type == plait::dtype::boolean; });
        if (c == nullptr) { return {}; }
        return made("pl::select(" + c->text + ", " + a + ", " + b + ")", type_of(op::select, {}, {c->type, x->type, y->type}),
                    std::max(l, m), std::max(e, f), 1, {x, y});
    }
    }
}

/// Of integers and booleans, and comparisons and casts of what the reference has exactly.
inline maybe exact(scope& s)
{
    using plait::dtype;
    using plait::op;
    const auto is_exact = [](const value& v) { return v.exact; };
    const value* x = s.pick(is_exact);
    const value* y = s.pick(is_exact);
    if (x == nullptr || y == nullptr) { return {}; }
    const std::string& a = x->text;
    const std::string& b = y->text;
    const double l = x->largest;
    const double m = y->largest;
    const bool whole = plait::is_integer(x->type.type) && plait::is_integer(y->type.type);
    const bool both = x->type.type == dtype::boolean && y->type.type == dtype::boolean;
    const bool sign = x->type.type != dtype::u8 && y->type.type != dtype::u8;
    const auto type = [&](op k) { return type_of(k, {}, {x->type, y->type}); };
    const auto cast_to = [&](dtype to) {
        plait::attributes attrs;
        attrs.a = static_cast<int>(to);
        const bool fits = to != dtype::u8 || (x->type.type == dtype::boolean);
        return fits ? made(std::string("pl::cast<") + cpp_name(to) + ">(" + a + ")", type_of(op::cast, attrs, {x->type}), l, 0, 1, {x})
                    : maybe();
    };
    switch (s.random.below(14)) {
    case 0: return made(a + " < " + b, type(op::less), 1, 0, 0, {x, y});
    case 1: return made(a + " <= " + b, type(op::less_equal), 1, 0, 0, {x, y});
    case 2: return made(a + " == " + b, type(op::equal), 1, 0, 0, {x, y});
    case 3: return made(a + " != " + b, type(op::not_equal), 1, 0, 0, {x, y});
    case 4: return both ? made(a + " && " + b, type(op::logical_and), 1, 0, 0, {x, y}) : maybe();
    case 5: return both ? made(a + " || !" + b, type(op::logical_or), 1, 0, 0, {x, y}) : maybe();
    case 6: return whole ? made(a + " + " + b, type(op::add), l + m, 0, 0, {x, y}) : maybe();
    case 7: return whole && sign ? made(a + " - " + b, type(op::sub), l + m, 0, 0, {x, y}) : maybe();
    case 8: return whole ? made(a + " * " + b, type(op::mul), l * m, 0, 0, {x, y}) : maybe();
    case 9: return whole ? made(a + " / " + b, type(op::div), l, 0, 0, {x, y}) : maybe();
    case 10: return whole ? made("pl::max(" + a + ", " + b + ")", type(op::max), std::max(l, m), 0, 0, {x, y}) : maybe();
    case 11: return cast_to(s.random.one_of(s.floating));
    case 12: return cast_to(s.random.chance(50) ? dtype::i32 : dtype::i64);
    default: return cast_to(dtype::boolean);
    }
}

}  // namespace soak
