// The page of a report: HTML that needs nothing beside it.
#pragma once

#include <plait/core/markup.hpp>
#include <plait/core/table.hpp>
#include <plait/see.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace demo {

/// A schedule on the page: what was measured of it.
struct shown_schedule {
    std::string name;
    std::string how;  ///< the transformations
    std::vector<double> seconds;
    std::string stages;  ///< a table, as text
    std::string graph;   ///< SVG
    double memory = 0;   ///< bytes that one rank reads and writes in a step
    double wire = 0;     ///< bytes that move between it and others
    plait::timeline times;  ///< of a typical run

    [[nodiscard]] double median() const
    {
        std::vector<double> sorted = seconds;
        std::ranges::sort(sorted);
        return sorted.empty() ? 0 : sorted[sorted.size() / 2];
    }
};

/// A program with its schedules, the unscheduled one first.
struct shown_program {
    std::string title;
    std::string about;  ///< what it is, on what it was measured
    std::string text;   ///< the program
    std::vector<shown_schedule> schedules;

    [[nodiscard]] const shown_schedule& best() const { return *std::ranges::min_element(schedules, {}, &shown_schedule::median); }
    [[nodiscard]] double ratio(const shown_schedule& s) const { return s.median() > 0 ? schedules[0].median() / s.median() : 1; }
};

