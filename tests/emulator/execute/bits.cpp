// Logic, shifts and counts of bits (PTX ISA, "Logic and Shift Instructions" and parts of "Integer Arithmetic").
#include "lanewise.hpp"

#include <algorithm>

namespace emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct bit_and {
    template <class T>
    T operator()(T a, T b) const
    {
        return static_cast<T>(a & b);
    }
};
struct bit_or {
    template <class T>
    T operator()(T a, T b) const
    {
        return static_cast<T>(a | b);
    }
};
struct bit_xor {
    template <class T>
    T operator()(T a, T b) const
    {
        return static_cast<T>(a ^ b);
    }
};
struct bit_not {
    template <class T>
    T operator()(T a) const
    {
        return static_cast<T>(~a);
    }
};
struct is_zero {
    template <class T>
    T operator()(T a) const
    {
        return a == 0 ? T{1} : T{0};
    }
};

template <class Op>
void predicate_logic(context& c, const instruction& i)
{
    write_predicate(c, i.args[0], Op{}(read_predicate(c, i.args[1]), read_predicate(c, i.args[2])));
}
void predicate_not(context& c, const instruction& i) { write_predicate(c, i.args[0], ~read_predicate(c, i.args[1])); }

template <class Op>
void bind_logic(binding& b)
{
    const type t = b.take_type({type::pred, type::b16, type::b32, type::b64});
    b.out.kind = class_of(t);
    if (t == type::pred) {
        b.expect_operands(3);
        b.predicate_destination(b.syntax(0));
        b.predicate(b.syntax(1));
        b.predicate(b.syntax(2));
        b.out.execute = &predicate_logic<Op>;
        return;
    }
    same_type_operands(b, t, 3);
    with_integer(t, [&]<class T>() { b.out.execute = &binary<T, T, Op>; });
}

void bind_not(binding& b)
{
    const type t = b.take_type({type::pred, type::b16, type::b32, type::b64});
    b.out.kind = class_of(t);
    if (t == type::pred) {
        b.expect_operands(2);
        b.predicate_destination(b.syntax(0));
        b.predicate(b.syntax(1));
        b.out.execute = &predicate_not;
        return;
    }
    same_type_operands(b, t, 2);
    with_integer(t, [&]<class T>() { b.out.execute = &unary<T, T, bit_not>; });
}

void bind_cnot(binding& b)
{
    const type t = b.take_type({type::b16, type::b32, type::b64});
    same_type_operands(b, t, 2);
    b.out.kind = instruction_class::integer;
    with_integer(t, [&]<class T>() { b.out.execute = &unary<T, T, is_zero>; });
}

// The truth table's bit 4a + 2b + c tells the result where the three inputs' bits are a, b, c.
void lop3(context& c, const instruction& i)
{
    auto* d = destination<u32>(c, i.args[0]);
    const auto* x = source<u32>(c, i.args[1]);
    const auto* y = source<u32>(c, i.args[2]);
    const auto* z = source<u32>(c, i.args[3]);
    const auto table = static_cast<u32>(i.immediate);
    for_each_lane(c.mask, [&](unsigned l) {
        u32 r = 0;
        for (u32 k = 0; k < 8; ++k) {
            const u32 here = (k & 4 ? x[l] : ~x[l]) & (k & 2 ? y[l] : ~y[l]) & (k & 1 ? z[l] : ~z[l]);
            r |= (table >> k & 1) != 0 ? here : 0;
        }
        d[l] = r;
    });
}

void bind_lop3(binding& b)
{
    b.take_type({type::b32});
    b.expect_operands(5);
    b.out.kind = instruction_class::integer;
    b.destination(0, type::b32);
    for (unsigned i = 1; i < 4; ++i) { b.source(i, type::b32); }
    b.out.immediate = b.integer(4);
    b.out.execute = &lop3;
}

struct shift_left {
    template <class T>
    T operator()(T a, u32 n) const
    {
        return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << n);
    }
};
struct shift_right {
    template <class T>
    T operator()(T a, u32 n) const
    {
        if (n < 8 * sizeof(T)) { return static_cast<T>(a >> n); }
        return a < 0 ? static_cast<T>(-1) : T{0};
    }
};

template <class T, class Op>
void shift(context& c, const instruction& i)
{
    auto* d = destination<T>(c, i.args[0]);
    const auto* a = source<T>(c, i.args[1]);
    const auto* n = source<u32>(c, i.args[2]);
    for_each_lane(c.mask, [&](unsigned l) { d[l] = to_slot<T>(Op{}(from_slot<T>(a[l]), n[l])); });
}

