// ldmatrix and mma.sync (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions"). Products are exact and summed
// in double precision, then rounded once to f32: at least as near as hardware, whose order of summation is not
// documented.
#include "../check/report.hpp"
#include "../check/tracker.hpp"
#include "../counters/requests.hpp"
#include "../numeric/canonical.hpp"
#include "../numeric/small_float.hpp"
#include "../schedule/settings.hpp"
#include "barriers.hpp"
#include "lanewise.hpp"
#include "modifiers.hpp"

#include <cstring>

namespace emulator {
namespace {

using u32 = std::uint32_t;

bool whole_warp(const context& c, const instruction& i)
{
    if (c.mask == c.w->started && c.mask == ~0u) { return true; }
    make_report(c, i, static_cast<unsigned>(std::countr_zero(c.mask)), rule::inactive_lane,
                "a matrix instruction without all lanes of the warp");
    throw kernel_fault{719};
}

// Lanes 8m to 8m+7 hold the addresses of matrix m's rows. Lane l gets elements 2(l % 4) and 2(l % 4) + 1 of row l / 4;
// transposed, of column l / 4.
void ldmatrix(context& c, const instruction& i)
{
    whole_warp(c, i);
    const unsigned n = i.elements;
    std::uint16_t rows[4][8][8];
    request r;
    r.lanes = n == 4 ? ~0u : (1u << 8 * n) - 1;
    r.bytes = 16;
    for_lanes(r.lanes, [&](unsigned l) { r.address[l] = lane_address(c, i, n, l); });
    if (settings().count) { count_request(c, i, r); }
    for_lanes(r.lanes, [&](unsigned l) {
        const place p = locate(c, i, l, r.address[l], 16, access_kind::load);
        check_written(c, i, l, p, 16);
        std::memcpy(rows[l / 8][l % 8], p.bytes, 16);
        if (settings().check_races) {
            ordered_load(c, i, l, p, 4, 4, reinterpret_cast<std::uint8_t*>(rows[l / 8][l % 8]));
        }
    });
    for (unsigned m = 0; m < n; ++m) {
        for_lanes(~0u, [&](unsigned l) {
            const unsigned row = l / 4;
            const unsigned column = 2 * (l % 4);
            const u32 low = i.variant != 0 ? rows[m][column][row] : rows[m][row][column];
            const u32 high = i.variant != 0 ? rows[m][column + 1][row] : rows[m][row][column + 1];
            write_bits(c, i.args[m], l, low | high << 16);
        });
    }
}

void bind_ldmatrix(binding& b)
{
    if (!b.has("sync") || !b.has("aligned") || !b.has("m8n8")) { b.refuse(".sync.aligned.m8n8 expected"); }
    const int n = b.one_of({"x1", "x2", "x4"});
    if (n < 0) { b.refuse("x1, x2 or x4 expected"); }
    b.out.variant = b.has("trans") ? 1 : 0;
    b.out.space = take_access_space(b);
    b.take_type({type::b16});
    b.expect_operands(2);
    b.out.elements = static_cast<std::uint8_t>(1 << n);
    b.out.kind = instruction_class::matrix;
    const auto& parts = b.syntax(0).parts;
    if (parts.size() != b.out.elements) { b.refuse("the vector has not the number of matrices given"); }
    for (const ptx::operand& o : parts) { b.destination(o, type::b32); }
    b.address(b.syntax(1));
    b.out.execute = &ldmatrix;
}

enum element : std::uint8_t { f16, bf16, tf32 };

double decode(element e, u32 bits)
{
    if (e == f16) { return half_to_float(static_cast<std::uint16_t>(bits)); }
    if (e == bf16) { return bfloat_to_float(static_cast<std::uint16_t>(bits)); }
    return std::bit_cast<float>(bits & ~0x1fffu);  // 13 bits of an f32 take no part
}

/// Element n of what a lane holds: one of a register for tf32, else two.
u32 held(const context& c, const instruction& i, unsigned first, unsigned lane, unsigned n, element e)
{
    if (e == tf32) { return static_cast<u32>(read_bits(c, i.args[first + n], lane)); }
    return static_cast<u32>(read_bits(c, i.args[first + n / 2], lane)) >> (16 * (n % 2)) & 0xffff;
}

// Fragments of m16n8kK (PTX ISA, "Matrix Fragments for mma"). With g = lane / 4 and t = lane % 4, a lane holds of A the
// rows g and g + 8, of B the column g, of C and D the rows g and g + 8 and the columns 2t and 2t + 1. Along k it holds,
// for 16-bit elements, 2t, 2t + 1 (and the same plus 8 for k = 16); for tf32, t and t + 4.
struct fragments {
    double a[16][16] = {};
    double b[16][8] = {};

