// Random programs and schedules that break a rule, or may: the compiler must say so with plait's own error.
#pragma once

#include "grow.hpp"

#include <plait/graph/node.hpp>

#include <array>

namespace soak {

/// An operation on random values that the rules of the language refuse.
inline std::string refused_operation(scope& s)
{
    using plait::op;
    struct kind {
        op k;
        int operands;
        const char* before;
        const char* between;
        const char* after;  // @ is the axis
    };
    static constexpr std::array kinds = {
        kind{op::add, 2, "", " + ", ""},
        kind{op::mul, 2, "", " * ", ""},
        kind{op::max, 2, "pl::max(", ", ", ")"},
        kind{op::less, 2, "", " < ", ""},
        kind{op::logical_and, 2, "", " && ", ""},
        kind{op::sqrt, 1, "pl::sqrt(", "", ")"},
        kind{op::neg, 1, "-", "", ""},
        kind{op::select, 3, "pl::select(", ", ", ")"},
        kind{op::dropout, 3, "pl::dropout(", ", ", ")"},
        kind{op::reduce, 1, "pl::sum(", "", ", pl::axis<@>)"},
        kind{op::matmul, 2, "pl::matmul(", ", ", ")"},
        kind{op::conv2d, 2, "pl::conv2d(", ", ", ")"},
        kind{op::embedding, 2, "pl::embedding(", ", ", ")"},
        kind{op::all_reduce, 1, "pl::all_reduce(pl::sum, ", "", ")"},
        kind{op::reduce_scatter, 1, "pl::reduce_scatter(pl::max, ", "", ", pl::axis<@>)"},
        kind{op::reduce_to_root, 1, "pl::reduce(pl::sum, ", "", ", pl::root<0>)"},
        kind{op::broadcast, 1, "pl::broadcast(", "", ", pl::root<0>)"},
        kind{op::all_gather, 1, "pl::all_gather(", "", ")"},
        kind{op::gather, 1, "pl::gather(", "", ", pl::root<0>)"},
        kind{op::scatter, 1, "pl::scatter(", "", ", pl::root<0>, pl::axis<@>)"},
        kind{op::all_to_all, 1, "pl::all_to_all(", "", ", pl::axis<@>)"},
        kind{op::slice, 1, "pl::slice(", "", ", pl::axis<@>)"},
        kind{op::update, 2, "pl::update(", ", ", ")"},
    };
    for (;;) {
        const kind& k = kinds[static_cast<std::size_t>(s.random.below(static_cast<int>(kinds.size())))];
        plait::attributes attrs;
        attrs.axis = s.random.below(7) - 3;
        const bool along = std::string_view(k.after).find('@') != std::string_view::npos;
        if (k.k == op::conv2d) { attrs.a = 1; }
        if (!along || k.k == op::conv2d) { attrs.axis = 0; }
        std::string text = k.before;
        plait::value_type types[plait::max_args];
        for (int i = 0; i < k.operands; ++i) {
            const value& v = s.random.one_of(s.values);
            types[i] = v.type;
            text += (i > 0 ? k.between : "") + v.text;
        }
        text += k.after;
        if (along) { text.replace(text.find('@'), 1, std::to_string(attrs.axis)); }
        if (!plait::infer(k.k, attrs, types, k.operands).ok()) { return text; }
    }
}

/// What breaks a rule of whole programs.
inline std::string refused_program(scope& s, const std::string& tensor, const value& v)
{
    const std::string update = "pl::update(" + tensor + ", " + v.text + ")";
    switch (s.random.below(5)) {
    case 0: return "pl::program<\"bad\">(" + v.text + ")";
    case 1: return "pl::program<\"bad\">(" + update + ", pl::update(" + tensor + ", " + tensor + "))";
    case 2: return "pl::program<\"bad\">(pl::update(" + declared("second", v.type) + ", " + update + "))";
    case 3: return "pl::program<\"bad\">(" + update + ", pl::update(" + declared(tensor, s.shaped(plait::dtype::i32, {})) + ", 1_c))";
    default: return "pl::program<\"bad\">(pl::update(" + tensor + ", 0.5_c * pl::label<\"x0\">(x0)))";
    }
}

/// Transformations drawn without a look at the program: some fit, some do not.
inline std::string careless_schedule(scope& s)
{
    std::vector<std::string> labels = s.labels;
    labels.push_back("nothing");
    std::vector<std::string> tensors = s.tensors;
    tensors.push_back("nothing");
    std::string steps;
    for (int i = 0; i < 1 + s.random.below(5); ++i) {
        const std::string l = "<\"" + s.random.one_of(labels) + "\"";
        switch (s.random.below(7)) {
        case 0: steps += " | pl::split" + l + ">"; break;
        case 1: steps += " | pl::split" + l + ", " + std::to_string(s.random.below(6) - 2) + ">"; break;
        case 2: steps += " | pl::reorder" + l + ">"; break;
        case 3: steps += " | pl::as_slice<\"" + s.random.one_of(tensors) + "\">"; break;
        case 4: steps += " | pl::fuse"; break;
        case 5: steps += " | pl::fuse_only" + l + ">"; break;
        default: steps += " | pl::overlap" + l + ", \"" + s.random.one_of(labels) + "\">";
        }
    }
    return steps;
}

/// Case number i, and whether it must be refused or may be.
inline std::string broken_program(std::uint64_t seed, int i)
{
    scope s(seed);
    declare_inputs(s);
    std::vector<std::string> outputs;
    for (int attempt = 0; attempt < 40; ++attempt) {
        const std::size_t labels = s.labels.size();
        const maybe v = attempt % 4 == 0 ? moved(s) : attempt % 4 == 1 ? reduced(s) : attempt % 4 == 2 ? exact(s) : two_numbers(s);
        if (v && s.admits(*v)) {
            s.add(*v);
        } else {
            s.labels.resize(labels);
        }
    }
    const std::string number = std::to_string(i);
    const int what = s.random.below(3);
    std::string source = "#if CASE == " + number + "\n// case " + number + ": " + (what < 2 ? "refused" : "any") + "\n" + s.text;
    const value v = s.values.back();
    if (what == 0) {
        source += "constexpr auto bad = " + refused_operation(s) + ";\n";
    } else {
        source += "constexpr auto o = " + declared("o", v.type) + ";\n";
        source += what == 1 ? "constexpr auto bad = " + refused_program(s, "o", v) + ";\n"
                            : "constexpr auto whole = pl::program<\"whole\">(pl::update(o, " + v.text + "));\nconstexpr auto scheduled = whole" +
                                  careless_schedule(s) + ";\nvoid run(pl::thread_communicator& comm) { pl::executable runs{scheduled, comm}; }\n";
    }
    return source + "#endif\n";
}

}  // namespace soak
