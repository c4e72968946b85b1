// Fields of bits, and bytes of a register (PTX ISA, parts of "Integer Arithmetic" and of "Data Movement").
#include "lanewise.hpp"

#include <algorithm>

namespace emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// len bits of a from position pos; signed: filled with the top bit of the field, or of a where the field ends outside.
struct extract_field {
    template <class T>
    T operator()(T a, T pos_, T len_) const
    {
        constexpr unsigned bits = 8 * sizeof(T);
        const unsigned pos = static_cast<unsigned>(pos_) & 255;
        const unsigned len = static_cast<unsigned>(len_) & 255;
        if (len == 0) { return 0; }
        using u = std::make_unsigned_t<T>;
        const bool sign = std::is_signed_v<T> && (static_cast<u>(a) >> std::min(pos + len - 1, bits - 1) & 1) != 0;
        u r = 0;
        for (unsigned k = 0; k < bits; ++k) {
            const bool bit = k < len && pos + k < bits ? (static_cast<u>(a) >> (pos + k) & 1) != 0 : sign;
            r |= static_cast<u>(u{bit} << k);
        }
        return static_cast<T>(r);
    }
};

template <class T>
void bfe(context& c, const instruction& i)
{
    auto* d = destination<T>(c, i.args[0]);
    const auto* a = source<T>(c, i.args[1]);
    const auto* pos = source<u32>(c, i.args[2]);
    const auto* len = source<u32>(c, i.args[3]);
    for_each_lane(c.mask, [&](unsigned l) {
        d[l] =
            to_slot<T>(extract_field{}(from_slot<T>(a[l]), static_cast<T>(pos[l] & 255), static_cast<T>(len[l] & 255)));
    });
}

template <class T>
void bfi(context& c, const instruction& i)
{
    auto* d = destination<T>(c, i.args[0]);
    const auto* a = source<T>(c, i.args[1]);
    const auto* b = source<T>(c, i.args[2]);
    const auto* pos_ = source<u32>(c, i.args[3]);
    const auto* len_ = source<u32>(c, i.args[4]);
    for_each_lane(c.mask, [&](unsigned l) {
        constexpr unsigned bits = 8 * sizeof(T);
        const unsigned pos = pos_[l] & 255;
        const unsigned len = len_[l] & 255;
        const T ones = len >= bits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << len) - 1);
        const T field = pos >= bits ? T{0} : static_cast<T>(ones << pos);
        d[l] = static_cast<T>((b[l] & ~field) | (pos >= bits ? T{0} : static_cast<T>(a[l] << pos) & field));
    });
}

void bind_field(binding& b)
{
    const bool insert = b.statement().opcode == "bfi";
    const type t = b.take_type();
    b.expect_operands(insert ? 5 : 4);
    b.out.kind = instruction_class::integer;
    b.destination(0, t);
    b.source(1, t);
    if (insert) { b.source(2, t); }
    b.source(insert ? 3 : 2, type::u32);
    b.source(insert ? 4 : 3, type::u32);
    if (insert) {
        b.out.execute = t == type::b32 ? &bfi<u32> : t == type::b64 ? &bfi<u64> : nullptr;
    } else if (size_of(t) >= 4) {
        with_integer(t, [&]<class T>() { b.out.execute = &bfe<T>; });
    }
}

template <bool Clamp>
struct bit_mask {
    u32 operator()(u32 at, u32 n) const
    {
        if (!Clamp) { at &= 31, n &= 31; }
        if (at >= 32 || n == 0) { return 0; }
        return (n >= 32 ? ~0u : (1u << n) - 1) << at;
    }
};

void bind_bmsk(binding& b)
{
    const int mode = b.one_of({"clamp", "wrap"});
    if (mode < 0) { b.refuse("mode expected"); }
    same_type_operands(b, b.take_type({type::b32}), 3);
    b.out.kind = instruction_class::integer;
    b.out.execute = mode == 0 ? &binary<u32, u32, bit_mask<true>> : &binary<u32, u32, bit_mask<false>>;
}

// Each nibble of the selector picks one of eight bytes; its top bit asks for that byte's sign instead.
struct permute_bytes {
    u32 operator()(u32 a, u32 b, u32 selector) const
    {
        const u64 bytes = u64{b} << 32 | a;
        u32 r = 0;
        for (unsigned k = 0; k < 4; ++k) {
            const u32 pick = selector >> (4 * k) & 15;
            u32 byte = static_cast<u32>(bytes >> (8 * (pick & 7))) & 255;
            if ((pick & 8) != 0) { byte = (byte & 128) != 0 ? 255 : 0; }
            r |= byte << (8 * k);
        }
        return r;
    }
};

void bind_prmt(binding& b)
{
    same_type_operands(b, b.take_type({type::b32}), 4);
    b.out.kind = instruction_class::integer;
    b.out.execute = &ternary<u32, u32, u32, permute_bytes>;
}

// The dot product of four bytes each, plus c.
template <class A, class B>
struct dot_of_bytes {
    u32 operator()(u32 a, u32 b, u32 c) const
    {
        for (unsigned k = 0; k < 4; ++k) {
            c += static_cast<u32>(static_cast<std::int32_t>(static_cast<A>(a >> (8 * k))) *
                                  static_cast<std::int32_t>(static_cast<B>(b >> (8 * k))));
        }
        return c;
    }
};

void bind_dp4a(binding& b)
{
    const type ta = b.take_type({type::u32, type::s32});
    const type tb = b.take_type({type::u32, type::s32});
    same_type_operands(b, type::u32, 4);
    b.out.kind = instruction_class::integer;
    using u8 = std::uint8_t;
    using s8 = std::int8_t;
    b.out.execute = ta == type::u32 ? (tb == type::u32 ? &ternary<u32, u32, u32, dot_of_bytes<u8, u8>>
                                                       : &ternary<u32, u32, u32, dot_of_bytes<u8, s8>>)
                                    : (tb == type::u32 ? &ternary<u32, u32, u32, dot_of_bytes<s8, u8>>
                                                       : &ternary<u32, u32, u32, dot_of_bytes<s8, s8>>);
}

}  // namespace

extern const opcode_entry field_opcodes[] = {
    {"bfe", bind_field}, {"bfi", bind_field}, {"bmsk", bind_bmsk},
    {"prmt", bind_prmt}, {"dp4a", bind_dp4a}, {{}, nullptr},
};

}  // namespace emulator
