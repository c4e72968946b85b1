// Integer arithmetic, logic, shifts and bit fields against the host's, for all combinations of awkward operands.
#include "programs/instruction.hpp"

using u16 = unsigned short;
using u32 = std::uint32_t;
using s32 = std::int32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;

#define U32_2(name, ptx) DEFINE_2(name, ptx " %0, %1, %2;", u32, "r", u32, "r")
#define U64_2(name, ptx) DEFINE_2(name, ptx " %0, %1, %2;", u64, "l", u64, "l")
U32_2(add_u32, "add.u32")
U32_2(sub_s32, "sub.s32")
U32_2(add_sat, "add.sat.s32")
U32_2(sub_sat, "sub.sat.s32") U32_2(mul_lo, "mul.lo.s32") U32_2(mul_hi_u, "mul.hi.u32") U32_2(mul_hi_s, "mul.hi.s32")
    U32_2(div_u, "div.u32") U32_2(div_s, "div.s32") U32_2(rem_u, "rem.u32") U32_2(rem_s, "rem.s32") U32_2(
        min_s, "min.s32") U32_2(max_u, "max.u32") U32_2(and_b, "and.b32") U32_2(or_b, "or.b32") U32_2(xor_b, "xor.b32")
        U32_2(shl_b, "shl.b32") U32_2(shr_u, "shr.u32") U32_2(shr_s, "shr.s32") U32_2(bmsk_clamp, "bmsk.clamp.b32")
            U32_2(bmsk_wrap, "bmsk.wrap.b32") U32_2(add_pairs, "add.u16x2") U64_2(add_u64, "add.u64") U64_2(
                mul_lo_64, "mul.lo.s64") U64_2(mul_hi_u64,
                                               "mul.hi.u64") U64_2(mul_hi_s64,
                                                                   "mul.hi.s64") U64_2(div_s64, "div.s64")
                U64_2(rem_u64, "rem.u64") U64_2(xor_64, "xor.b64") U64_2(min_s64, "min.s64") DEFINE_2(
                    mul_wide_u,
                    "mul.wide.u32 %0, %1, %2;",
                    u64, "l", u32, "r") DEFINE_2(mul_wide_s, "mul.wide.s32 %0, %1, %2;", u64, "l", u32, "r")
                    DEFINE_3(mad_lo, "mad.lo.s32 %0, %1, %2, %3;", u32, "r", u32, "r") DEFINE_3(
                        mad_hi,
                        "mad.hi.u32 %0, %1, %2, %3;",
                        u32, "r", u32, "r") DEFINE_3(sad_s, "sad.s32 %0, %1, %2, %3;", u32, "r", u32, "r")
                        DEFINE_3(lop3_e2, "lop3.b32 %0, %1, %2, %3, 0xe2;", u32, "r", u32,
                                 "r") DEFINE_3(prmt_b, "prmt.b32 %0, %1, %2, %3;", u32, "r", u32, "r")
                            DEFINE_3(shf_l_wrap, "shf.l.wrap.b32 %0, %1, %2, %3;", u32, "r", u32, "r") DEFINE_3(
                                shf_r_clamp,
                                "shf.r.clamp.b32 %0, %1, %2, %3;",
                                u32, "r", u32, "r") DEFINE_3(bfe_u, "bfe.u32 %0, %1, %2, %3;", u32, "r", u32, "r")
                                DEFINE_3(bfe_s, "bfe.s32 %0, %1, %2, %3;", u32, "r", u32,
                                         "r") DEFINE_3(dp4a_ss, "dp4a.s32.s32 %0, %1, %2, %3;", u32, "r", u32, "r")
                                    DEFINE_3(dp4a_us, "dp4a.u32.s32 %0, %1, %2, %3;", u32, "r", u32, "r") DEFINE_3(
                                        bfi_b, "bfi.b32 %0, %1, %2, %3, 9;",
                                        u32, "r", u32, "r") DEFINE_1(popc_b, "popc.b32 %0, %1;", u32, "r", u32, "r")
                                        DEFINE_1(popc_64, "popc.b64 %0, %1;", u32, "r", u64, "l") DEFINE_1(
                                            clz_b, "clz.b32 %0, %1;",
                                            u32, "r", u32, "r") DEFINE_1(clz_64, "clz.b64 %0, %1;", u32, "r", u64, "l")
                                            DEFINE_1(brev_b, "brev.b32 %0, %1;", u32, "r", u32, "r") DEFINE_1(
                                                bfind_u,
                                                "bfind.u32 %0, %1;",
                                                u32, "r", u32,
                                                "r") DEFINE_1(bfind_s, "bfind.s32 %0, %1;", u32, "r", u32, "r")
                                                DEFINE_1(bfind_shift, "bfind.shiftamt.u32 %0, %1;", u32, "r", u32,
                                                         "r") DEFINE_1(not_b, "not.b32 %0, %1;", u32, "r", u32, "r")
                                                    DEFINE_1(cnot_b, "cnot.b32 %0, %1;", u32, "r", u32, "r") DEFINE_1(
                                                        abs_s, "abs.s32 %0, %1;",
                                                        u32, "r", u32,
                                                        "r") DEFINE_1(neg_s, "neg.s32 %0, %1;", u32, "r", u32, "r")
                                                        DEFINE_2(add_s16, "add.s16 %0, %1, %2;", u16, "h", u16, "h")
                                                            DEFINE_2(mul_lo_16, "mul.lo.u16 %0, %1, %2;", u16, "h", u16,
                                                                     "h")
                                                                DEFINE_2(mul_wide_s16, "mul.wide.s16 %0, %1, %2;", u32,
                                                                         "r", u16,
                                                                         "h") DEFINE_2(shr_s16,
                                                                                       "{.reg .b32 n; cvt.u32.u16 n, "
                                                                                       "%2; shr.s16 %0, %1, n;}",
                                                                                       u16, "h", u16, "h")
                                                                    DEFINE_2(carry,
                                                                             "{.reg .u32 l, h; add.cc.u32 l, %1, %2; "
                                                                             "addc.u32 h, %1, 0; mov.b64 %0, {l, h};}",
                                                                             u64, "l", u32, "r")
                                                                        DEFINE_2(
                                                                            borrow,
                                                                            "{.reg .u32 l, h; sub.cc.u32 l, %1, %2; "
                                                                            "subc.u32 h, %1, 0; mov.b64 %0, {l, h};}",
                                                                            u64, "l", u32, "r")

                                                                            s32 clamp(s64 x)
{
    return static_cast<s32>(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
u32 byte_of(u32 a, u32 b, u32 k) { return static_cast<u32>((u64{b} << 32 | a) >> (8 * (k & 7))) & 255; }
u32 field(u32 a, u32 at, u32 n, bool is_signed)
{
    at &= 255, n &= 255;
    if (n == 0) { return 0; }
    const u32 top = at + n - 1 < 31 ? at + n - 1 : 31;
    const u32 sign = is_signed ? a >> top & 1 : 0;
    u32 r = 0;
    for (u32 k = 0; k < 32; ++k) { r |= (k < n && at + k < 32 ? a >> (at + k) & 1 : sign) << k; }
    return r;
}

void test_arithmetic()
{
    const auto w = check::words();
    TEST_2(add_u32, w, [](u32 a, u32 b) { return a + b; });
    TEST_2(sub_s32, w, [](u32 a, u32 b) { return a - b; });
    TEST_2(add_sat, w,
           [](u32 a, u32 b) { return static_cast<u32>(clamp(s64{static_cast<s32>(a)} + static_cast<s32>(b))); });
    TEST_2(sub_sat, w,
           [](u32 a, u32 b) { return static_cast<u32>(clamp(s64{static_cast<s32>(a)} - static_cast<s32>(b))); });
    TEST_2(mul_lo, w, [](u32 a, u32 b) { return a * b; });
    TEST_2(mul_hi_u, w, [](u32 a, u32 b) { return static_cast<u32>((u64{a} * b) >> 32); });
    TEST_2(mul_hi_s, w,
           [](u32 a, u32 b) { return static_cast<u32>((s64{static_cast<s32>(a)} * static_cast<s32>(b)) >> 32); });
    TEST_2(mul_wide_u, w, [](u32 a, u32 b) { return u64{a} * b; });
    TEST_2(mul_wide_s, w,
           [](u32 a, u32 b) { return static_cast<u64>(s64{static_cast<s32>(a)} * static_cast<s32>(b)); });
    std::vector<u32> nonzero(w.begin() + 1, w.end());
    TEST_2(div_u, nonzero, [](u32 a, u32 b) { return a / b; });
    TEST_2(rem_u, nonzero, [](u32 a, u32 b) { return a % b; });
    TEST_2(div_s, nonzero,
           [](u32 a, u32 b) { return static_cast<u32>(static_cast<s64>(static_cast<s32>(a)) / static_cast<s32>(b)); });
    TEST_2(rem_s, nonzero,
           [](u32 a, u32 b) { return static_cast<u32>(static_cast<s64>(static_cast<s32>(a)) % static_cast<s32>(b)); });
    TEST_2(min_s, w, [](u32 a, u32 b) { return static_cast<s32>(a) < static_cast<s32>(b) ? a : b; });
    TEST_2(max_u, w, [](u32 a, u32 b) { return a > b ? a : b; });
    TEST_2(add_pairs, w, [](u32 a, u32 b) { return ((a + b) & 0xffff) | ((a >> 16) + (b >> 16)) << 16; });
    TEST_2(carry, w, [](u32 a, u32 b) { return (u64{a} << 32) + a + b; });
    TEST_2(borrow, w, [](u32 a, u32 b) { return (u64{a} << 32) + a - b; });
    TEST_3(mad_lo, w, [](u32 a, u32 b, u32 c) { return a * b + c; });
    TEST_3(mad_hi, w, [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} * b) >> 32) + c; });
    TEST_3(sad_s, w,
           [](u32 a, u32 b, u32 c) { return c + (static_cast<s32>(a) < static_cast<s32>(b) ? b - a : a - b); });
    TEST_3(dp4a_ss, w, [](u32 a, u32 b, u32 c) {
        for (int k = 0; k < 32; k += 8) {
            c += static_cast<u32>(static_cast<signed char>(a >> k) * static_cast<signed char>(b >> k));
        }
        return c;
    });
    TEST_3(dp4a_us, w, [](u32 a, u32 b, u32 c) {
        for (int k = 0; k < 32; k += 8) {
            c += static_cast<u32>(static_cast<unsigned char>(a >> k) * static_cast<signed char>(b >> k));
        }
        return c;
    });
}

