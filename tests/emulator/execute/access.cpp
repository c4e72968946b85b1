#include "access.hpp"

#include "../schedule/settings.hpp"

namespace emulator {
namespace {

constexpr int illegal_address = 700;     // cudaErrorIllegalAddress
constexpr int misaligned_address = 716;  // cudaErrorMisalignedAddress

std::string hexadecimal(std::uint64_t x)
{
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(x));
    return text;
}

const char* verb(access_kind k)
{
    return k == access_kind::load ? "load" : k == access_kind::store ? "store" : "atomic";
}

[[noreturn, gnu::noinline]] void fail(context& c, const instruction& i, unsigned lane, rule r, int error,
                                      const std::string& text)
{
    make_report(c, i, lane, r, text);
    throw kernel_fault{error};
}

[[noreturn, gnu::noinline]] void fail_multicast(context& c, const instruction& i, unsigned lane, std::uint64_t address,
                                                unsigned bytes, const std::string& why, rule r = rule::bounds)
{
    fail(c, i, lane, r, illegal_address,
         "a multimem access of " + std::to_string(bytes) + " bytes at " + hexadecimal(address) + ": " + why);
}

[[noreturn, gnu::noinline]] void fail_global(context& c, const instruction& i, unsigned lane, std::uint64_t address,
                                             unsigned bytes, access_kind kind)
{
    const std::string what =
        std::string(verb(kind)) + " of " + std::to_string(bytes) + " bytes at " + hexadecimal(address);
    allocation* near = memory().nearest(address);
    if (near == nullptr || address - near->begin > near->size + (1u << 20)) {
        fail(c, i, lane, rule::bounds, illegal_address, what + ": no memory that a kernel may use is there");
    }
    if (const allocation* real = near->alias_of; real != nullptr && !real->live && near->holds(address, bytes)) {
        fail(c, i, lane, rule::use_after_free, illegal_address,
             what + ": in " + near->name + ", whose memory, " + real->name + ", was freed");
    }
    if (!near->live && near->holds(address, 1)) {
        fail(c, i, lane, rule::use_after_free, illegal_address, what + ": in " + near->name + ", which was freed");
    }
    if (near->holds(address, bytes)) {
        fail(c, i, lane, rule::bounds, illegal_address,
             what + ": in " + near->name + ", to which device " + std::to_string(c.k->device) +
                 " has no access (cudaDeviceEnablePeerAccess)");
    }
    fail(c, i, lane, rule::bounds, illegal_address,
         what + ": " + std::to_string(address - near->begin) + " bytes into " + near->name);
}

bool usable(const context& c, const allocation& a, std::uint64_t address, unsigned bytes)
{
    return a.holds(address, bytes) && a.live && (a.devices >> c.k->device & 1) != 0 &&
           (a.alias_of == nullptr || a.alias_of->live);
}

place locate_global(context& c, const instruction& i, unsigned lane, std::uint64_t address, unsigned bytes,
                    access_kind kind)
{
    allocation* a = i.seen;
    if (a == nullptr || !usable(c, *a, address, bytes)) {
        a = memory().find(address);
        if (a == nullptr || !usable(c, *a, address, bytes)) { fail_global(c, i, lane, address, bytes, kind); }
        i.seen = a;
    }
    if (a->kind == memory_kind::multicast) {
        fail(c, i, lane, rule::bounds, illegal_address,
             std::string(verb(kind)) + " of " + std::to_string(bytes) + " bytes at " + hexadecimal(address) + ": in " +
                 a->name + ", multicast memory, which only multimem instructions access");
    }
    if (kind != access_kind::load && (a->kind == memory_kind::constant || a->kind == memory_kind::parameters)) {
        fail(c, i, lane, rule::bounds, illegal_address, "a store to " + a->name + ", which kernels may only read");
    }
    if (a->alias_of != nullptr) {
        const std::uint64_t offset = a->alias_offset + (address - a->begin);
        return {reinterpret_cast<std::uint8_t*>(a->alias_of->begin + offset), space::global, offset, a->alias_of};
    }
    return {reinterpret_cast<std::uint8_t*>(address), space::global, address - a->begin, a};
}

}  // namespace

