// atom and red (PTX ISA, "Parallel Synchronization and Communication Instructions"). Lanes go one after another.
#include "../check/tracker.hpp"
#include "../counters/requests.hpp"
#include "../numeric/canonical.hpp"
#include "../numeric/small_float.hpp"
#include "../schedule/progress.hpp"
#include "../schedule/settings.hpp"
#include "atomic.hpp"
#include "lanewise.hpp"
#include "modifiers.hpp"

#include <algorithm>
#include <cstring>

namespace emulator {
namespace {

using operation = atomic_operation;

template <class T>
T update_integer(operation op, T old, T b, T c)
{
    using u = std::make_unsigned_t<T>;
    switch (op) {
    case op_add: return static_cast<T>(static_cast<u>(old) + static_cast<u>(b));
    case op_min: return std::min(old, b);
    case op_max: return std::max(old, b);
    case op_inc: return old >= b ? T{0} : static_cast<T>(old + 1);
    case op_dec: return old == 0 || old > b ? b : static_cast<T>(old - 1);
    case op_exch: return b;
    case op_cas: return old == b ? c : old;
    case op_and: return static_cast<T>(old & b);
    case op_or: return static_cast<T>(old | b);
    case op_xor: return static_cast<T>(old ^ b);
    }
    return old;
}

std::uint16_t add_half(std::uint16_t a, std::uint16_t b, bool bfloat)
{
    if (bfloat) {
        const double sum = fma_to_odd(bfloat_to_float(a), 1.0, bfloat_to_float(b));
        return static_cast<std::uint16_t>(bf16_format::encode(sum, rounding::nearest_even));
    }
    return static_cast<std::uint16_t>(
        f16_format::encode(double{half_to_float(a)} + half_to_float(b), rounding::nearest_even));
}

/// min and max of floats, as in red and atom with vectors on sm_90.
template <class T>
T extremum(operation op, T a, T b)
{
    if (a != a) { return b; }
    if (b != b) { return a; }
    return (op == op_min) == (a < b) ? a : b;
}

}  // namespace

std::uint64_t updated(const instruction& i, std::uint64_t old, std::uint64_t b, std::uint64_t c)
{
    const auto op = static_cast<operation>(i.variant);
    const auto u16 = [](std::uint64_t x) { return static_cast<std::uint16_t>(x); };
    switch (i.type) {
    case type::b16: return update_integer(op, u16(old), u16(b), u16(c));
    case type::u32:
    case type::b32:
        return update_integer(op, static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(b),
                              static_cast<std::uint32_t>(c));
    case type::s32:
        return static_cast<std::uint32_t>(update_integer(op, static_cast<std::int32_t>(old),
                                                         static_cast<std::int32_t>(b), static_cast<std::int32_t>(c)));
    case type::u64:
    case type::b64: return update_integer(op, old, b, c);
    case type::s64:
        return static_cast<std::uint64_t>(update_integer(op, static_cast<std::int64_t>(old),
                                                         static_cast<std::int64_t>(b), static_cast<std::int64_t>(c)));
    case type::f32: {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(old));
        const auto y = std::bit_cast<float>(static_cast<std::uint32_t>(b));
        return std::bit_cast<std::uint32_t>(op == op_add ? result<float, false, false>(x + y) : extremum(op, x, y));
    }
    case type::f64: {
        const auto x = std::bit_cast<double>(old);
        const auto y = std::bit_cast<double>(b);
        return std::bit_cast<std::uint64_t>(op == op_add ? result<double, false, false>(x + y) : extremum(op, x, y));
    }
    case type::f16:
    case type::bf16: return add_half(u16(old), u16(b), i.type == type::bf16);
    default: {
        const bool bfloat = i.type == type::bf16x2;
        return add_half(u16(old), u16(b), bfloat) | std::uint64_t{add_half(u16(old >> 16), u16(b >> 16), bfloat)} << 16;
    }
    }
}