namespace detail {

inline constexpr std::string_view page_style = R"(
:root{color-scheme:light dark;--ink:#1f2328;--soft:#59636e;--paper:#fff;--panel:#f6f8fa;--rule:#d8dee4;--bar:#0072b2;--best:#1a7f37}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b1;--paper:#0d1117;--panel:#161b22;--rule:#303840;--bar:#56b4e9;--best:#4ac26b}}
*{box-sizing:border-box}
body{margin:0 auto;padding:24px;max-width:1328px;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:28px;margin:0 0 4px}h2{font-size:22px;margin:48px 0 4px;border-top:1px solid var(--rule);padding-top:24px}
h3{font-size:16px;margin:28px 0 8px}p{margin:4px 0 12px;max-width:75em}.soft{color:var(--soft)}
pre{background:var(--panel);border:1px solid var(--rule);border-radius:6px;padding:12px;overflow-x:auto;font:12.5px/1.45 ui-monospace,monospace;margin:0 0 12px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:6px 16px 6px 0;text-align:right;border-bottom:1px solid var(--rule)}
th{font-weight:600;color:var(--soft)}th:first-child,td:first-child,td.how,th.how{text-align:left}td.how{font:12.5px ui-monospace,monospace;color:var(--soft)}
tr.best td{font-weight:600}tr.best td:first-child::after{content:" fastest";color:var(--best);font-weight:400;font-size:13px}
td.bar{width:240px}td.bar div{height:12px;background:var(--bar);border-radius:2px;min-width:2px}
svg{display:block;margin:0 0 12px}.graphs{display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start}.graphs figure{margin:0;max-width:100%}
figcaption{font-weight:600;margin-bottom:6px}details summary{cursor:pointer;font-weight:600;margin:8px 0}
.wide{overflow-x:auto}
)";

inline std::string cell(std::string_view what, std::string_view look = {})
{
    return "<td" + (look.empty() ? std::string{} : " class=\"" + std::string{look} + "\"") + ">" + plait::detail::markup_text(what) + "</td>";
}

inline std::string table_of_schedules(const shown_program& p)
{
    double longest = 0;
    for (const shown_schedule& s : p.schedules) { longest = std::max(longest, s.median()); }
    std::string t = "<div class=\"wide\"><table>\n<tr><th>schedule</th><th class=\"how\">made by</th><th>time</th><th></th>"
                    "<th>speedup</th><th>memory</th><th>wire</th></tr>\n";
    for (const shown_schedule& s : p.schedules) {
        t += &s == &p.best() ? "<tr class=\"best\">" : "<tr>";
        t += cell(s.name) + cell(s.how, "how") + cell(plait::seconds_text(s.median()));
        t += "<td class=\"bar\"><div style=\"width:" + plait::detail::decimal(longest > 0 ? 100 * s.median() / longest : 0, 1) + "%\"></div></td>";
        t += cell(plait::factor_text(p.ratio(s))) + cell(plait::bytes_text(s.memory)) + cell(plait::bytes_text(s.wire)) + "</tr>\n";
    }
    return t + "</table></div>\n<p class=\"soft\">Medians of " + std::to_string(p.schedules[0].seconds.size()) +
           " runs of each, in turn. Speedup: the unscheduled program's time over the schedule's. Memory and wire: bytes that one "
           "rank reads and writes in a run, the others' included, and that move between it and others.</p>\n";
}

inline std::string timeline_with_words(const shown_schedule& which, std::int64_t length)
{
    std::string s = plait::timeline_svg(which.times, {.title = which.name, .length = length});
    const plait::hidden_time h = plait::hidden_communication(which.times);
    if (h.moving == 0) { return s; }
    const double share = static_cast<double>(h.hidden) / static_cast<double>(h.moving);
    return s + "<p class=\"soft\">While data moved, the ranks computed for " + plait::percent_text(share) + " of the time.</p>\n";
}
/// The unscheduled program's and the fastest schedule's; the others can be opened.
inline std::string timelines_of(const shown_program& p)
{
    const shown_schedule& first = p.schedules[0];
    const shown_schedule& best = p.best();
    std::int64_t length = 0;
    for (const shown_schedule& s : p.schedules) { length = std::max(length, plait::length_of(s.times)); }
    std::string s = timeline_with_words(first, length);
    if (&best != &first) { s += timeline_with_words(best, length); }
    std::string others;
    for (const shown_schedule& o : p.schedules) {
        if (&o != &first && &o != &best) { others += timeline_with_words(o, length); }
    }
    return others.empty() ? s : s + "<details><summary>The other schedules</summary>" + others + "</details>\n";
}

inline std::string section_of(const shown_program& p)
{
    using plait::detail::markup_text;
    const shown_schedule& first = p.schedules[0];
    const shown_schedule& best = p.best();
    std::string s = "<section>\n<h2>" + markup_text(p.title) + "</h2>\n<p>" + markup_text(p.about) + "</p>\n";
    s += "<h3>Schedules</h3>\n" + table_of_schedules(p);
    s += "<h3>A run of the unscheduled program and of the fastest schedule, on one scale</h3>\n<div class=\"wide\">" + timelines_of(p) + "</div>\n";
    s += "<h3>Stages</h3>\n";
    for (const shown_schedule& x : p.schedules) { s += "<figure style=\"margin:0\"><figcaption>" + markup_text(x.name) + "</figcaption><pre>" + markup_text(x.stages) + "</pre></figure>\n"; }
    s += "<h3>Graphs</h3>\n<div class=\"graphs\">";
    for (const shown_schedule* which : {&first, &best}) {
        if (which == &best && &best == &first) { break; }
        s += "<figure><figcaption>" + markup_text(which->name) + "</figcaption>" + which->graph + "</figure>\n";
    }
    return s + "</div>\n<details><summary>The program as text</summary><pre>" + markup_text(p.text) + "</pre></details>\n</section>\n";
}

}  // namespace detail

/// The page.
inline std::string page_of(const std::vector<shown_program>& programs, std::string_view introduction)
{
    std::string s = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>plait: schedules, measured</title>\n<style>";
    s += detail::page_style;
    s += "</style>\n</head>\n<body>\n<h1>plait: schedules, measured</h1>\n<p class=\"soft\">" + plait::detail::markup_text(introduction) + "</p>\n";
    for (const shown_program& p : programs) { s += detail::section_of(p); }
    return s + "</body>\n</html>\n";
}

}  // namespace demo