address_space& memory()
{
    static auto* m = new address_space;  // kept to the end: kernels may run in exit handlers
    return *m;
}

place locate_anywhere(context& c, const instruction& i, unsigned lane, std::uint64_t address, unsigned bytes,
                      access_kind kind)
{
    const std::uint64_t given = address;
    space s = i.space == space::generic ? resolve_generic(address) : i.space;
    if (s == space::constant) { s = space::global; }
    if (s == space::shared && i.space == space::shared) { address &= 0xffff'ffff; }
    if (s != space::local && (address & (bytes - 1)) != 0) {
        fail(c, i, lane, rule::misaligned, misaligned_address,
             std::string(verb(kind)) + " of " + std::to_string(bytes) + " bytes at " + hexadecimal(given));
    }
    if (s == space::global) { return locate_global(c, i, lane, address, bytes, kind); }
    if (s == space::shared) {
        if (address + bytes > c.b->shared.size()) {
            fail(c, i, lane, rule::bounds, illegal_address,
                 std::string(verb(kind)) + " of " + std::to_string(bytes) + " bytes at " + std::to_string(address) +
                     " of the block's " + std::to_string(c.b->shared.size()) + " bytes of shared memory");
        }
        return {c.b->shared.data() + address, space::shared, address, nullptr};
    }
    auto& local = c.w->local[lane];
    if (address + bytes > local.size()) {
        fail(c, i, lane, rule::bounds, illegal_address,
             std::string(verb(kind)) + " of " + std::to_string(bytes) + " bytes at " + std::to_string(address) +
                 " of the thread's " + std::to_string(local.size()) + " bytes of local memory");
    }
    return {local.data() + address, space::local, address, nullptr};
}

std::vector<place> locate_multicast(context& c, const instruction& i, unsigned lane, std::uint64_t address,
                                    unsigned bytes, access_kind kind)
{
    if ((address & (bytes - 1)) != 0) {
        fail(c, i, lane, rule::misaligned, misaligned_address,
             std::string("multimem ") + verb(kind) + " of " + std::to_string(bytes) + " bytes at " +
                 hexadecimal(address));
    }
    allocation* a = memory().nearest(address);
    if (a == nullptr || a->kind != memory_kind::multicast || address - a->begin >= a->size + (1u << 20)) {
        fail_multicast(c, i, lane, address, bytes, "no multicast memory is there");
    }
    if (!a->holds(address, bytes)) {
        fail_multicast(c, i, lane, address, bytes, std::to_string(address - a->begin) + " bytes into " + a->name);
    }
    if ((a->devices >> c.k->device & 1) == 0) {
        fail_multicast(c, i, lane, address, bytes,
                       "in " + a->name + ", of which device " + std::to_string(c.k->device) + " is no part");
    }
    std::vector<place> all;
    for (const allocation* m : a->members) {
        if (!m->live || !m->alias_of->live) {
            fail_multicast(c, i, lane, address, bytes, "in " + a->name + ", of which " + m->name + " is gone",
                           rule::use_after_free);
        }
        const std::uint64_t offset = m->alias_offset + (address - a->begin);
        all.push_back(
            {reinterpret_cast<std::uint8_t*>(m->alias_of->begin + offset), space::global, offset, m->alias_of});
    }
    return all;
}

void report_unwritten(context& c, const instruction& i, unsigned lane, const place& p, unsigned bytes)
{
    if (!settings().check_uninitialised) { return; }
    make_report(c, i, lane, rule::uninitialised,
                "load of " + std::to_string(bytes) + " bytes that were never written, " + std::to_string(p.offset) +
                    " bytes into " + (p.space == space::global ? p.memory->name : std::string("shared memory")));
}

}  // namespace emulator
