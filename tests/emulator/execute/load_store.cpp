// ld, st, ldu and prefetch (PTX ISA, "Data Movement and Conversion Instructions").
#include "../check/tracker.hpp"
#include "../counters/requests.hpp"
#include "../schedule/progress.hpp"
#include "../schedule/settings.hpp"
#include "lanewise.hpp"
#include "modifiers.hpp"

#include <cstring>

namespace emulator {
namespace {

/// The bits of an element as the register takes them: signed types fill the rest with their sign.
std::uint64_t extended(type t, std::uint64_t bits)
{
    switch (t) {
    case type::s8: return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int8_t>(bits)));
    case type::s16: return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int16_t>(bits)));
    case type::s32: return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
    default: return bits;
    }
}

template <unsigned Size>
std::uint64_t get(const std::uint8_t* bytes)
{
    std::uint64_t x = 0;
    std::memcpy(&x, bytes, Size);
    return x;
}

request gather(const context& c, const instruction& i, unsigned arg, unsigned bytes, bool is_store)
{
    request r;
    r.lanes = c.mask;
    r.bytes = bytes;
    r.is_store = is_store;
    for_lanes(c.mask, [&](unsigned l) { r.address[l] = lane_address(c, i, arg, l); });
    return r;
}

template <unsigned Size>
void load(context& c, const instruction& i)
{
    const unsigned n = i.elements;
    const unsigned bytes = Size * n;
    const request r = gather(c, i, n, bytes, false);
    note_load(*c.w, i, r.address[static_cast<unsigned>(std::countr_zero(c.mask))]);
    if (settings().count) { count_request(c, i, r); }
    const bool ordered = settings().check_races;
    for_lanes(c.mask, [&](unsigned l) {
        const place p = locate(c, i, l, r.address[l], bytes, access_kind::load);
        check_written(c, i, l, p, bytes);
        const std::uint8_t* from = p.bytes;
        std::uint8_t kept[32];
        if (ordered && p.space != space::local) {
            ordered_load(c, i, l, p, Size, n, kept);
            from = kept;
        }
        for (unsigned k = 0; k < n; ++k) { write_bits(c, i.args[k], l, extended(i.type, get<Size>(from + Size * k))); }
    });
}

template <unsigned Size>
bool differ(const std::uint8_t* a, const std::uint8_t* b, unsigned n)
{
    bool any = false;
    for (unsigned k = 0; k < n; ++k) { any |= get<Size>(a + Size * k) != get<Size>(b + Size * k); }
    return any;
}

template <unsigned Size>
void store(context& c, const instruction& i)
{
    bool changes = false;
    const unsigned n = i.elements;
    const unsigned bytes = Size * n;
    const request r = gather(c, i, 0, bytes, true);
    if (settings().count) { count_request(c, i, r); }
    const bool ordered = settings().check_races;
    for_lanes(c.mask, [&](unsigned l) {
        const place p = locate(c, i, l, r.address[l], bytes, access_kind::store);
        std::uint8_t kept[32];
        for (unsigned k = 0; k < n; ++k) {
            const std::uint64_t bits = read_bits(c, i.args[1 + k], l);
            std::memcpy(kept + Size * k, &bits, Size);
        }
        changes |= p.space != space::local && differ<Size>(p.bytes, kept, n);
        if (ordered && p.space != space::local) {
            ordered_store(c, i, l, p, Size, n, kept);
        } else {
            std::memcpy(p.bytes, kept, bytes);
        }
        mark_written(c, l, p, bytes);
    });
    if (changes) { note_progress(); }
}

// Parameters of the kernel are the same for all lanes; those of calls are each lane's own.
template <bool OfFrame>
void load_parameter(context& c, const instruction& i)
{
    const unsigned size = size_of(i.type);
    for_lanes(c.mask, [&](unsigned l) {
        const std::uint64_t at = lane_address(c, i, i.elements, l);
        const std::uint64_t limit = OfFrame ? c.f->code->frame_bytes : c.k->parameters.size();
        if (at + size * i.elements > limit) {
            make_report(c, i, l, rule::bounds, "load outside of the parameters");
            throw kernel_fault{700};
        }
        const std::uint8_t* from = OfFrame ? c.f->parameter(l, at) : c.k->parameters.data() + at;
        for (unsigned k = 0; k < i.elements; ++k) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, from + size * k, size);
            write_bits(c, i.args[k], l, extended(i.type, bits));
        }
    });
}