namespace {

bool uses_third(const instruction& i) { return i.variant == op_cas; }

// Arguments: destinations (elements of them), address, values (elements), and the third operand of cas.
void atom(context& c, const instruction& i)
{
    const unsigned n = i.elements;
    const unsigned size = size_of(i.type);
    request r;
    r.lanes = c.mask;
    r.bytes = size * n;
    r.is_atomic = true;
    for_lanes(c.mask, [&](unsigned l) { r.address[l] = lane_address(c, i, n, l); });
    if (settings().count) { count_request(c, i, r); }
    for_lanes(c.mask, [&](unsigned l) {
        const place whole = locate(c, i, l, r.address[l], size * n, access_kind::atomic);
        check_written(c, i, l, whole, size * n);
        for (unsigned k = 0; k < n; ++k) {
            place p = whole;
            p.bytes += size * k;
            p.offset += size * k;
            if (settings().check_races) { before_atomic(c, i, l, p, size); }
            std::uint64_t old = 0;
            std::memcpy(&old, p.bytes, size);
            const std::uint64_t third = uses_third(i) ? read_bits(c, i.args[2 * n + 1], l) : 0;
            const std::uint64_t made = updated(i, old, read_bits(c, i.args[n + 1 + k], l), third);
            const bool stores = !(uses_third(i) && old != (read_bits(c, i.args[n + 1], l) &
                                                           (size == 8 ? ~0ull : (1ull << 8 * size) - 1)));
            std::memcpy(p.bytes, &made, size);
            made != old ? note_progress() : note_load(*c.w, i, r.address[l]);
            if (settings().check_races) {
                after_atomic(c, i, l, p, size, reinterpret_cast<const std::uint8_t*>(&old), stores);
            }
            write_bits(c, i.args[k], l, old);
        }
        mark_written(c, l, whole, size * n);
    });
}

bool allowed(operation op, type t)
{
    switch (t) {
    case type::b16: return op == op_cas || op == op_exch;
    case type::b32:
    case type::b64: return op >= op_exch;
    case type::u32: return op <= op_dec || op == op_exch;
    case type::u64: return op <= op_max || op == op_exch;
    case type::s32:
    case type::s64: return op <= op_max;
    case type::f32:
    case type::f64: return op == op_add;
    case type::f16:
    case type::bf16:
    case type::f16x2:
    case type::bf16x2: return op == op_add;
    default: return false;
    }
}

void bind_atomic(binding& b, bool is_atom)
{
    instruction& out = b.out;
    out.space = take_access_space(b);
    take_order(b, out);
    // Without an order an atomic is relaxed, without a scope of the device.
    if (out.order == ordering::weak) { out.order = ordering::relaxed; }
    if (out.scope == scope::none) { out.scope = scope::device; }
    const int op = b.one_of({"add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor"});
    if (op < 0) { b.refuse("an operation expected"); }
    b.has("noftz");
    const int vector = b.one_of({"v2", "v4", "v8"});
    const type t = b.take_type();
    if (!allowed(static_cast<operation>(op), t)) { b.refuse("not implemented for this type"); }
    out.variant = static_cast<std::uint8_t>(op);
    out.type = t;
    out.kind = instruction_class::atomic;
    out.elements = static_cast<std::uint8_t>(vector < 0 ? 1 : 2 << vector);
    const type storage = is_packed(t) ? type::b32 : t == type::f16 || t == type::bf16 ? type::b16 : t;
    const unsigned first = is_atom ? 1 : 0;
    b.expect_operands(first + (op == op_cas ? 3 : 2));
    const auto parts = [&](const ptx::operand& o) { return vector < 0 ? std::vector<ptx::operand>{o} : o.parts; };
    if (is_atom) {
        for (const ptx::operand& o : parts(b.syntax(0))) { b.destination(o, storage); }
    } else {
        for (unsigned k = 0; k < out.elements; ++k) { b.absent(); }
    }
    b.address(b.syntax(first));
    for (const ptx::operand& o : parts(b.syntax(first + 1))) { b.source(o, storage); }
    if (op == op_cas) { b.source(first + 2, storage); }
    if (b.args().size() != 2u * out.elements + 1 + (op == op_cas ? 1 : 0)) {
        b.refuse("the vector has not the number of elements given");
    }
    out.execute = &atom;
}

void bind_atom(binding& b) { bind_atomic(b, true); }
void bind_red(binding& b) { bind_atomic(b, false); }

}  // namespace

extern const opcode_entry atomic_opcodes[] = {{"atom", bind_atom}, {"red", bind_red}, {{}, nullptr}};

}  // namespace emulator
