// The lexer and the parser, on what nvcc writes and on what is wrong.
#include "../error.hpp"
#include "../ptx/syntax.hpp"
#include "../ptx/token.hpp"

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

using namespace emulator;

namespace {

std::string kernel(const std::string& body)
{
    return ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n" + body +
           "\nret;\n}\n";
}

ptx::statement first_statement(const std::string& body)
{
    const ptx::module m = ptx::parse(kernel(body));
    for (const ptx::item& i : m.functions.at(0).body) {
        if (i.kind == ptx::item_kind::instruction) { return i.instruction; }
    }
    return {};
}

}  // namespace

TEST_CASE("words, numbers and strings")
{
    const auto t = ptx::split_into_tokens(
        "ld.global.L2::128B.u32 %r1, [%rd2+-8]; // comment\n$L__BB0_1: 0f3F800000 0x1F 12U \"a b\"");
    CHECK(t[0].text == "ld.global.L2::128B.u32");
    CHECK(t[1].text == "%r1");
    CHECK(t[9].is(';'));
    CHECK(t[10].text == "$L__BB0_1");
    CHECK(t[10].line == 2);
    CHECK(t[12].kind == ptx::token_kind::float32);
    CHECK(t[12].bits == 0x3f800000);
    CHECK(t[13].bits == 31);
    CHECK(t[14].bits == 12);
    CHECK(t[15].text == "a b");
    CHECK(t[16].kind == ptx::token_kind::end);
    CHECK_THROWS_AS(ptx::split_into_tokens("\"open"), unsupported);
}

TEST_CASE("an instruction's guard, modifiers and operands")
{
    const ptx::statement s = first_statement("@!%p1 shfl.sync.down.b32 %r1|%p2, %r3, -4, 0x1f, %r5;");
    CHECK(s.guard == "%p1");
    CHECK(s.guard_negated);
    CHECK(s.opcode == "shfl");
    CHECK(s.modifiers == std::vector<std::string>{"sync", "down", "b32"});
    REQUIRE(s.operands.size() == 5);
    CHECK(s.operands[0].form == ptx::operand_form::pair);
    CHECK(s.operands[0].parts[1].name == "%p2");
    CHECK(s.operands[2].value == -4);
    CHECK(s.line == 6);
    const ptx::statement v = first_statement("st.shared.v2.f32 [%r1+16], {%f1, %f2};");
    CHECK(v.operands[0].form == ptx::operand_form::address);
    CHECK(v.operands[0].value == 16);
    CHECK(v.operands[1].parts.size() == 2);
    const ptx::statement c = first_statement("call.uni (retval0), f, (param0, param1);");
    CHECK(c.operands[0].form == ptx::operand_form::list);
    CHECK(c.operands[2].parts.size() == 2);
}

TEST_CASE("declarations, scopes, labels and lines")
{
    const ptx::module m = ptx::parse(
        ".version 9.0\n.target sm_80, debug\n.address_size 64\n"
        ".global .align 8 .u64 table[2] = {generic(other)+4, 7};\n.const .align 4 .b8 other[8] = {1, 0, 0, 0, 2};\n"
        ".extern .shared .align 16 .b8 dynamic[];\n" +
        kernel("{ .reg .b16 hl; .reg.b32 a<3>; .loc 1 12 3, function_name $L__info_string0, inlined_at 1 40 5\n "
               "add.s32 a1, a2, 1; }\nL: .branchtargets A, B;")
            .substr(std::string(".version 9.0\n.target sm_80\n.address_size 64\n").size()) +
        ".file 1 \"source.cu\"\n");
    CHECK(m.target == "sm_80");
    CHECK(m.files.at(1) == "source.cu");
    REQUIRE(m.variables.size() == 3);
    CHECK(m.variables[0].size == 16);
    REQUIRE(m.variables[0].relocations.size() == 1);
    CHECK(m.variables[0].relocations[0].symbol == "other");
    CHECK(m.variables[0].relocations[0].addend == 4);
    CHECK(m.variables[1].bytes[4] == 2);
    CHECK(m.variables[2].size == 0);
    const auto& body = m.functions.at(0).body;
    CHECK(body[0].kind == ptx::item_kind::open_scope);
    CHECK(body[2].registers.count == 3);
    CHECK(body[3].instruction.source.line == 12);
    CHECK(body[5].kind == ptx::item_kind::branch_targets);
    CHECK(body[5].targets == std::vector<std::string>{"A", "B"});
}

TEST_CASE("what is not known is refused with its line")
{
    const auto message = [](const std::string& text) -> std::string {
        try {
            ptx::parse(text);
        } catch (const unsupported& e) {
            return e.what();
        }
        return "";
    };
    CHECK(message(".version 9.0\n.texref t;").find("PTX line 2") != std::string::npos);
    CHECK(message(kernel(".sreg .b32 %r1;")).find(".sreg") != std::string::npos);
    CHECK(message(kernel("add.s32 %r1, [%r2;")).find("']' expected") != std::string::npos);
    CHECK(message(".version 9.0\n.address_size 32").find("64 bits") != std::string::npos);
}
