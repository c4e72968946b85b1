#include "builtin.hpp"

#include "access.hpp"

#include <cstdio>
#include <cstring>

namespace emulator {
namespace {

template <class T>
T argument(context& c, const instruction& i, unsigned k, unsigned lane)
{
    T value;
    std::memcpy(&value, c.f->parameter(lane, i.args[i.variant + k].offset), sizeof value);
    return value;
}

template <class T>
void give_result(context& c, const instruction& i, unsigned lane, T value)
{
    std::memcpy(c.f->parameter(lane, i.args[0].offset), &value, sizeof value);
}

/// Where a generic address points to, checked as a load.
const std::uint8_t* read_at(context& c, const instruction& i, unsigned lane, std::uint64_t address, unsigned bytes)
{
    return locate(c, i, lane, address, bytes, access_kind::load).bytes;
}

std::string text_at(context& c, const instruction& i, unsigned lane, std::uint64_t address)
{
    std::string text;
    for (;; ++address) {
        const char ch = static_cast<char>(*read_at(c, i, lane, address, 1));
        if (ch == '\0') { return text; }
        text += ch;
    }
}

/// One conversion such as %5.2f, its argument taken from the buffer: 4 bytes, or 8 for long, pointers and doubles.
std::string convert_one(context& c, const instruction& i, unsigned lane, const std::string& spec, std::uint64_t& at)
{
    const char kind = spec.back();
    const bool is_double = std::strchr("fFeEgGaA", kind) != nullptr;
    const bool wide = is_double || kind == 's' || kind == 'p' || spec.find('l') != std::string::npos ||
                      spec.find('z') != std::string::npos || spec.find('t') != std::string::npos ||
                      spec.find('j') != std::string::npos;
    const unsigned size = wide ? 8 : 4;
    at = (at + size - 1) / size * size;
    std::uint64_t bits = 0;
    std::memcpy(&bits, read_at(c, i, lane, at, size), size);
    at += size;
    char out[512];
    if (kind == 's') {
        std::snprintf(out, sizeof out, spec.c_str(), text_at(c, i, lane, bits).c_str());
    } else if (is_double) {
        std::snprintf(out, sizeof out, spec.c_str(), std::bit_cast<double>(bits));
    } else if (wide) {
        std::snprintf(out, sizeof out, spec.c_str(), bits);
    } else {
        std::snprintf(out, sizeof out, spec.c_str(), static_cast<std::uint32_t>(bits));
    }
    return out;
}

std::string formatted(context& c, const instruction& i, unsigned lane, const std::string& format, std::uint64_t at)
{
    std::string out;
    for (std::size_t k = 0; k < format.size(); ++k) {
        if (format[k] != '%') {
            out += format[k];
            continue;
        }
        const std::size_t end = format.find_first_of("diouxXeEfFgGaAcsp%", k + 1);
        if (end == std::string::npos) { return out + format.substr(k); }
        const std::string spec = format.substr(k, end - k + 1);
        out += spec == "%%" ? "%" : convert_one(c, i, lane, spec, at);
        k = end;
    }
    return out;
}

void print(context& c, const instruction& i)
{
    for_lanes(c.mask, [&](unsigned l) {
        const std::string format = text_at(c, i, l, argument<std::uint64_t>(c, i, 0, l));
        const std::string text = formatted(c, i, l, format, argument<std::uint64_t>(c, i, 1, l));
        std::fwrite(text.data(), 1, text.size(), stdout);
        give_result(c, i, l, static_cast<std::int32_t>(text.size()));
    });
}

void assertion_failed(context& c, const instruction& i)
{
    const auto l = static_cast<unsigned>(std::countr_zero(c.mask));
    const std::string message = text_at(c, i, l, argument<std::uint64_t>(c, i, 0, l));
    const std::string file = text_at(c, i, l, argument<std::uint64_t>(c, i, 1, l));
    const auto line = argument<std::uint32_t>(c, i, 2, l);
    make_report(c, i, l, rule::assertion, file + ":" + std::to_string(line) + ": assertion `" + message + "` failed");
    throw kernel_fault{710};  // cudaErrorAssert
}

void allocate(context& c, const instruction& i)
{
    for_lanes(c.mask, [&](unsigned l) {
        const auto size = argument<std::uint64_t>(c, i, 0, l);
        give_result(c, i, l, memory().allocate(size, memory_kind::device, c.k->device, "malloc in a kernel").begin);
    });
}

void release(context& c, const instruction& i)
{
    for_lanes(c.mask, [&](unsigned l) {
        const auto address = argument<std::uint64_t>(c, i, 0, l);
        if (address == 0) { return; }
        allocation* a = memory().find_live(address);
        if (a == nullptr || a->begin != address) {
            make_report(c, i, l, rule::invalid, "free of an address that malloc did not return");
            throw kernel_fault{719};
        }
        memory().free(*a);
    });
}

constexpr builtin_function list[] = {
    {"vprintf", print},
    {"__assertfail", assertion_failed},
    {"malloc", allocate},
    {"free", release},
};

}  // namespace

std::span<const builtin_function> builtins() { return list; }

}  // namespace emulator
