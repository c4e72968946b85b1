// The page of a report: one file, well-formed, with everything escaped.
#include "../../examples/support/page.hpp"
#include "run/json.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

bool has(std::string_view text, std::string_view what) { return text.find(what) != std::string_view::npos; }

demo::shown_schedule schedule(std::string name, double seconds)
{
    demo::shown_schedule s;
    s.name = std::move(name);
    s.how = "split<\"sum\"> | fuse";
    s.seconds = {seconds, 100 * seconds, seconds};
    s.stages = "a < b & c";
    s.graph = "<svg></svg>";
    s.times.programs.push_back({"p", 1, {{"reduce <sum>", plait::stage_kind::fused}}});
    s.times.events = {{.begin = 0, .end = static_cast<std::int64_t>(seconds * 1e9), .pass = 0, .what = plait::activity::fused},
                      {.begin = 10, .end = 30, .pass = 0, .what = plait::activity::communication, .lane = plait::trace_lane::link}};
    return s;
}

TEST_CASE("report: one page without anything from elsewhere")
{
    const demo::shown_program p{"A <program>", "about & more", "print < this", {schedule("slow", 2e-3), schedule("fast <&>", 1e-3), schedule("middle", 1.5e-3)}};
    const std::string page = demo::page_of({p, p}, "intro \"quoted\"");
    CHECK(checked::is_markup(page));
    for (const char* from_elsewhere : {"<script", "<link", "<img", "@import", "url(", "href="}) { CHECK(!has(page, from_elsewhere)); }
    CHECK(has(page, "A &lt;program&gt;"));
    CHECK(has(page, "intro &quot;quoted&quot;"));
    CHECK(has(page, "split&lt;&quot;sum&quot;&gt; | fuse"));
    CHECK(has(page, "a &lt; b &amp; c"));
    CHECK(has(page, "print &lt; this"));
    CHECK(has(page, "<tr class=\"best\"><td>fast &lt;&amp;&gt;</td>"));
    CHECK(has(page, "<summary>The other schedules</summary><svg class=\"plait-timeline\""));
    CHECK(has(page, "<td>2.00x</td>"));
    CHECK(has(page, "<td>1.00 ms</td>"));
    CHECK(has(page, "prefers-color-scheme:dark"));
    CHECK(has(page, "While data moved, the ranks computed for 100% of the time."));
}

TEST_CASE("report: a program whose unscheduled form is the fastest, and one without measurements")
{
    const demo::shown_program p{"p", "", "", {schedule("unscheduled", 1e-3), schedule("worse", 2e-3)}};
    const std::string page = demo::page_of({p}, "");
    CHECK(checked::is_markup(page));
    CHECK(has(page, "<td>0.50x</td>"));
    const demo::shown_program nothing{"p", "", "", {demo::shown_schedule{}}};
    CHECK(checked::is_markup(demo::page_of({nothing}, "")));
    CHECK(checked::is_markup(demo::page_of({}, "")));
}

}  // namespace
