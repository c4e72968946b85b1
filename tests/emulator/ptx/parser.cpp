#include "parser.hpp"

namespace emulator::ptx {
namespace {

class module_parser {
  public:
    explicit module_parser(const std::string& text) : at_{split_into_tokens(text)} {}

    module run()
    {
        while (!at_.done()) { top_level(); }
        return std::move(module_);
    }

  private:
    void top_level()
    {
        bool external = false;
        while (at_.peek().is(".visible") || at_.peek().is(".weak") || at_.peek().is(".extern") ||
               at_.peek().is(".common")) {
            external |= at_.take().is(".extern");
        }
        if (at_.accept(".version")) {
            at_.take();
        } else if (at_.accept(".target")) {
            module_.target = at_.word();
            while (at_.accept(',')) { at_.word(); }
        } else if (at_.accept(".address_size")) {
            if (at_.integer() != 64) { at_.refuse("addresses must have 64 bits"); }
        } else if (at_.accept(".file")) {
            file();
        } else if (at_.accept(".section")) {
            while (!at_.accept('}')) { at_.take(); }
        } else if (at_.accept(".pragma")) {
            skip_to_semicolon();
        } else if (at_.accept(".global")) {
            variables(space::global, external);
        } else if (at_.accept(".const")) {
            variables(space::constant, external);
        } else if (at_.accept(".shared")) {
            variables(space::shared, external);
        } else if (at_.accept(".entry")) {
            function_declaration(true);
        } else if (at_.accept(".func")) {
            function_declaration(false);
        } else {
            at_.refuse("not known at the top level");
        }
    }

    void skip_to_semicolon()
    {
        while (!at_.accept(';')) { at_.take(); }
    }

    void file()
    {
        const auto number = static_cast<std::uint32_t>(at_.integer());
        module_.files[number] = std::string(at_.take().text);
        while (at_.accept(',')) { at_.integer(); }
    }

    void variables(space where, bool external)
    {
        do {
            module_.variables.push_back(parse_variable(at_, where));
            module_.variables.back().external = external;
        } while (at_.accept(','));
        at_.expect(';');
    }

    std::vector<variable> parameters()
    {
        std::vector<variable> list;
        at_.expect('(');
        while (!at_.accept(')')) {
            if (!at_.accept(".param")) { at_.refuse("parameters must be in .param space"); }
            list.push_back(parse_variable(at_, space::parameter));
            at_.accept(',');
        }
        return list;
    }

    std::uint32_t product()
    {
        std::uint32_t n = 1;
        do {
            n *= static_cast<std::uint32_t>(at_.integer());
        } while (at_.accept(','));
        return n;
    }

    void function_declaration(bool entry)
    {
        function f;
        f.entry = entry;
        if (at_.peek().is('(')) { f.results = parameters(); }
        f.name = at_.word();
        if (at_.peek().is('(')) { f.parameters = parameters(); }
        while (at_.peek().kind == token_kind::word) {
            const std::string directive = at_.word();
            if (directive == ".maxntid") {
                f.max_threads = product();
            } else if (directive == ".reqntid") {
                f.max_threads = f.required_threads = product();
            } else if (directive == ".reqnctapercluster") {
                f.cluster = product();
            } else if (directive == ".minnctapersm" || directive == ".maxnreg" || directive == ".maxclusterrank") {
                at_.integer();
            } else if (directive != ".noreturn" && directive != ".explicitcluster") {
                at_.refuse("unknown directive " + directive);
            }
        }
        if (!at_.accept(';')) {
            at_.expect('{');
            f.has_body = true;
            body(f);
        }
        module_.functions.push_back(std::move(f));
    }

    void body(function& f)
    {
        source_ = {};
        for (int depth = 1; depth > 0;) {
            item i{};
            if (at_.accept('{')) {
                i.kind = item_kind::open_scope;
                ++depth;
            } else if (at_.accept('}')) {
                i.kind = item_kind::close_scope;
                if (--depth == 0) { return; }
            } else if (at_.peek().kind == token_kind::word && at_.peek(1).is(':')) {
                i.label = at_.word();
                at_.take();
                i.kind = item_kind::label;
                if (at_.accept(".branchtargets")) {
                    i.kind = item_kind::branch_targets;
                    do {
                        i.targets.push_back(at_.word());
                    } while (at_.accept(','));
                    at_.expect(';');
                } else if (at_.accept(".callprototype")) {  // what a call passes says as much
                    skip_to_semicolon();
                    continue;
                }
            } else if (at_.peek().kind == token_kind::word && at_.peek().text[0] == '.') {
                directive(f);
                continue;
            } else if (at_.accept(';')) {
                continue;
            } else {
                i.kind = item_kind::instruction;
                i.instruction = parse_instruction(at_, source_);
            }
            f.body.push_back(std::move(i));
        }
    }

    void directive(function& f)
    {
        const std::string name = at_.word();
        if (name == ".loc") {
            location();
        } else if (name == ".pragma") {
            skip_to_semicolon();
        } else if (name == ".reg") {
            registers_declaration(f);
        } else if (name == ".local" || name == ".shared" || name == ".param" || name == ".global" || name == ".const") {
            const space where = name == ".local"    ? space::local
                                : name == ".shared" ? space::shared
                                : name == ".param"  ? space::parameter
                                : name == ".global" ? space::global
                                                    : space::constant;
            do {
                item i{};
                i.kind = item_kind::variable;
                i.variable = parse_variable(at_, where);
                f.body.push_back(std::move(i));
            } while (at_.accept(','));
            at_.expect(';');
        } else {
            at_.refuse("unknown directive " + name);
        }
    }

    // .loc file line column [, function_name label [+ offset], inlined_at file line column]: the innermost line counts.
    void location()
    {
        source_.file = static_cast<std::uint32_t>(at_.integer());
        source_.line = static_cast<std::uint32_t>(at_.integer());
        at_.integer();
        while (at_.accept(',')) {
            if (at_.accept("function_name")) {
                at_.word();
                if (at_.accept('+')) { at_.integer(); }
            } else if (at_.accept("inlined_at")) {
                at_.integer();
                at_.integer();
                at_.integer();
            } else {
                at_.refuse("unknown part of .loc");
            }
        }
    }

    void registers_declaration(function& f)
    {
        std::string type = at_.word();
        if (type_size(type) == 0) { at_.refuse("a register type expected"); }
        type.erase(0, 1);
        do {
            item i{};
            i.kind = item_kind::registers;
            i.registers = {type, at_.word(), 0};
            if (at_.accept('<')) {
                i.registers.count = static_cast<std::uint32_t>(at_.integer());
                at_.expect('>');
            }
            f.body.push_back(std::move(i));
        } while (at_.accept(','));
        at_.expect(';');
    }

    cursor at_;
    module module_;
    source_line source_;
};

}  // namespace

module parse(const std::string& text) { return module_parser(text).run(); }

}  // namespace emulator::ptx