void test_bits()
{
    const auto w = check::words();
    TEST_2(and_b, w, [](u32 a, u32 b) { return a & b; });
    TEST_2(or_b, w, [](u32 a, u32 b) { return a | b; });
    TEST_2(xor_b, w, [](u32 a, u32 b) { return a ^ b; });
    TEST_2(shl_b, w, [](u32 a, u32 b) { return b > 31 ? 0 : a << b; });
    TEST_2(shr_u, w, [](u32 a, u32 b) { return b > 31 ? 0 : a >> b; });
    TEST_2(shr_s, w, [](u32 a, u32 b) { return static_cast<u32>(static_cast<s32>(a) >> (b > 31 ? 31 : b)); });
    TEST_2(bmsk_clamp, w, [](u32 a, u32 b) {
        u32 r = 0;
        for (u64 k = a; k < u64{a} + b && k < 32; ++k) { r |= 1u << k; }
        return r;
    });
    TEST_2(bmsk_wrap, w, [](u32 a, u32 b) {
        u32 r = 0;
        for (u32 k = a & 31; k < (a & 31) + (b & 31) && k < 32; ++k) { r |= 1u << k; }
        return r;
    });
    TEST_3(lop3_e2, w, [](u32 a, u32 b, u32 c) { return (b & a) | (~b & c); });
    TEST_3(prmt_b, w, [](u32 a, u32 b, u32 c) {
        u32 r = 0;
        for (u32 k = 0; k < 4; ++k) {
            const u32 s = c >> (4 * k) & 15;
            r |= (s < 8 ? byte_of(a, b, s) : byte_of(a, b, s) > 127 ? 255 : 0) << (8 * k);
        }
        return r;
    });
    TEST_3(shf_l_wrap, w, [](u32 a, u32 b, u32 c) { return (c & 31) == 0 ? b : b << (c & 31) | a >> (32 - (c & 31)); });
    TEST_3(shf_r_clamp, w, [](u32 a, u32 b, u32 c) { return c >= 32 ? b : c == 0 ? a : a >> c | b << (32 - c); });
    TEST_3(bfe_u, w, [](u32 a, u32 b, u32 c) { return field(a, b, c, false); });
    TEST_3(bfe_s, w, [](u32 a, u32 b, u32 c) { return field(a, b, c, true); });
    TEST_3(bfi_b, w, [](u32 a, u32 b, u32 c) {
        for (u32 k = 0; k < 9 && (c & 255) + k < 32; ++k) {
            const u32 at = (c & 255) + k;
            b = (b & ~(1u << at)) | (a >> k & 1) << at;
        }
        return b;
    });
    TEST_1(popc_b, w, [](u32 a) { return static_cast<u32>(__builtin_popcount(a)); });
    TEST_1(clz_b, w, [](u32 a) { return a == 0 ? 32u : static_cast<u32>(__builtin_clz(a)); });
    TEST_1(brev_b, w, [](u32 a) {
        u32 r = 0;
        for (int k = 0; k < 32; ++k) { r = r << 1 | (a >> k & 1); }
        return r;
    });
    TEST_1(bfind_u, w, [](u32 a) { return a == 0 ? ~0u : 31 - static_cast<u32>(__builtin_clz(a)); });
    TEST_1(bfind_s, w, [](u32 a) {
        const u32 b = static_cast<s32>(a) < 0 ? ~a : a;
        return b == 0 ? ~0u : 31 - static_cast<u32>(__builtin_clz(b));
    });
    TEST_1(bfind_shift, w, [](u32 a) { return a == 0 ? ~0u : static_cast<u32>(__builtin_clz(a)); });
    TEST_1(not_b, w, [](u32 a) { return ~a; });
    TEST_1(cnot_b, w, [](u32 a) { return a == 0 ? 1u : 0u; });
    TEST_1(abs_s, w, [](u32 a) { return static_cast<s32>(a) < 0 ? 0 - a : a; });
    TEST_1(neg_s, w, [](u32 a) { return 0 - a; });
}

