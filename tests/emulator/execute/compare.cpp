// Comparison and selection (PTX ISA, "Comparison and Selection Instructions").
#include "../numeric/canonical.hpp"
#include "../numeric/small_float.hpp"
#include "lanewise.hpp"

namespace emulator {
namespace {

enum comparison : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum combination : std::uint8_t { none, with_and, with_or, with_xor };

template <comparison C, class T>
bool compare(T a, T b)
{
    if constexpr (C == eq) { return a == b; }
    if constexpr (C == ne) { return std::is_integral_v<T> ? a != b : a < b || a > b; }
    if constexpr (C == lt) { return a < b; }
    if constexpr (C == le) { return a <= b; }
    if constexpr (C == gt) { return a > b; }
    if constexpr (C == ge) { return a >= b; }
    if constexpr (C == equ) { return !(a < b || a > b); }
    if constexpr (C == neu) { return !(a == b); }
    if constexpr (C == ltu) { return !(a >= b); }
    if constexpr (C == leu) { return !(a > b); }
    if constexpr (C == gtu) { return !(a <= b); }
    if constexpr (C == geu) { return !(a < b); }
    if constexpr (C == num) { return a == a && b == b; }
    return a != a || b != b;
}

/// How a lane's operand of a type is read for comparison.
template <class T>
struct plain {
    using bits = T;
    static T read(slot<T> s) { return from_slot<T>(s); }
};
struct flushed {
    using bits = float;
    static float read(std::uint32_t s) { return flush(std::bit_cast<float>(s)); }
};
struct from_half {
    using bits = std::uint16_t;
    static float read(std::uint32_t s) { return half_to_float(static_cast<std::uint16_t>(s)); }
};
struct from_bfloat {
    using bits = std::uint16_t;
    static float read(std::uint32_t s) { return bfloat_to_float(static_cast<std::uint16_t>(s)); }
};

template <comparison C, class Read>
void setp(context& c, const instruction& i)
{
    const auto* a = source<typename Read::bits>(c, i.args[2]);
    const auto* b = source<typename Read::bits>(c, i.args[3]);
    std::uint32_t bits = 0;
    for_lanes(c.mask, [&](unsigned l) { bits |= std::uint32_t{compare<C>(Read::read(a[l]), Read::read(b[l]))} << l; });
    std::uint32_t other = ~bits;
    if (i.variant != none) {
        const std::uint32_t p = read_predicate(c, i.args[4]);
        const auto combine = [&](std::uint32_t x) {
            return i.variant == with_and ? x & p : i.variant == with_or ? x | p : x ^ p;
        };
        other = combine(other);
        bits = combine(bits);
    }
    write_predicate(c, i.args[0], bits);
    write_predicate(c, i.args[1], other);
}

/// set.cmp.dtype: all ones, or 1.0, where the comparison holds.
template <comparison C, class Read>
void set(context& c, const instruction& i)
{
    const auto* a = source<typename Read::bits>(c, i.args[1]);
    const auto* b = source<typename Read::bits>(c, i.args[2]);
    for_lanes(c.mask, [&](unsigned l) {
        write_bits(c, i.args[0], l,
                   compare<C>(Read::read(a[l]), Read::read(b[l])) ? static_cast<std::uint64_t>(i.immediate) : 0);
    });
}

using executor = void (*)(context&, const instruction&);

template <class Read, bool Set>
executor choose(comparison how)
{
    const auto pick = [&]<comparison C>() -> executor {
        if constexpr (Set) {
            return &set<C, Read>;
        } else {
            return &setp<C, Read>;
        }
    };
    switch (how) {
    case eq: return pick.template operator()<eq>();
    case ne: return pick.template operator()<ne>();
    case lt: return pick.template operator()<lt>();
    case le: return pick.template operator()<le>();
    case gt: return pick.template operator()<gt>();
    case ge: return pick.template operator()<ge>();
    case equ: return pick.template operator()<equ>();
    case neu: return pick.template operator()<neu>();
    case ltu: return pick.template operator()<ltu>();
    case leu: return pick.template operator()<leu>();
    case gtu: return pick.template operator()<gtu>();
    case geu: return pick.template operator()<geu>();
    case num: return pick.template operator()<num>();
    case nan: return pick.template operator()<nan>();
    }
    return nullptr;
}

template <bool Set>
executor choose(comparison how, type t, bool ftz)
{
    switch (t) {
    case type::b16:
    case type::u16: return choose<plain<std::uint16_t>, Set>(how);
    case type::s16: return choose<plain<std::int16_t>, Set>(how);
    case type::b32:
    case type::u32: return choose<plain<std::uint32_t>, Set>(how);
    case type::s32: return choose<plain<std::int32_t>, Set>(how);
    case type::b64:
    case type::u64: return choose<plain<std::uint64_t>, Set>(how);
    case type::s64: return choose<plain<std::int64_t>, Set>(how);
    case type::f16: return choose<from_half, Set>(how);
    case type::bf16: return choose<from_bfloat, Set>(how);
    case type::f32: return ftz ? choose<flushed, Set>(how) : choose<plain<float>, Set>(how);
    case type::f64: return choose<plain<double>, Set>(how);
    default: return nullptr;
    }
}

// lo, ls, hi, hs are the unsigned comparisons' other names.
comparison take_comparison(binding& b)
{
    const int how =
        b.one_of({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
    if (how >= 0) { return static_cast<comparison>(how); }
    const int other = b.one_of({"lo", "ls", "hi", "hs"});
    if (other < 0) { b.refuse("a comparison expected"); }
    return static_cast<comparison>(lt + other);
}

type storage_of(type t) { return t == type::bf16 || t == type::f16 ? type::b16 : is_packed(t) ? type::b32 : t; }

void bind_setp(binding& b)
{
    const comparison how = take_comparison(b);
    const int combined = b.one_of({"and", "or", "xor"});
    const type t = b.take_type();
    const bool ftz = b.has("ftz");
    if (is_packed(t)) { b.refuse("not implemented for pairs"); }
    b.expect_operands(combined >= 0 ? 4 : 3);
    b.out.kind = instruction_class::predicate;
    if (b.syntax(0).form == ptx::operand_form::pair) {
        b.predicate_destination(b.syntax(0).parts[0]);
        b.predicate_destination(b.syntax(0).parts[1]);
    } else {
        b.predicate_destination(b.syntax(0));
        b.absent();
    }
    b.source(1, storage_of(t));
    b.source(2, storage_of(t));
    b.out.variant = static_cast<std::uint8_t>(combined + 1);
    if (combined >= 0) { b.predicate(b.syntax(3)); }
    b.out.execute = choose<false>(how, t, ftz);
}

/// set on pairs of halves: each half of the result for itself.
template <bool Bfloat>
void set_pair(context& c, const instruction& i)
{
    const auto* a = source<std::uint32_t>(c, i.args[1]);
    const auto* b = source<std::uint32_t>(c, i.args[2]);
    const auto holds = [&](std::uint32_t x, std::uint32_t y) {
        const float p =
            Bfloat ? bfloat_to_float(static_cast<std::uint16_t>(x)) : half_to_float(static_cast<std::uint16_t>(x));
        const float q =
            Bfloat ? bfloat_to_float(static_cast<std::uint16_t>(y)) : half_to_float(static_cast<std::uint16_t>(y));
        switch (static_cast<comparison>(i.variant)) {
        case eq: return compare<eq>(p, q);
        case ne: return compare<ne>(p, q);
        case lt: return compare<lt>(p, q);
        case le: return compare<le>(p, q);
        case gt: return compare<gt>(p, q);
        case ge: return compare<ge>(p, q);
        case equ: return compare<equ>(p, q);
        case neu: return compare<neu>(p, q);
        case ltu: return compare<ltu>(p, q);
        case leu: return compare<leu>(p, q);
        case gtu: return compare<gtu>(p, q);
        case geu: return compare<geu>(p, q);
        case num: return compare<num>(p, q);
        case nan: return compare<nan>(p, q);
        }
        return false;
    };
    const auto one = static_cast<std::uint32_t>(i.immediate);
    for_lanes(c.mask, [&](unsigned l) {
        write_bits(c, i.args[0], l, (holds(a[l], b[l]) ? one : 0) | (holds(a[l] >> 16, b[l] >> 16) ? one << 16 : 0));
    });
}

void bind_set(binding& b)
{
    const comparison how = take_comparison(b);
    const type result = b.take_type();
    const type t = b.take_type();
    const bool ftz = b.has("ftz");
    b.expect_operands(3);
    b.out.kind = instruction_class::predicate;
    b.destination(0, storage_of(result));
    b.source(1, storage_of(t));
    b.source(2, storage_of(t));
    if (is_packed(t)) {
        b.out.variant = how;
        b.out.immediate = result == type::f16x2 ? 0x3c00 : result == type::bf16x2 ? 0x3f80 : 0xffff;
        b.out.execute = t == type::f16x2 ? &set_pair<false> : &set_pair<true>;
        return;
    }
    b.out.immediate = result == type::f32    ? 0x3f80'0000
                      : result == type::f16  ? 0x3c00
                      : result == type::bf16 ? 0x3f80
                                             : -1;
    b.out.execute = choose<true>(how, t, ftz);
}

template <class T>
void selp(context& c, const instruction& i)
{
    auto* d = destination<T>(c, i.args[0]);
    const auto* a = source<T>(c, i.args[1]);
    const auto* b = source<T>(c, i.args[2]);
    const std::uint32_t p = read_predicate(c, i.args[3]);
    for_each_lane(c.mask, [&](unsigned l) { d[l] = (p >> l & 1) != 0 ? a[l] : b[l]; });
}

void bind_selp(binding& b)
{
    const type t = b.take_type();
    b.expect_operands(4);
    b.out.kind = instruction_class::predicate;
    b.destination(0, storage_of(t));
    b.source(1, storage_of(t));
    b.source(2, storage_of(t));
    b.predicate(b.syntax(3));
    b.out.execute = size_of(t) == 8 ? &selp<std::uint64_t> : &selp<std::uint32_t>;
}

}  // namespace

extern const opcode_entry compare_opcodes[] = {
    {"setp", bind_setp}, {"set", bind_set}, {"selp", bind_selp}, {{}, nullptr}};

}  // namespace emulator