    fragments(const context& c, const instruction& i, unsigned depth, element e, unsigned first_a, unsigned first_b)
    {
        const unsigned per_step = e == tf32 ? 1 : 2;
        const unsigned steps = depth / (4 * per_step);
        for (unsigned lane = 0; lane < n_lanes; ++lane) {
            const unsigned g = lane / 4;
            const unsigned t = lane % 4;
            for (unsigned s = 0; s < steps; ++s) {
                for (unsigned k = 0; k < per_step; ++k) {
                    const unsigned column = s * 4 * per_step + t * per_step + k;
                    // Registers of A: rows g, g + 8 of the first columns, then of the next ones.
                    a[g][column] = decode(e, held(c, i, first_a, lane, (2 * s) * per_step + k, e));
                    a[g + 8][column] = decode(e, held(c, i, first_a, lane, (2 * s + 1) * per_step + k, e));
                    b[column][g] = decode(e, held(c, i, first_b, lane, s * per_step + k, e));
                }
            }
        }
    }
};

float dot(const fragments& f, unsigned depth, unsigned row, unsigned column, float c)
{
    double sum = 0;
    for (unsigned k = 0; k < depth; ++k) { sum += f.a[row][k] * f.b[k][column]; }
    return result<float, false, false>(static_cast<float>(sum + static_cast<double>(c)));
}

// Arguments: D, A, B, C. variant: element; variant2: depth; elements: registers of C and D (4: f32, 2: pairs of f16).
void mma(context& c, const instruction& i)
{
    whole_warp(c, i);
    const auto e = static_cast<element>(i.variant);
    const unsigned depth = i.variant2;
    const unsigned n_a = e == tf32 ? depth / 2 : depth / 4;
    const unsigned n_b = n_a / 2;
    const unsigned n_c = i.elements;
    const unsigned first_c = n_c + n_a + n_b;
    const fragments f(c, i, depth, e, n_c, n_c + n_a);
    float d[n_lanes][4];
    for (unsigned lane = 0; lane < n_lanes; ++lane) {
        for (unsigned k = 0; k < 4; ++k) {
            const unsigned row = lane / 4 + (k >= 2 ? 8 : 0);
            const unsigned column = 2 * (lane % 4) + k % 2;
            float before = 0;
            if (n_c == 4) {
                before = std::bit_cast<float>(static_cast<u32>(read_bits(c, i.args[first_c + k], lane)));
            } else {
                before = half_to_float(
                    static_cast<std::uint16_t>(read_bits(c, i.args[first_c + k / 2], lane) >> (16 * (k % 2))));
            }
            d[lane][k] = dot(f, depth, row, column, before);
        }
    }
    for (unsigned lane = 0; lane < n_lanes; ++lane) {
        for (unsigned k = 0; k < 4; ++k) {
            if (n_c == 4) {
                write_bits(c, i.args[k], lane, std::bit_cast<u32>(d[lane][k]));
            } else if (k % 2 == 0) {
                write_bits(c, i.args[k / 2], lane,
                           u32{float_to_half(d[lane][k])} | u32{float_to_half(d[lane][k + 1])} << 16);
            }
        }
    }
}

void bind_mma(binding& b)
{
    if (!b.has("sync") || !b.has("aligned")) { b.refuse(".sync.aligned expected"); }
    const int shape = b.one_of({"m16n8k4", "m16n8k8", "m16n8k16"});
    if (shape < 0 || !b.has("row") || !b.has("col")) { b.refuse("this shape is not implemented"); }
    const type td = b.take_type();
    const type ta = b.take_type({type::f16, type::bf16, type::tf32});
    const type tb = b.take_type();
    const type tc = b.take_type();
    const unsigned depth = shape == 0 ? 4 : shape == 1 ? 8 : 16;
    const bool half_sum = td == type::f16 && ta == type::f16;
    if (ta != tb || td != tc || (td != type::f32 && !half_sum)) { b.refuse("not implemented for these types"); }
    if ((ta == type::tf32) ? depth == 16 : depth == 4) { b.refuse("not implemented for this shape and type"); }
    b.expect_operands(4);
    b.out.variant = ta == type::f16 ? f16 : ta == type::bf16 ? bf16 : tf32;
    b.out.variant2 = static_cast<std::uint8_t>(depth);
    b.out.elements = half_sum ? 2 : 4;
    b.out.kind = instruction_class::matrix;
    const unsigned n_a = ta == type::tf32 ? depth / 2 : depth / 4;
    const std::size_t sizes[4] = {b.out.elements, n_a, n_a / 2, b.out.elements};
    for (unsigned k = 0; k < 4; ++k) {
        const auto parts =
            b.syntax(k).form == ptx::operand_form::vector ? b.syntax(k).parts : std::vector<ptx::operand>{b.syntax(k)};
        if (parts.size() != sizes[k]) { b.refuse("an operand has not the number of registers of its fragment"); }
        for (const ptx::operand& o : parts) { k == 0 ? b.destination(o, type::b32) : b.source(o, type::b32); }
    }
    b.out.execute = &mma;
}

}  // namespace

extern const opcode_entry matrix_opcodes[] = {{"ldmatrix", bind_ldmatrix}, {"mma", bind_mma}, {{}, nullptr}};

}  // namespace emulator
