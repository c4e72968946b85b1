// Programs as pictures: SVG that any browser shows, stage below stage.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/markup.hpp>
#include <plait/plan/graph_layout.hpp>
#include <plait/plan/picture.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plait {
namespace detail {

/// Calls use(stage, y, height) for the frame of each stage.
template <class Use>
void for_each_frame(const graph_layout& l, Use&& use)
{
    for (std::size_t first = 0; first < l.rows.size();) {
        std::size_t end = first;
        while (end < l.rows.size() && l.rows[end].stage == l.rows[first].stage) { ++end; }
        const double y = l.rows[first].y - graph_layout::heading;
        if (l.rows[first].stage >= 0) { use(l.rows[first].stage, y, l.rows[end - 1].y + graph_layout::row_height - 6 - y); }
        first = end;
    }
}

inline void write_frames(std::string& s, const picture& p, const graph_layout& l)
{
    constexpr std::string_view looks[] = {"stage computes", "stage moves", "stage both"};
    for_each_frame(l, [&](int stage, double y, double height) {
        const auto kind = static_cast<int>(p.stages[static_cast<std::size_t>(stage)].kind);
        s += joined({"<rect class=\"", looks[kind], "\" x=\"1\" y=\"", decimal(y + 1, 1), "\" width=\"", decimal(l.width - 2, 1),
                     "\" height=\"", decimal(height, 1), "\" rx=\"6\"/>\n"});
    });
}
inline void write_headings(std::string& s, const picture& p, const graph_layout& l)
{
    for_each_frame(l, [&](int stage, double y, double) {
        const picture::stage& st = p.stages[static_cast<std::size_t>(stage)];
        s += joined({"<text class=\"head\" x=\"12\" y=\"", decimal(y + 20, 1), "\">", stage, ": ", markup_text(st.name),
                     "<tspan class=\"type\">", markup_text(remark_on(st)), "</tspan></text>\n"});
    });
}

/// Boxes without a type are lower.
inline double height_of(const picture::box& b) { return graph_layout::box_height - (b.type.empty() ? 10 : 0); }

/// Lines are curves that leave and reach boxes upright and are smooth where they bend (Catmull and Rom 1974).
inline void write_lines(std::string& s, const picture& p, const graph_layout& l)
{
    const auto inset = [&](std::size_t spot) {
        return (graph_layout::box_height - height_of(p.boxes[static_cast<std::size_t>(l.spots[spot].box)])) / 2;
    };
    for (const std::vector<std::size_t>& through : l.lines) {
        const auto x = [&](std::size_t i) { return l.spots[through[i]].x; };
        const std::size_t last = through.size() - 1;
        for (std::size_t i = 0; i < last; ++i) {
            const double half = graph_layout::box_height / 2;
            const double from = l.rows[l.spots[through[i]].row].y + (i == 0 ? 2 * half - inset(through[0]) : half);
            const double to = l.rows[l.spots[through[i + 1]].row].y + (i + 1 == last ? inset(through[last]) : half);
            const double bow = (to - from) / 2.5;
            const double leans = i == 0 ? 0 : (x(i + 1) - x(i - 1)) / 5;
            const double arrives = i + 1 == last ? 0 : (x(i + 2) - x(i)) / 5;
            s += i == 0 ? joined({"<path d=\"M", decimal(x(0), 1), " ", decimal(from, 1)}) : std::string{};
            s += joined({"C", decimal(x(i) + leans, 1), " ", decimal(from + bow, 1), " ", decimal(x(i + 1) - arrives, 1), " ",
                         decimal(to - bow, 1), " ", decimal(x(i + 1), 1), " ", decimal(to, 1)});
        }
        s += "\"/>\n";
    }
}

inline void write_boxes(std::string& s, const picture& p, const graph_layout& l)
{
    constexpr std::string_view looks[] = {"tensor", "compute", "contraction", "collective", "update"};
    for (const graph_layout::spot& at : l.spots) {
        if (at.box < 0) { continue; }
        const picture::box& b = p.boxes[static_cast<std::size_t>(at.box)];
        const double height = height_of(b);
        const double y = l.rows[at.row].y + (graph_layout::box_height - height) / 2;
        s += joined({"<rect class=\"", looks[static_cast<int>(b.look)], "\" x=\"", decimal(at.x - at.width / 2, 1), "\" y=\"", decimal(y, 1),
                     "\" width=\"", decimal(at.width, 1), "\" height=\"", decimal(height, 1), "\" rx=\"",
                     b.look == box_look::tensor || b.look == box_look::update ? 12 : 4, "\"/>"});
        s += joined({"<text x=\"", decimal(at.x, 1), "\" y=\"", decimal(y + (b.type.empty() ? 16 : 14), 1), "\">", markup_text(b.text), "</text>"});
        if (!b.type.empty()) {
            s += joined({"<text class=\"type\" x=\"", decimal(at.x, 1), "\" y=\"", decimal(y + 27, 1), "\">", markup_text(b.type), "</text>"});
        }
        s += "\n";
    }
}

inline std::string svg_of(const picture& p)
{
    constexpr std::string_view style = R"(<style>
.plait-graph{font-family:system-ui,sans-serif;font-size:12px;max-width:100%;height:auto}
.plait-graph text{fill:#1f2328;text-anchor:middle}.plait-graph .head{text-anchor:start;font-weight:600;paint-order:stroke;stroke:#f6f8fa;stroke-width:5}
.plait-graph .type{font-size:10px;fill:#59636e;font-weight:400}.plait-graph path{fill:none;stroke:#818b98;stroke-width:1.2}
.plait-graph .paper{fill:#fff}.plait-graph .stage{fill:#f6f8fa;stroke:#d8dee4}.plait-graph .computes{stroke:#0072b2}
.plait-graph .moves{stroke:#e69f00}.plait-graph .both{stroke:#1f2328;stroke-width:2}
.plait-graph .tensor{fill:#fff;stroke:#818b98}.plait-graph .update{fill:#fff;stroke:#1f2328;stroke-width:2}
.plait-graph .compute{fill:#dcecf7;stroke:#0072b2}.plait-graph .contraction{fill:#9fcbe8;stroke:#0072b2;stroke-width:2}
.plait-graph .collective{fill:#f7d794;stroke:#b87f00;stroke-width:2}
@media (prefers-color-scheme:dark){
.plait-graph text{fill:#e6edf3}.plait-graph .type{fill:#9da7b1}.plait-graph .paper{fill:#0d1117}
.plait-graph .stage{fill:#161b22}.plait-graph .head{stroke:#161b22}.plait-graph .both{stroke:#e6edf3}.plait-graph .computes{stroke:#56b4e9}
.plait-graph .tensor{fill:#0d1117}.plait-graph .update{fill:#0d1117;stroke:#e6edf3}
.plait-graph .compute{fill:#12334a;stroke:#56b4e9}.plait-graph .contraction{fill:#1c5379;stroke:#56b4e9}
.plait-graph .collective{fill:#5c4206;stroke:#e69f00}}
</style>
)";
    const graph_layout l(p);
    std::string s = joined({"<svg class=\"plait-graph\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", decimal(l.width, 0), " ",
                            decimal(l.height, 0), "\" width=\"", decimal(l.width, 0), "\" height=\"", decimal(l.height, 0),
                            "\" role=\"img\" aria-label=\"", markup_text(p.title), "\">\n", style,
                            "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"});
    write_frames(s, p, l);
    write_lines(s, p, l);
    write_headings(s, p, l);
    write_boxes(s, p, l);
    return s + "</svg>\n";
}

}  // namespace detail

/// A program, scheduled or not, as SVG: passes from top to bottom as they run, in each its operations below what they are computed
/// from. Types stand where they change. It stands alone or inside a page, in light and dark.
template <auto Graph>
std::string graph_svg(program_t<Graph> program)
{
    return detail::svg_of(detail::picture_of(program));
}
/// The same of an executable's program: `graph_svg(run.image())`.
inline std::string graph_svg(const program_image& image)
{
    return detail::svg_of(detail::picture_of(image));
}

}  // namespace plait