void bind_shift(binding& b)
{
    const type t = b.take_type();
    b.expect_operands(3);
    b.out.kind = instruction_class::integer;
    b.destination(0, t);
    b.source(1, t);
    b.source(2, type::u32);
    const bool left = b.statement().opcode == "shl";
    with_integer(t, [&]<class T>() { b.out.execute = left ? &shift<T, shift_left> : &shift<T, shift_right>; });
}

template <bool Left, bool Wrap>
struct funnel {
    u32 operator()(u32 low, u32 high, u32 n) const
    {
        n = Wrap ? n & 31 : std::min(n, 32u);
        const u64 both = u64{high} << 32 | low;
        return static_cast<u32>(Left ? (both << n) >> 32 : both >> n);
    }
};

void bind_funnel_shift(binding& b)
{
    const int direction = b.one_of({"l", "r"});
    const int mode = b.one_of({"clamp", "wrap"});
    if (direction < 0 || mode < 0) { b.refuse("direction and mode expected"); }
    same_type_operands(b, b.take_type({type::b32}), 4);
    b.out.kind = instruction_class::integer;
    b.out.execute =
        direction == 0
            ? (mode == 0 ? &ternary<u32, u32, u32, funnel<true, false>> : &ternary<u32, u32, u32, funnel<true, true>>)
            : (mode == 0 ? &ternary<u32, u32, u32, funnel<false, false>>
                         : &ternary<u32, u32, u32, funnel<false, true>>);
}

struct count_ones {
    template <class T>
    u32 operator()(T a) const
    {
        return static_cast<u32>(std::popcount(a));
    }
};
struct count_leading_zeros {
    template <class T>
    u32 operator()(T a) const
    {
        return static_cast<u32>(std::countl_zero(a));
    }
};
struct reverse_bits {
    template <class T>
    T operator()(T a) const
    {
        T r = 0;
        for (unsigned k = 0; k < 8 * sizeof(T); ++k) { r |= static_cast<T>((a >> k & 1) << (8 * sizeof(T) - 1 - k)); }
        return r;
    }
};

// The position of the highest bit that differs from the sign; ~0 without one. With shiftamt, the distance to the top.
template <bool Distance>
struct find_bit {
    template <class T>
    u32 operator()(T a) const
    {
        using u = std::make_unsigned_t<T>;
        const auto bits = static_cast<u>(a < 0 ? ~a : a);
        if (bits == 0) { return ~0u; }
        const auto zeros = static_cast<u32>(std::countl_zero(bits));
        return Distance ? zeros : static_cast<u32>(8 * sizeof(T) - 1) - zeros;
    }
};

void bind_count(binding& b)
{
    const type t = b.take_type({type::b32, type::b64});
    const auto& opcode = b.statement().opcode;
    b.expect_operands(2);
    b.out.kind = instruction_class::integer;
    b.destination(0, opcode == "brev" ? t : type::u32);
    b.source(1, t);
    const auto bind = [&]<class T>() {
        b.out.execute = opcode == "popc"  ? &unary<u32, T, count_ones>
                        : opcode == "clz" ? &unary<u32, T, count_leading_zeros>
                                          : &unary<T, T, reverse_bits>;
    };
    t == type::b32 ? bind.operator()<u32>() : bind.operator()<u64>();
}

void bind_bfind(binding& b)
{
    const bool distance = b.has("shiftamt");
    const type t = b.take_type({type::u32, type::s32, type::u64, type::s64});
    b.expect_operands(2);
    b.out.kind = instruction_class::integer;
    b.destination(0, type::u32);
    b.source(1, t);
    with_integer(t, [&]<class T>() {
        b.out.execute = distance ? &unary<u32, T, find_bit<true>> : &unary<u32, T, find_bit<false>>;
    });
}

}  // namespace

extern const opcode_entry bit_opcodes[] = {
    {"and", bind_logic<bit_and>}, {"or", bind_logic<bit_or>},
    {"xor", bind_logic<bit_xor>}, {"not", bind_not},
    {"cnot", bind_cnot},          {"lop3", bind_lop3},
    {"shl", bind_shift},          {"shr", bind_shift},
    {"shf", bind_funnel_shift},   {"popc", bind_count},
    {"clz", bind_count},          {"brev", bind_count},
    {"bfind", bind_bfind},        {{}, nullptr},
};

}  // namespace emulator
