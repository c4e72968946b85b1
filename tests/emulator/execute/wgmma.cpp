// wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"): products of f16 and bf16 in
// f32, both operands in shared memory without swizzling. Each warp computes the rows of D that it holds. Sums are made
// as those of mma.sync. Stricter than the text: wgmma.fence is asked for after every wait, whether or not registers were
// accessed in between. Not found: accumulators that are accessed between fence and mma_async; a writer's proxy fence that
// comes after the barrier by which the reader knows of it; an unfenced store next to a later fenced one in the same 16 bytes.
#include "wgmma.hpp"

#include "../check/report.hpp"
#include "../check/tracker.hpp"
#include "../error.hpp"
#include "../numeric/canonical.hpp"
#include "../numeric/small_float.hpp"
#include "../schedule/progress.hpp"
#include "../schedule/settings.hpp"
#include "lanewise.hpp"
#include "matrix_descriptor.hpp"

#include <cstring>

namespace emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr unsigned depth = product_depth;
constexpr unsigned warp_rows = 16;

enum flag : std::uint8_t { transposed_a = 1, transposed_b = 2, negated_a = 4, negated_b = 8, is_bfloat = 16 };

[[noreturn]] void fail(context& c, const instruction& i, const std::string& text)
{
    make_report(c, i, static_cast<unsigned>(std::countr_zero(c.mask)), rule::invalid, text);
    throw kernel_fault{719};
}

void whole_warp(context& c, const instruction& i)
{
    if (c.mask == ~0u && c.w->started == ~0u && c.b->warps.size() / 4 > c.w->number / 4) { return; }
    make_report(c, i, static_cast<unsigned>(std::countr_zero(c.mask)), rule::inactive_lane,
                "a warpgroup's instruction without all threads of four warps");
    throw kernel_fault{719};
}

u64 same_in_all_lanes(context& c, const instruction& i, unsigned argument)
{
    const u64 first = read_bits(c, i.args[argument], 0);
    for (unsigned l = 1; l < n_lanes; ++l) {
        if (read_bits(c, i.args[argument], l) != first) { fail(c, i, "lanes of a warp give different descriptors"); }
    }
    return first;
}

// What ordinary stores wrote is seen by the async proxy after a fence.proxy.async ("Async Proxy"): of the thread that
// wrote, or of all the warp that reads.
void check_proxy(context& c, const instruction& i, unsigned lane, const place& p)
{
    const block& b = *c.b;
    if (b.generic_writes.empty()) { return; }
    const generic_write w = b.generic_writes[p.offset / core_row];
    if (w.when == 0) { return; }
    if (!b.proxy_fences.empty()) {
        if (b.proxy_fences[w.thread] > w.when) { return; }
        bool by_reader = true;
        for (unsigned l = 0; l < n_lanes; ++l) { by_reader &= b.proxy_fences[c.w->number * n_lanes + l] > w.when; }
        if (by_reader) { return; }
    }
    make_report(c, i, lane, rule::race,
                "wgmma reads shared memory that was written without fence.proxy.async afterwards, " +
                    std::to_string(p.offset) + " bytes into shared memory");
}

/// The operands' bytes, A's then B's; the warp's lanes take turns to read.
std::vector<std::uint8_t> read_operands(context& c, const pending_product& p, bool when_issued)
{
    const instruction& i = *p.what;
    for (const u64 bits : {p.a, p.b}) {
        if (const char* fault = matrix_descriptor::fault_of(bits)) { fail(c, i, fault); }
    }
    const matrix_descriptor a(p.a);
    const matrix_descriptor b(p.b);
    std::vector<std::uint8_t> all;
    unsigned lane = 0;
    const auto read = [&](u64 address) {
        const unsigned l = lane++ % n_lanes;
        const place where = locate(c, i, l, address, core_row, access_kind::load);
        check_written(c, i, l, where, core_row);
        if (when_issued) { check_proxy(c, i, l, where); }
        std::uint8_t bytes[core_row];
        std::memcpy(bytes, where.bytes, core_row);
        if (settings().check_races) { ordered_load(c, i, l, where, 4, 4, bytes); }
        all.insert(all.end(), bytes, bytes + core_row);
    };
    const auto read_rows = [&](const matrix_descriptor& d, bool transposed, unsigned first, unsigned n) {
        for_core_rows(transposed, first, n,
                      [&](unsigned r, unsigned k) { read(transposed ? d.along_rows(r / 8, k) : d.along_k(r, k / 8)); });
    };
    read_rows(a, (i.variant & transposed_a) != 0, c.w->number % 4 * warp_rows, warp_rows);
    read_rows(b, (i.variant & transposed_b) != 0, 0, 8u * i.variant2);
    return all;
}

