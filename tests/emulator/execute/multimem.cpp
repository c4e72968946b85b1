// multimem (PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red"): accesses to the memory of all members of a
// multicast object. A load is a load of each, whose values are combined in an order that nobody promises.
#include "../check/tracker.hpp"
#include "../counters/requests.hpp"
#include "../numeric/canonical.hpp"
#include "../numeric/small_float.hpp"
#include "../schedule/progress.hpp"
#include "../schedule/random.hpp"
#include "../schedule/settings.hpp"
#include "atomic.hpp"
#include "lanewise.hpp"
#include "modifiers.hpp"

#include <cstring>

namespace emulator {
namespace {

constexpr std::uint8_t in_f32 = 1;  // variant2: .acc::f32

request gather(const context& c, const instruction& i, unsigned arg, bool is_store, bool is_atomic)
{
    request r;
    r.lanes = c.mask;
    r.bytes = size_of(i.type) * i.elements;
    r.is_store = is_store;
    r.is_atomic = is_atomic;
    for_lanes(c.mask, [&](unsigned l) { r.address[l] = lane_address(c, i, arg, l); });
    return r;
}

/// The members' places in an order that the seed chooses.
std::vector<place> shuffled_places(context& c, const instruction& i, unsigned lane, const request& r, access_kind kind)
{
    std::vector<place> all = locate_multicast(c, i, lane, r.address[lane], r.bytes, kind);
    for (std::size_t k = all.size(); k > 1; --k) {
        std::swap(all[k - 1], all[random_choices().below(static_cast<std::uint32_t>(k))]);
    }
    return all;
}

std::uint64_t element(const std::vector<std::uint8_t>& bytes, unsigned k, unsigned size)
{
    std::uint64_t x = 0;
    std::memcpy(&x, bytes.data() + k * size, size);
    return x;
}

/// The sum of 16-bit numbers in f32, rounded once.
std::uint64_t sum_of_halves(const std::vector<std::vector<std::uint8_t>>& all, unsigned k, unsigned size, bool bfloat)
{
    std::uint64_t made = 0;
    for (unsigned part = 0; part < size / 2; ++part) {
        float sum = 0;
        for (std::size_t m = 0; m < all.size(); ++m) {
            const auto bits = static_cast<std::uint16_t>(element(all[m], k, size) >> 16 * part);
            const float x = bfloat ? bfloat_to_float(bits) : half_to_float(bits);
            sum = m == 0 ? x : result<float, false, false>(sum + x);
        }
        made |= std::uint64_t{bfloat ? float_to_bfloat(sum) : float_to_half(sum)} << 16 * part;
    }
    return made;
}

// Arguments: destinations, address.
void load_reduce(context& c, const instruction& i)
{
    const unsigned n = i.elements;
    const unsigned size = size_of(i.type);
    const request r = gather(c, i, n, false, false);
    note_load(*c.w, i, r.address[static_cast<unsigned>(std::countr_zero(c.mask))]);
    if (settings().count) { count_request(c, i, r); }
    for_lanes(c.mask, [&](unsigned l) {
        std::vector<std::vector<std::uint8_t>> all;
        for (const place& p : shuffled_places(c, i, l, r, access_kind::load)) {
            check_written(c, i, l, p, r.bytes);
            std::vector<std::uint8_t> kept(p.bytes, p.bytes + r.bytes);
            if (settings().check_races) { ordered_load(c, i, l, p, size, n, kept.data()); }
            all.push_back(std::move(kept));
        }
        for (unsigned k = 0; k < n; ++k) {
            std::uint64_t made = element(all[0], k, size);
            if (i.variant2 == in_f32) {
                made = sum_of_halves(all, k, size, i.type == type::bf16 || i.type == type::bf16x2);
            } else {
                for (std::size_t m = 1; m < all.size(); ++m) { made = updated(i, made, element(all[m], k, size), 0); }
            }
            write_bits(c, i.args[k], l, made);
        }
    });
}

// Arguments: address, values.
void store(context& c, const instruction& i)
{
    const unsigned n = i.elements;
    const unsigned size = size_of(i.type);
    const request r = gather(c, i, 0, true, false);
    if (settings().count) { count_request(c, i, r); }
    bool changes = false;
    for_lanes(c.mask, [&](unsigned l) {
        std::uint8_t made[16];
        for (unsigned k = 0; k < n; ++k) {
            const std::uint64_t bits = read_bits(c, i.args[1 + k], l);
            std::memcpy(made + size * k, &bits, size);
        }
        for (const place& p : shuffled_places(c, i, l, r, access_kind::store)) {
            changes |= std::memcmp(p.bytes, made, r.bytes) != 0;
            if (settings().check_races) {
                ordered_store(c, i, l, p, size, n, made);
            } else {
                std::memcpy(p.bytes, made, r.bytes);
            }
            mark_written(c, l, p, r.bytes);
        }
    });
    if (changes) { note_progress(); }
}

// Arguments: address, values. To each member it is a `red`.
void reduce(context& c, const instruction& i)
{
    const unsigned n = i.elements;
    const unsigned size = size_of(i.type);
    const request r = gather(c, i, 0, false, true);
    if (settings().count) { count_request(c, i, r); }
    for_lanes(c.mask, [&](unsigned l) {
        for (const place& whole : shuffled_places(c, i, l, r, access_kind::atomic)) {
            check_written(c, i, l, whole, r.bytes);
            for (unsigned k = 0; k < n; ++k) {
                place p = whole;
                p.bytes += size * k;
                p.offset += size * k;
                if (settings().check_races) { before_atomic(c, i, l, p, size); }
                std::uint64_t old = 0;
                std::memcpy(&old, p.bytes, size);
                const std::uint64_t made = updated(i, old, read_bits(c, i.args[1 + k], l), 0);
                std::memcpy(p.bytes, &made, size);
                if (made != old) { note_progress(); }
                if (settings().check_races) {
                    after_atomic(c, i, l, p, size, reinterpret_cast<const std::uint8_t*>(&old), true);
                }
            }
            mark_written(c, l, whole, r.bytes);
        }
    });
}

bool is_half(type t) { return t == type::f16 || t == type::bf16 || is_packed(t); }

/// Vectors that ptxas takes for sm_90: of f32 and of 16-bit numbers, up to 16 bytes; these are never alone.
bool is_vector_allowed(type t, unsigned n)
{
    if (t == type::f16 || t == type::bf16) { return n >= 2 && n <= 8; }
    return n == 1 || ((t == type::f32 || is_packed(t)) && n <= 4);
}
bool is_allowed(int op, type t)
{
    if (t == type::f32 || t == type::f64 || is_half(t)) { return op == op_add; }
    if (t == type::b32 || t == type::b64) { return op >= op_and; }
    return (t == type::u32 || t == type::s32 || t == type::u64 || t == type::s64) && op <= op_max;
}

void bind_multimem(binding& b)
{
    instruction& out = b.out;
    const int what = b.one_of({"ld_reduce", "st", "red"});
    if (what < 0) { b.refuse("ld_reduce, st or red expected"); }
    out.space = take_access_space(b);
    if (out.space != space::global && out.space != space::generic) { b.refuse("global memory expected"); }
    take_order(b, out);
    if (what == 2 && out.order == ordering::weak) {
        out.order = ordering::relaxed;
        if (out.scope == scope::none) { out.scope = scope::device; }
    }
    constexpr std::uint8_t operations[] = {op_add, op_min, op_max, op_and, op_or, op_xor};
    const int op = what == 1 ? 0 : b.one_of({"add", "min", "max", "and", "or", "xor"});
    if (op < 0) { b.refuse("an operation expected"); }
    out.variant = operations[op];
    const bool acc = b.has("acc::f32");
    const int vector = b.one_of({"v2", "v4", "v8"});
    const type t = b.take_type();
    out.type = t;
    out.elements = static_cast<std::uint8_t>(vector < 0 ? 1 : 2 << vector);
    if (acc && (what != 0 || !is_half(t))) { b.refuse(".acc::f32 is of loads of 16-bit numbers"); }
    out.variant2 = acc ? in_f32 : 0;
    const bool is_stored = what == 1 && (t == type::b32 || t == type::b64);
    if (!is_stored && !is_allowed(out.variant, t)) { b.refuse("not implemented for this type"); }
    if (!is_vector_allowed(t, out.elements)) { b.refuse("no vector of this type has so many elements"); }
    out.kind = instruction_class::multicast;
    const type storage = is_packed(t) ? type::b32 : t == type::f16 || t == type::bf16 ? type::b16 : t;
    b.expect_operands(2);
    const ptx::operand& values = b.syntax(what == 0 ? 0 : 1);
    const auto parts = vector < 0 ? std::vector<ptx::operand>{values} : values.parts;
    if (parts.size() != out.elements) { b.refuse("the vector has not the number of elements given"); }
    if (what == 0) {
        for (const ptx::operand& o : parts) { b.destination(o, storage); }
        b.address(b.syntax(1));
    } else {
        b.address(b.syntax(0));
        for (const ptx::operand& o : parts) { b.source(o, storage); }
    }
    out.execute = what == 0 ? &load_reduce : what == 1 ? &store : &reduce;
}

}  // namespace

extern const opcode_entry multimem_opcodes[] = {
    {"multimem", bind_multimem},
    {{}, nullptr},
};

}  // namespace emulator
