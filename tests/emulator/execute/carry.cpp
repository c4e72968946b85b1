// Extended-precision arithmetic: add, sub and mad with a carry that each thread keeps (PTX ISA, "Extended-Precision
// Integer Arithmetic Instructions").
#include "carry.hpp"

#include "lanewise.hpp"

namespace emulator {
namespace {

using u32 = std::uint32_t;

template <class T>
T part_of_product(T a, T b, bool high)
{
    if (!high) { return static_cast<T>(a * b); }
    return static_cast<T>((static_cast<unsigned __int128>(a) * b) >> (8 * sizeof(T)));
}

enum flag : std::uint8_t {
    takes_carry = 1,
    gives_carry = 2,
    subtracts = 4,
    multiplies = 8,
    high_part = 16,
    is_signed_product = 32
};

// variant: flags. Operands: a + b or a - b; or a * b + c.
template <class T>
void extended(context& c, const instruction& i)
{
    auto* d = destination<T>(c, i.args[0]);
    const bool product = (i.variant & multiplies) != 0;
    for_lanes(c.mask, [&](unsigned l) {
        T x = from_slot<T>(source<T>(c, i.args[1])[l]);
        T y = from_slot<T>(source<T>(c, i.args[2])[l]);
        if (product) {
            T p = part_of_product(x, y, (i.variant & high_part) != 0);
            if ((i.variant & is_signed_product) != 0 && (i.variant & high_part) != 0) {
                constexpr unsigned top = 8 * sizeof(T) - 1;
                p -= (x >> top != 0 ? y : 0) + (y >> top != 0 ? x : 0);
            }
            x = p;
            y = from_slot<T>(source<T>(c, i.args[3])[l]);
        }
        const bool carry = (i.variant & takes_carry) != 0 && (c.w->carry >> l & 1) != 0;
        T r = 0;
        bool out = false;
        if ((i.variant & subtracts) != 0) {
            r = static_cast<T>(x - y - (carry ? 1 : 0));
            out = x < y || (carry && x == y);
        } else {
            r = static_cast<T>(x + y + (carry ? 1 : 0));
            out = r < x || (carry && r == x);
        }
        d[l] = to_slot<T>(r);
        if ((i.variant & gives_carry) != 0) { c.w->carry = (c.w->carry & ~(1u << l)) | u32{out} << l; }
    });
}

void finish(binding& b, type t, std::uint8_t flags, unsigned n)
{
    same_type_operands(b, t, n);
    b.out.kind = instruction_class::integer;
    b.out.variant = flags;
    b.out.execute = size_of(t) == 8 ? &extended<std::uint64_t> : &extended<u32>;
}

template <std::uint8_t Flags>
void bind_with_carry(binding& b)
{
    std::uint8_t flags = Flags | (b.has("cc") ? gives_carry : 0);
    const bool product = (Flags & multiplies) != 0;
    if (product) {
        const int half = b.one_of({"lo", "hi"});
        if (half < 0) { b.refuse("lo or hi expected"); }
        flags |= half == 1 ? high_part : 0;
    }
    const type t = b.take_type({type::u32, type::s32, type::u64, type::s64});
    if (is_signed(t)) { flags |= is_signed_product; }
    finish(b, t, flags, product ? 4 : 3);
}

}  // namespace

bool bind_carry_out(binding& b, type t)
{
    if (!b.has("cc")) { return false; }
    const auto& opcode = b.statement().opcode;
    if (opcode == "mad") {
        const int half = b.one_of({"lo", "hi"});
        if (half < 0) { b.refuse("lo or hi expected"); }
        finish(b, t,
               static_cast<std::uint8_t>(multiplies | gives_carry | (half == 1 ? high_part : 0) |
                                         (is_signed(t) ? is_signed_product : 0)),
               4);
        return true;
    }
    finish(b, t, static_cast<std::uint8_t>(gives_carry | (opcode == "sub" ? subtracts : 0)), 3);
    return true;
}

extern const opcode_entry carry_opcodes[] = {
    {"addc", bind_with_carry<takes_carry>},
    {"subc", bind_with_carry<takes_carry | subtracts>},
    {"madc", bind_with_carry<takes_carry | multiplies>},
    {{}, nullptr},
};

}  // namespace emulator