void store_parameter(context& c, const instruction& i)
{
    const unsigned size = size_of(i.type);
    for_lanes(c.mask, [&](unsigned l) {
        std::uint8_t* to = c.f->parameter(l, lane_address(c, i, 0, l));
        for (unsigned k = 0; k < i.elements; ++k) {
            const std::uint64_t bits = read_bits(c, i.args[1 + k], l);
            std::memcpy(to + size * k, &bits, size);
        }
    });
}

// Hints that do not change what an access does.
void take_cache_hints(binding& b)
{
    for (const auto* hint : {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged",
                             "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::evict_last",
                             "L2::evict_normal", "L2::evict_first", "L2::64B", "L2::128B", "L2::256B"}) {
        b.has(hint);
    }
}

std::vector<ptx::operand> elements_of(const ptx::operand& o)
{
    return o.form == ptx::operand_form::vector ? o.parts : std::vector<ptx::operand>{o};
}

void bind_access(binding& b, bool is_load)
{
    instruction& out = b.out;
    out.space = take_access_space(b);
    take_order(b, out);
    take_cache_hints(b);
    b.has("nc");  // the caller promises that nobody writes there; a write would be found as a race
    const int vector = b.one_of({"v2", "v4", "v8"});
    const type t = b.take_type();
    if (size_of(t) == 16 || t == type::pred) { b.refuse("not implemented for this type"); }
    b.expect_operands(2);
    const auto elements = elements_of(b.syntax(is_load ? 0 : 1));
    if (elements.size() != (vector < 0 ? 1u : 2u << vector)) {
        b.refuse("the vector has not the number of elements given");
    }
    out.elements = static_cast<std::uint8_t>(elements.size());
    if (size_of(t) * out.elements > 32) { b.refuse("an access of more than 32 bytes"); }
    out.type = t;
    out.kind = instruction_class::memory;
    const type storage = t == type::f16 || t == type::bf16 ? type::b16 : is_packed(t) ? type::b32 : t;
    bool of_frame = false;
    if (is_load) {
        for (const ptx::operand& o : elements) { b.wide_destination(o, storage); }
        b.address(b.syntax(1), of_frame);
    } else {
        b.address(b.syntax(0), of_frame);
        for (const ptx::operand& o : elements) { b.wide_source(o, storage); }
    }
    if (out.space == space::parameter) {
        out.kind = instruction_class::move;
        if (!is_load && !of_frame) { b.refuse("a store to a kernel's parameters"); }
        out.execute = is_load ? (of_frame ? &load_parameter<true> : &load_parameter<false>) : &store_parameter;
        return;
    }
    if (of_frame) { b.refuse("a parameter outside of .param space"); }
    switch (size_of(t)) {
    case 1: out.execute = is_load ? &load<1> : &store<1>; break;
    case 2: out.execute = is_load ? &load<2> : &store<2>; break;
    case 4: out.execute = is_load ? &load<4> : &store<4>; break;
    default: out.execute = is_load ? &load<8> : &store<8>; break;
    }
}

void bind_ld(binding& b) { bind_access(b, true); }
void bind_st(binding& b) { bind_access(b, false); }

void nothing(context&, const instruction&) {}

void bind_prefetch(binding& b)
{
    take_access_space(b);
    if (b.one_of({"L1", "L2", "L2::evict_last", "L2::evict_normal"}) < 0) { b.refuse("a cache level expected"); }
    b.expect_operands(1);
    b.out.kind = instruction_class::memory;
    b.out.execute = &nothing;
}

}  // namespace

extern const opcode_entry load_store_opcodes[] = {
    {"ld", bind_ld},
    {"st", bind_st},
    {"prefetch", bind_prefetch},
    {{}, nullptr},
};

}  // namespace emulator