struct operands {
    double a[warp_rows][depth];
    double b[256][depth];

    operands(const instruction& i, const std::vector<std::uint8_t>& bytes)
    {
        const std::uint8_t* at = bytes.data();
        const auto unpack = [&](auto& to, unsigned n, bool transposed, bool negated) {
            for_core_rows(transposed, 0, n, [&](unsigned row, unsigned k) {
                for (unsigned e = 0; e < 8; ++e, at += 2) {
                    std::uint16_t bits = 0;
                    std::memcpy(&bits, at, 2);
                    const double x = (i.variant & is_bfloat) != 0 ? bfloat_to_float(bits) : half_to_float(bits);
                    (transposed ? to[row + e][k] : to[row][k + e]) = negated ? -x : x;
                }
            });
        };
        unpack(a, warp_rows, (i.variant & transposed_a) != 0, (i.variant & negated_a) != 0);
        unpack(b, 8u * i.variant2, (i.variant & transposed_b) != 0, (i.variant & negated_b) != 0);
    }
};

// "Register Fragments": register d of D in a lane is row lane / 4, plus 8 for every other pair, of the warp's 16, and
// column 8 (d / 4) + 2 (lane % 4) + d % 2.
void land(context& c, const pending_product& p)
{
    const instruction& i = *p.what;
    if (c.f != p.in) { throw unsupported("wgmma.wait_group in another function than wgmma.mma_async"); }
    const auto bytes = read_operands(c, p, false);
    if (bytes != p.read) {
        make_report(c, i, 0, rule::race, "an operand in shared memory changed before wgmma.wait_group");
    }
    const auto o = std::make_unique<operands>(i, bytes);
    for (unsigned lane = 0; lane < n_lanes; ++lane) {
        for (unsigned d = 0; d < 4u * i.variant2; ++d) {
            const unsigned row = lane / 4 + d / 2 % 2 * 8;
            const unsigned column = d / 4 * 8 + lane % 4 * 2 + d % 2;
            double sum = 0;
            for (unsigned k = 0; k < depth; ++k) { sum += o->a[row][k] * o->b[column][k]; }
            if (p.accumulates) {
                sum += static_cast<double>(std::bit_cast<float>(static_cast<u32>(read_bits(c, i.args[d], lane))));
            }
            write_bits(c, i.args[d], lane,
                       std::bit_cast<u32>(result<float, false, false>(static_cast<float>(sum))));
        }
    }
    note_progress();
}

/// Whether the other warps of the warpgroup have issued the same, as far as they have come.
void check_warpgroup(context& c, const pending_product& p)
{
    auto& groups = c.b->products;
    if (groups.empty()) { groups.resize(c.b->warps.size() / 4); }
    auto& all = groups[c.w->number / 4];
    const u64 n = c.w->products.issued++;
    if (n == all.size()) { return all.push_back({p.what, p.a, p.b, p.accumulates}); }
    if (all[n].what != p.what || all[n].a != p.a || all[n].b != p.b || all[n].accumulates != p.accumulates) {
        fail(c, *p.what, "the warps of a warpgroup execute different wgmma.mma_async, or with different operands");
    }
}

// Arguments: registers of D, descriptors of A and B, whether D is added. variant: flags; variant2: columns / 8.
void issue(context& c, const instruction& i)
{
    whole_warp(c, i);
    warp_products& w = c.w->products;
    if (!w.fenced) {
        make_report(c, i, 0, rule::invalid, "wgmma.mma_async without wgmma.fence after its registers were accessed");
    }
    const unsigned n = 4u * i.variant2;
    pending_product p;
    p.what = &i;
    p.in = c.f;
    p.a = same_in_all_lanes(c, i, n);
    p.b = same_in_all_lanes(c, i, n + 1);
    const u32 scale = read_predicate(c, i.args[n + 2]);
    if (scale != 0 && scale != ~0u) { fail(c, i, "lanes of a warp give different scale-d"); }
    p.accumulates = scale != 0;
    p.group = w.next_group;
    check_warpgroup(c, p);
    for (const pending_product& before : w.pending) {
        if (before.in != c.f) { continue; }
        for (unsigned d = 0; d < n; ++d) {
            for (unsigned e = 0; e < 4u * before.what->variant2; ++e) {
                if (i.args[d].offset == before.what->args[e].offset && (d != e || i.variant2 != before.what->variant2)) {
                    fail(c, i, "an accumulator of a wgmma under way, of another shape or in another place");
                }
            }
        }
    }
    p.read = read_operands(c, p, true);
    w.pending.push_back(std::move(p));
}

