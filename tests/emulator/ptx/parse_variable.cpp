#include "parser.hpp"

#include <cstring>

namespace emulator::ptx {

std::uint32_t type_size(std::string_view type)
{
    if (!type.empty() && type[0] == '.') { type.remove_prefix(1); }
    if (type == "pred") { return 1; }
    if (type == "f16x2" || type == "bf16x2" || type == "tf32") { return 4; }
    const std::size_t digits = type.find_first_of("0123456789");
    if (digits == std::string_view::npos) { return 0; }
    const std::string_view letters = type.substr(0, digits);
    const std::string_view bits = type.substr(digits);
    if (letters != "b" && letters != "u" && letters != "s" && letters != "f" && letters != "bf") { return 0; }
    return bits == "8" ? 1 : bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : bits == "128" ? 16 : 0;
}

namespace {

void put(variable& v, std::uint64_t offset, std::uint64_t bits, std::uint32_t size)
{
    if (v.bytes.size() < offset + size) { v.bytes.resize(offset + size); }
    std::memcpy(v.bytes.data() + offset, &bits, size < 8 ? size : 8);
}

/// One element of an initial value: a number, or an address such as `generic(table)+4`.
void parse_element(cursor& at, variable& v, std::uint64_t offset, std::uint32_t size)
{
    if (at.peek().kind == token_kind::float32 || at.peek().kind == token_kind::float64) {
        put(v, offset, at.take().bits, size);
        return;
    }
    if (at.peek().kind == token_kind::integer || at.peek().is('-')) {
        put(v, offset, static_cast<std::uint64_t>(at.integer()), size);
        return;
    }
    if (size != 8) { at.refuse("an address in an element that has not 8 bytes"); }
    relocation r{offset, at.word(), 0, false};
    if (r.symbol == "generic") {
        at.expect('(');
        r.symbol = at.word();
        at.expect(')');
        r.generic = true;
    }
    if (at.accept('+')) { r.addend = at.integer(); }
    put(v, offset, 0, size);
    v.relocations.push_back(r);
}

std::uint64_t parse_elements(cursor& at, variable& v, std::uint64_t offset, std::uint32_t size)
{
    if (!at.accept('{')) {
        parse_element(at, v, offset, size);
        return offset + size;
    }
    while (!at.accept('}')) {
        offset = parse_elements(at, v, offset, size);
        at.accept(',');
    }
    return offset;
}

}  // namespace

variable parse_variable(cursor& at, space where)
{
    variable v;
    v.space = where;
    std::uint32_t given_align = 0;
    while (at.peek().kind == token_kind::word && at.peek().text[0] == '.') {
        const std::string directive = at.word();
        if (directive == ".align") {
            given_align = static_cast<std::uint32_t>(at.integer());
        } else if (directive == ".ptr") {  // a kernel parameter's pointee: space and alignment, hints for the compiler
            while (at.peek().is(".global") || at.peek().is(".const") || at.peek().is(".shared") ||
                   at.peek().is(".local")) {
                at.take();
            }
            if (at.accept(".align")) { at.integer(); }
        } else if (type_size(directive) != 0) {
            v.type = directive.substr(1);
        } else if (directive != ".managed" && directive != ".attribute") {
            at.refuse("unknown directive " + directive);
        } else if (at.accept('(')) {
            while (!at.accept(')')) { at.take(); }
        }
    }
    const std::uint32_t element = type_size(v.type);
    if (element == 0) { at.refuse("a type expected"); }
    v.name = at.word();
    v.size = element;
    while (at.accept('[')) {
        if (at.accept(']')) {
            v.size = 0;
        } else {
            v.size *= static_cast<std::uint64_t>(at.integer());
            at.expect(']');
        }
    }
    v.align = given_align != 0 ? given_align : element;
    if (at.accept('=')) {
        const std::uint64_t end = parse_elements(at, v, 0, element);
        if (v.size == 0) { v.size = end; }
    }
    return v;
}

}  // namespace emulator::ptx
