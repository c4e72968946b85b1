// What an operation reads and writes, checked as a kernel's accesses are.
#include "../execute/access.hpp"
#include "../check/ranges.hpp"
#include "../schedule/settings.hpp"
#include "extension.hpp"

#include <cstdio>
#include <cstring>

namespace emulator::extension {
namespace {

struct range {
    allocation* memory = nullptr;
    std::uint64_t offset = 0;
    std::uint8_t* bytes = nullptr;
};

void fail_access(operation& o, rule r, const std::string& text)
{
    make_report(r, o.what + " on device " + std::to_string(o.device) + ": " + text);
    o.error = cudaErrorIllegalAddress;
}

range locate(operation& o, const void* pointer, std::size_t bytes, bool store)
{
    const std::uint64_t address = memory().real_address(reinterpret_cast<std::uint64_t>(pointer));
    char what[80];
    std::snprintf(what, sizeof what, "%s of %zu bytes at 0x%llx: ", store ? "store" : "load", bytes,
                  reinterpret_cast<unsigned long long>(pointer));
    allocation* a = memory().find(address);
    if (a == nullptr) {
        fail_access(o, rule::bounds, what + std::string("no memory that a kernel may use is there"));
    } else if (!a->live) {
        fail_access(o, rule::use_after_free, what + ("in " + a->name + ", which was freed"));
    } else if (!a->holds(address, bytes)) {
        fail_access(o, rule::bounds,
                    what + (std::to_string(address - a->begin) + " bytes into " + a->name + ", beyond its end"));
    } else if ((a->devices >> o.device & 1) == 0 && address == reinterpret_cast<std::uint64_t>(pointer)) {
        fail_access(o, rule::bounds, what + ("in " + a->name + ", to which the device has no access"));
    } else {
        order_range(o, *a, address - a->begin, bytes, store);
        return {a, address - a->begin, reinterpret_cast<std::uint8_t*>(address)};
    }
    return {};
}

}  // namespace

const std::uint8_t* read(operation& o, const void* from, std::size_t bytes, bool needs_values)
{
    const range r = locate(o, from, bytes, false);
    if (r.bytes == nullptr) { return nullptr; }
    if (needs_values && settings().check_uninitialised && !r.memory->written.covers(r.offset, bytes)) {
        make_report(rule::uninitialised, o.what + " reads bytes that were never written, of " + std::to_string(bytes) +
                                             " that begin " + std::to_string(r.offset) + " bytes into " +
                                             r.memory->name);
    }
    return r.bytes;
}

bool write(operation& o, void* to, const void* bytes, std::size_t n)
{
    const range r = locate(o, to, n, true);
    if (r.bytes == nullptr) { return false; }
    std::memmove(r.bytes, bytes, n);
    r.memory->written.mark(r.offset, n);
    return true;
}

bool copy(operation& reader, const void* from, operation& writer, void* to, std::size_t bytes)
{
    const range source = locate(reader, from, bytes, false);
    if (source.bytes == nullptr) { return false; }
    if (&reader == &writer && from == to) { return true; }
    const range target = locate(writer, to, bytes, true);
    if (target.bytes == nullptr) { return false; }
    target.memory->written.copy(target.offset, source.memory->written, source.offset, bytes);
    std::memmove(target.bytes, source.bytes, bytes);
    return true;
}

}  // namespace emulator::extension