void test_other_widths()
{
    const auto l = check::long_words();
    using i128 = __int128;
    TEST_2(add_u64, l, [](u64 a, u64 b) { return a + b; });
    TEST_2(mul_lo_64, l, [](u64 a, u64 b) { return a * b; });
    TEST_2(mul_hi_u64, l, [](u64 a, u64 b) { return static_cast<u64>((static_cast<unsigned __int128>(a) * b) >> 64); });
    TEST_2(mul_hi_s64, l,
           [](u64 a, u64 b) { return static_cast<u64>((i128{static_cast<s64>(a)} * static_cast<s64>(b)) >> 64); });
    std::vector<u64> nonzero;
    for (u64 x : l) {
        if (x != 0) { nonzero.push_back(x); }
    }
    TEST_2(div_s64, nonzero,
           [](u64 a, u64 b) { return static_cast<u64>(i128{static_cast<s64>(a)} / static_cast<s64>(b)); });
    TEST_2(rem_u64, nonzero, [](u64 a, u64 b) { return a % b; });
    TEST_2(xor_64, l, [](u64 a, u64 b) { return a ^ b; });
    TEST_2(min_s64, l, [](u64 a, u64 b) { return static_cast<s64>(a) < static_cast<s64>(b) ? a : b; });
    TEST_1(popc_64, l, [](u64 a) { return static_cast<u32>(__builtin_popcountll(a)); });
    TEST_1(clz_64, l, [](u64 a) { return a == 0 ? 64u : static_cast<u32>(__builtin_clzll(a)); });
    std::vector<u16> h;
    for (u32 x : check::words()) { h.push_back(static_cast<u16>(x)); }
    TEST_2(add_s16, h, [](u16 a, u16 b) { return static_cast<u16>(a + b); });
    TEST_2(mul_lo_16, h, [](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); });
    TEST_2(mul_wide_s16, h,
           [](u16 a, u16 b) { return static_cast<u32>(static_cast<short>(a) * static_cast<short>(b)); });
    TEST_2(shr_s16, h, [](u16 a, u16 b) { return static_cast<u16>(static_cast<short>(a) >> (b > 15 ? 15 : b)); });
}

int main()
{
    test_arithmetic();
    test_bits();
    test_other_widths();
    CHECK(emulator_report_count() == 0);
    return check::result();
}
