// Programs in the DOT language of Graphviz.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/json.hpp>
#include <plait/core/markup.hpp>
#include <plait/plan/picture.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace plait {
namespace detail {

inline std::string to_dot(const picture& p)
{
    constexpr std::string_view looks[] = {
        "shape=box style=\"filled,rounded\" fillcolor=\"#f3f5f7\" color=\"#59636e\"",   // tensor
        "shape=box style=\"filled,rounded\" fillcolor=\"#dcecf7\" color=\"#0072b2\"",   // compute
        "shape=box style=filled fillcolor=\"#9fcbe8\" color=\"#0072b2\" penwidth=2",    // contraction
        "shape=box style=filled fillcolor=\"#f7d794\" color=\"#b87f00\" penwidth=2",    // collective
        "shape=box style=\"filled,rounded\" fillcolor=\"#f3f5f7\" color=\"#1f2328\" penwidth=2"};  // update
    constexpr std::string_view frames[] = {"color=\"#0072b2\"", "color=\"#e69f00\"", "color=\"#1f2328\" penwidth=2"};
    std::string s = "digraph " + json::value(p.title).text() + " {\n"
                    "  graph [fontname=\"Helvetica\" fontsize=12 labeljust=l style=rounded nodesep=0.2 ranksep=0.35];\n"
                    "  node [fontname=\"Helvetica\" fontsize=12 margin=\"0.12,0.05\" height=0.3];\n"
                    "  edge [color=\"#59636e\" arrowsize=0.6];\n";
    const auto node_text = [&](std::size_t i, const char* indent) {
        const picture::box& b = p.boxes[i];
        s += joined({indent, "n", i, " [", looks[static_cast<std::size_t>(b.look)], " label=<", markup_text(b.text)});
        if (!b.type.empty()) { s += "<br/><font point-size=\"9\" color=\"#59636e\">" + markup_text(b.type) + "</font>"; }
        s += ">];\n";
    };
    const auto in_stage = [&](const picture::box& b, std::size_t stage) {
        return b.look != box_look::tensor && b.stage == static_cast<int>(stage);
    };
    for (std::size_t i = 0; i < p.boxes.size(); ++i) {
        if (p.boxes[i].look == box_look::tensor || p.boxes[i].stage < 0) { node_text(i, "  "); }
    }
    for (std::size_t stage = 0; stage < p.stages.size(); ++stage) {
        const picture::stage& st = p.stages[stage];
        s += joined({"  subgraph cluster_", stage, " {\n    label=", json::value(joined({stage, ": ", st.name, remark_on(st)})).text(),
                     " ", frames[static_cast<int>(st.kind)], ";\n"});
        for (std::size_t i = 0; i < p.boxes.size(); ++i) {
            if (in_stage(p.boxes[i], stage)) { node_text(i, "    "); }
        }
        s += "  }\n";
    }
    for (const picture::line& l : p.lines) { s += joined({"  n", l.from, " -> n", l.to, ";\n"}); }
    return s + "}\n";
}

}  // namespace detail

/// A program, scheduled or not, in the DOT language: `dot -Tsvg`. What runs in one pass has one frame; collectives are orange,
/// operations that read whole operands dark blue; types stand where they change.
template <auto Graph>
std::string to_dot(program_t<Graph> program)
{
    return detail::to_dot(detail::picture_of(program));
}
/// The same of an executable's program: `to_dot(run.image())`.
inline std::string to_dot(const program_image& image) { return detail::to_dot(detail::picture_of(image)); }

}  // namespace plait
