// Instructions whose result in a lane depends on that lane's operands alone.
#pragma once

#include "../decode/binding.hpp"
#include "context.hpp"

namespace emulator {

template <class R, class T, class Op>
void unary(context& c, const instruction& i)
{
    auto* d = destination<R>(c, i.args[0]);
    const auto* a = source<T>(c, i.args[1]);
    for_each_lane(c.mask, [&](unsigned l) { d[l] = to_slot<R>(Op{}(from_slot<T>(a[l]))); });
}

template <class R, class T, class Op>
void binary(context& c, const instruction& i)
{
    auto* d = destination<R>(c, i.args[0]);
    const auto* a = source<T>(c, i.args[1]);
    const auto* b = source<T>(c, i.args[2]);
    for_each_lane(c.mask, [&](unsigned l) { d[l] = to_slot<R>(Op{}(from_slot<T>(a[l]), from_slot<T>(b[l]))); });
}

template <class R, class T, class U, class Op>
void ternary(context& c, const instruction& i)
{
    auto* d = destination<R>(c, i.args[0]);
    const auto* a = source<T>(c, i.args[1]);
    const auto* b = source<T>(c, i.args[2]);
    const auto* e = source<U>(c, i.args[3]);
    for_each_lane(c.mask, [&](unsigned l) {
        d[l] = to_slot<R>(Op{}(from_slot<T>(a[l]), from_slot<T>(b[l]), from_slot<U>(e[l])));
    });
}

/// Calls f.operator()<T>() with the C++ integer of a type; false when it is no integer of 16 to 64 bits.
template <class F>
bool with_integer(type t, F&& f)
{
    switch (t) {
    case type::b16:
    case type::u16: f.template operator()<std::uint16_t>(); return true;
    case type::s16: f.template operator()<std::int16_t>(); return true;
    case type::b32:
    case type::u32: f.template operator()<std::uint32_t>(); return true;
    case type::s32: f.template operator()<std::int32_t>(); return true;
    case type::b64:
    case type::u64: f.template operator()<std::uint64_t>(); return true;
    case type::s64: f.template operator()<std::int64_t>(); return true;
    default: return false;
    }
}

/// Appends destination and sources that all have one type.
inline void same_type_operands(binding& b, type t, unsigned n)
{
    b.expect_operands(n);
    b.out.type = t;
    b.destination(0, t);
    for (unsigned i = 1; i < n; ++i) { b.source(i, t); }
}

inline instruction_class class_of(type t)
{
    switch (t) {
    case type::f16:
    case type::bf16:
    case type::f16x2:
    case type::bf16x2: return instruction_class::f16;
    case type::f32:
    case type::tf32: return instruction_class::f32;
    case type::f64: return instruction_class::f64;
    case type::pred: return instruction_class::predicate;
    default: return instruction_class::integer;
    }
}

// Opcodes that exist for integers and for floating-point numbers; the type, taken already, decides.
void bind_integer_arithmetic(binding& b, type t);
void bind_float_arithmetic(binding& b, type t);
void bind_half_arithmetic(binding& b, type t);

}  // namespace emulator
