#include "parser.hpp"

namespace emulator::ptx {
namespace {

operand parse_operand(cursor& at);

operand parse_group(cursor& at, operand_form form, char close)
{
    operand group;
    group.form = form;
    at.take();
    while (!at.accept(close)) {
        group.parts.push_back(parse_operand(at));
        if (!at.peek().is(close)) { at.expect(','); }
    }
    return group;
}

operand parse_address(cursor& at)
{
    operand o;
    o.form = operand_form::address;
    at.expect('[');
    if (at.peek().kind == token_kind::word) {
        o.name = at.word();
        if (at.accept('+')) {
            o.value = at.integer();
        } else if (at.peek().is('-')) {
            o.value = at.integer();
        }
    } else {
        o.value = at.integer();
    }
    while (at.accept(',')) { o.parts.push_back(parse_operand(at)); }  // coordinates, as of textures
    at.expect(']');
    return o;
}

operand parse_operand(cursor& at)
{
    operand o;
    const token& t = at.peek();
    if (t.is('[')) { return parse_address(at); }
    if (t.is('{')) { return parse_group(at, operand_form::vector, '}'); }
    if (t.is('(')) { return parse_group(at, operand_form::list, ')'); }
    if (at.accept('!')) {
        o.negated = true;
        o.name = at.word();
        return o;
    }
    if (t.kind == token_kind::float32 || t.kind == token_kind::float64) {
        o.form = t.kind == token_kind::float32 ? operand_form::float32 : operand_form::float64;
        o.value = static_cast<std::int64_t>(at.take().bits);
        return o;
    }
    if (t.kind == token_kind::integer || t.is('-')) {
        o.form = operand_form::integer;
        o.value = at.integer();
        return o;
    }
    o.name = at.word();
    if (at.accept('+')) { o.value = at.integer(); }  // a variable's address plus a number
    if (!at.accept('|')) { return o; }
    operand pair;
    pair.form = operand_form::pair;
    pair.parts.push_back(o);
    pair.parts.push_back(parse_operand(at));
    return pair;
}

void split_opcode(statement& s, std::string_view word)
{
    std::size_t dot = word.find('.');
    s.opcode = word.substr(0, dot);
    while (dot != std::string_view::npos) {
        const std::size_t next = word.find('.', dot + 1);
        s.modifiers.emplace_back(word.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1));
        dot = next;
    }
}

/// The statement as text again, for messages.
void append(std::string& text, const token& t)
{
    const bool tight = t.is(';') || t.is(',') || t.is(']') || t.is(')') || t.is('}') || t.is('+');
    if (!text.empty() && !tight && text.back() != '[' && text.back() != '(' && text.back() != '{' &&
        text.back() != '@') {
        text += ' ';
    }
    text += t.text;
}

}  // namespace

statement parse_instruction(cursor& at, source_line source)
{
    statement s;
    s.line = at.peek().line;
    s.source = source;
    for (std::size_t i = 0; !at.peek(i).is(';') && at.peek(i).kind != token_kind::end; ++i) {
        append(s.text, at.peek(i));
    }
    if (at.accept('@')) {
        s.guard_negated = at.accept('!');
        s.guard = at.word();
    }
    split_opcode(s, at.word());
    while (!at.accept(';')) {
        s.operands.push_back(parse_operand(at));
        if (!at.peek().is(';')) {
            // `call (result), name, (arguments)` separates by commas, as all others do.
            at.expect(',');
        }
    }
    return s;
}

}  // namespace emulator::ptx