void fence(context& c, const instruction& i)
{
    whole_warp(c, i);
    c.w->products.fenced = true;
}

void commit(context& c, const instruction& i)
{
    whole_warp(c, i);
    ++c.w->products.next_group;
}

/// All but the newest `immediate` groups are over afterwards.
void wait(context& c, const instruction& i)
{
    whole_warp(c, i);
    warp_products& w = c.w->products;
    while (!w.pending.empty() && w.pending.front().group + static_cast<unsigned>(i.immediate) < w.next_group) {
        land(c, w.pending.front());
        w.pending.erase(w.pending.begin());
    }
    w.fenced = false;
}

void bind_product(binding& b)
{
    for (unsigned n = 8; n <= 256 && b.out.variant2 == 0; n += 8) {
        if (b.has("m64n" + std::to_string(n) + "k16")) { b.out.variant2 = static_cast<std::uint8_t>(n / 8); }
    }
    if (b.out.variant2 == 0) { b.refuse("this shape is not implemented"); }
    b.take_type({type::f32});
    const type ta = b.take_type({type::f16, type::bf16});
    if (b.take_type() != ta) { b.refuse("not implemented for these types"); }
    b.expect_operands(8);
    const auto& d = b.syntax(0).parts;
    if (b.syntax(0).form != ptx::operand_form::vector || d.size() != 4u * b.out.variant2) {
        b.refuse("an operand has not the number of registers of its fragment");
    }
    if (b.syntax(1).form == ptx::operand_form::vector) { b.refuse("A in registers is not implemented"); }
    for (const ptx::operand& o : d) { b.destination(o, type::b32); }
    b.source(1, type::b64);
    b.source(2, type::b64);
    b.predicate(b.syntax(3));
    std::uint8_t flags = ta == type::bf16 ? is_bfloat : 0;
    for (unsigned k = 0; k < 2; ++k) {
        const std::int64_t scale = b.integer(4 + k);
        const std::int64_t transposed = b.integer(6 + k);
        if ((scale != 1 && scale != -1) || transposed < 0 || transposed > 1) { b.refuse("an immediate out of range"); }
        if (scale < 0) { flags |= k == 0 ? negated_a : negated_b; }
        if (transposed != 0) { flags |= k == 0 ? transposed_a : transposed_b; }
    }
    b.out.variant = flags;
    b.out.space = space::shared;
    b.out.execute = &issue;
}

void bind_wgmma(binding& b)
{
    if (!b.has("sync") || !b.has("aligned")) { b.refuse(".sync.aligned expected"); }
    b.out.kind = instruction_class::warpgroup;
    if (b.has("mma_async")) { return bind_product(b); }
    if (b.has("wait_group")) {
        b.expect_operands(1);
        b.out.immediate = b.integer(0);
        b.out.execute = &wait;
        return;
    }
    b.expect_operands(0);
    if (b.has("fence")) { b.out.execute = &fence; }
    else if (b.has("commit_group")) { b.out.execute = &commit; }
}

}  // namespace

void check_accumulators(context& c, const instruction& i)
{
    if (i.kind == instruction_class::warpgroup) { return; }
    for (const pending_product& p : c.w->products.pending) {
        if (p.in != c.f) { continue; }
        for (unsigned k = 0; k < i.n_args; ++k) {
            if (i.args[k].bank != bank::registers || i.args[k].absent) { continue; }
            for (unsigned d = 0; d < 4u * p.what->variant2; ++d) {
                if (i.args[k].offset != p.what->args[d].offset) { continue; }
                make_report(c, i, static_cast<unsigned>(std::countr_zero(c.mask)), rule::race,
                            "an accumulator of wgmma.mma_async is accessed before wgmma.wait_group");
                return;
            }
        }
    }
}

void check_products_at_end(context& c, const instruction& i)
{
    if (c.w->products.pending.empty()) { return; }
    make_report(c, i, static_cast<unsigned>(std::countr_zero(c.mask)), rule::invalid, "a warp ends before wgmma.wait_group of all its products");
    c.w->products.pending.clear();
}

extern const opcode_entry wgmma_opcodes[] = {{"wgmma", bind_wgmma}, {{}, nullptr}};

}  // namespace emulator
