// Timelines as pictures: SVG that any browser shows.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/markup.hpp>
#include <plait/run/chrome_json.hpp>
#include <plait/run/gather.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// How a timeline is drawn.
struct timeline_options {
    std::string title{};
    int width = 1280;         ///< of the picture
    std::int64_t length = 0;  ///< nanoseconds that the axis covers at least, so that pictures can have one scale
};

/// From the first event's beginning to the last one's end, in nanoseconds.
inline std::int64_t length_of(const timeline& t)
{
    if (t.events.empty()) { return 0; }
    const auto first = std::ranges::min(t.events, {}, &trace_event::begin).begin;
    return std::ranges::max(t.events, {}, &trace_event::end).end - first;
}

namespace detail {

/// Nanoseconds for people: "1.25 ms".
inline std::string duration_text(std::int64_t ns)
{
    const double t = static_cast<double>(ns);
    const auto with = [](double value, const char* unit) {
        return decimal(value, value < 10 ? 2 : value < 100 ? 1 : 0) + " " + unit;
    };
    if (t < 1e3) { return std::to_string(ns) + " ns"; }
    return t < 1e6 ? with(t / 1e3, "µs") : t < 1e9 ? with(t / 1e6, "ms") : with(t / 1e9, "s");
}

/// Draws one timeline. Two lanes for each rank: above, what its thread computes; below, what moves.
class timeline_drawing {
  public:
    timeline_drawing(const timeline& t, const timeline_options& o)
        : t_(t), o_(o), length_(std::max<std::int64_t>({length_of(t), o.length, 1}))
    {
        for (const trace_event& e : t.events) { first_ = &e == t.events.data() ? e.begin : std::min(first_, e.begin); }
        scale_ = (o.width - left - right) / static_cast<double>(length_);
        top_ = o.title.empty() ? 30 : 54;
    }

    std::string draw()
    {
        const int height = top_ + t_.ranks * rank_height + 18;
        s_ = joined({"<svg class=\"plait-timeline\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", o_.width, " ", height,
                     "\" width=\"", o_.width, "\" height=\"", height, "\" role=\"img\" aria-label=\"",
                     markup_text(o_.title.empty() ? "timeline" : o_.title), "\">\n", style});
        s_ += joined({"<rect class=\"paper\" width=\"", o_.width, "\" height=\"", height, "\"/>\n"});
        if (!o_.title.empty()) { text(left, 22, "title", o_.title); }
        legend();
        for (int r = 0; r < t_.ranks; ++r) { lanes(r); }
        axis();
        for (int r = 0; r < t_.ranks; ++r) { rank(r); }
        return s_ + "</svg>\n";
    }

  private:
    static constexpr int left = 140;
    static constexpr int right = 20;
    static constexpr int lane = 22;
    static constexpr int rank_height = 2 * lane + 16;
    // Okabe and Ito's blue and orange are told apart by nearly everyone.
    static constexpr std::string_view style = R"(<style>
.plait-timeline{font-family:system-ui,sans-serif;font-size:12px;max-width:100%;height:auto}
.plait-timeline text{fill:#1f2328}.plait-timeline .title{font-size:15px;font-weight:600}.plait-timeline .name{font-weight:600}
.plait-timeline .small{font-size:11px;fill:#59636e}.plait-timeline .end{text-anchor:end}.plait-timeline .middle{text-anchor:middle}
.plait-timeline .paper{fill:#fff}.plait-timeline .lane{fill:#f3f5f7}.plait-timeline .grid{stroke:#d8dee4}
.plait-timeline .c{fill:#0072b2}.plait-timeline .m{fill:#e69f00}.plait-timeline .b{fill:#e69f00;opacity:.4}
.plait-timeline .w{fill:#9aa4ae}.plait-timeline .box{stroke:#fff;stroke-width:.6}
.plait-timeline .on-c{fill:#fff;font-size:11px}.plait-timeline .on-m{fill:#1f2328;font-size:11px}
@media (prefers-color-scheme:dark){
.plait-timeline text{fill:#e6edf3}.plait-timeline .small{fill:#9da7b1}.plait-timeline .paper{fill:#0d1117}
.plait-timeline .lane{fill:#1a2027}.plait-timeline .grid{stroke:#303840}.plait-timeline .c{fill:#56b4e9}
.plait-timeline .w{fill:#6b7682}.plait-timeline .box{stroke:#0d1117}
.plait-timeline .on-c,.plait-timeline .on-m{fill:#0d1117}}
</style>
)";

    /// A box in one lane, or in both.
    struct box {
        double from;
        double to;
        char look;  // c: compute, m: communication, b: waiting for data, w: waiting, f: fused
        bool both_lanes;
        const trace_event* event;
        int count;
    };

    [[nodiscard]] double x(std::int64_t at) const { return left + scale_ * static_cast<double>(at - first_); }
    void text(double at, double base, std::string_view look, std::string_view what)
    {
        s_ += joined({"<text x=\"", decimal(at, 1), "\" y=\"", decimal(base, 1), "\" class=\"", look, "\">", markup_text(what), "</text>\n"});
    }
    void rect(double at, double y, double width, double height, std::string_view look)
    {
        s_ += joined({"<rect x=\"", decimal(at, 2), "\" y=\"", decimal(y, 1), "\" width=\"", decimal(width, 2), "\" height=\"",
                      decimal(height, 1), "\" class=\"", look, "\"/>"});
    }

    void legend()
    {
        const double y = top_ - 22;
        double at = left;
        const auto entry = [&](char look, bool both, std::string_view what) {
            paint(at, y, 18, 12, look, both);
            text(at + 24, y + 10, "", what);
            at += 24 + 7.0 * static_cast<double>(what.size()) + 16;
        };
        entry('c', false, "computation");
        entry('m', false, "communication");
        entry('f', true, "both in one kernel");
        entry('w', false, "waiting");
        if (t_.dropped > 0) { text(at, y + 10, "small", joined({t_.dropped, " events were not recorded"})); }
    }

    void axis()
    {
        const double bottom = top_ + t_.ranks * rank_height - 8;
        const double target = static_cast<double>(length_) / 10;
        const double power = std::pow(10, std::floor(std::log10(target)));
        const double step = power * (target / power <= 1 ? 1 : target / power <= 2 ? 2 : target / power <= 5 ? 5 : 10);
        const double unit = length_ < 2'000 ? 1 : length_ < 2'000'000 ? 1e3 : length_ < 2'000'000'000 ? 1e6 : 1e9;
        const int decimals = step < unit ? static_cast<int>(std::ceil(std::log10(unit / step) - 1e-9)) : 0;
        for (int i = 0; i * step <= static_cast<double>(length_); ++i) {
            const double at = left + scale_ * i * step;
            s_ += joined({"<line class=\"grid\" x1=\"", decimal(at, 1), "\" x2=\"", decimal(at, 1), "\" y1=\"", top_ - 4, "\" y2=\"",
                          decimal(bottom, 1), "\"/>\n"});
            text(at, bottom + 16, "small middle", decimal(i * step / unit, decimals));
        }
        const std::string_view name = unit == 1 ? "ns" : unit == 1e3 ? "µs" : unit == 1e6 ? "ms" : "s";
        text(left - 24, bottom + 16, "small end", joined({"time, ", name}));
    }

    void lanes(int r)
    {
        const double y = top_ + r * rank_height;
        text(12, y + lane + 4, "name", joined({"rank ", r}));
        text(left - 8, y + lane - 7, "small end", "computes");
        text(left - 8, y + 2 * lane - 7, "small end", "moves data");
        rect(left, y, o_.width - left - right, lane - 1, "lane");
        rect(left, y + lane, o_.width - left - right, lane - 1, "lane");
        s_ += "\n";
    }
    void rank(int r)
    {
        const double y = top_ + r * rank_height;
        const bool has_link = std::ranges::any_of(
            t_.events, [&](const trace_event& e) { return e.rank == r && e.lane == trace_lane::link; });
        for (const trace_lane l : {trace_lane::compute, trace_lane::communication, trace_lane::link}) { boxes(r, l, has_link, y); }
    }

    /// The boxes of a lane. Such as are too narrow to be seen are drawn as one.
    void boxes(int r, trace_lane l, bool has_link, double y)
    {
        std::vector<box> all;
        for (const trace_event& e : t_.events) {
            if (e.rank != r || e.lane != l || e.what == activity::run) { continue; }
            const char look = e.what == activity::compute ? 'c'
                              : e.what == activity::fused ? 'f'
                              : e.what == activity::waiting ? 'w'
                              : has_link && l == trace_lane::communication ? 'b' : 'm';
            const box b{x(e.begin), x(e.end), look, e.what == activity::fused && !has_link, &e, 1};
            const bool narrow = b.to - b.from < 1 && !all.empty() && all.back().look == look && all.back().event->pass == e.pass &&
                                b.from - all.back().to < 0.4 && all.back().to - all.back().from < 12;
            if (narrow) {
                all.back().to = b.to;
                ++all.back().count;
            } else {
                all.push_back(b);
            }
        }
        for (const box& b : all) { draw(b, y + (l == trace_lane::compute ? 0 : lane)); }
    }
    void draw(const box& b, double y)
    {
        const double width = std::max(b.to - b.from, 0.6);
        const trace_event& e = *b.event;
        const std::string what = name_of_event(t_, e);
        std::string title = (e.lane == trace_lane::link ? "transfer for " : "") + what;
        if (b.count > 1) {
            title += joined({", ", b.count, " of them"});
        } else {
            if (e.chunk >= 0) { title += joined({", chunk ", e.chunk}); }
            title += ": " + duration_text(e.end - e.begin);
        }
        s_ += "<g><title>" + markup_text(title) + "</title>";
        paint(b.from, y, width, lane - 1, b.look, b.both_lanes);
        label(b, e.chunk >= 0 && e.what != activity::waiting ? std::to_string(e.chunk) : what, width, y);
        s_ += "</g>\n";
    }
    void paint(double at, double y, double width, double height, char look, bool both_lanes)
    {
        const std::string boxed = width > 3 ? std::string{" box"} : std::string{};
        const double inset = height > 14 ? 8 : 4;
        if (look == 'w') { return rect(at, y + inset, width, height - 2 * inset, "w"); }
        if (look != 'f') { return rect(at, y, width, height, std::string(1, look) + boxed); }
        // Both in one kernel: the two colours, in both lanes, or above each other in the upper one.
        const double lower = both_lanes && height > 14 ? lane : height * 0.7;
        rect(at, y, width, both_lanes && height > 14 ? height : lower, "c" + boxed);
        rect(at, y + lower, width, both_lanes && height > 14 ? height : height - lower, "m" + boxed);
    }
    /// As much of a label as a box has room for.
    void label(const box& b, std::string what, double width, double y)
    {
        constexpr double letter = 6.3;
        const auto room = static_cast<std::size_t>(std::max(0.0, (width - 8) / letter));
        if (b.look == 'w' || b.look == 'b' || room < std::min<std::size_t>(what.size(), 4)) { return; }
        if (what.size() > room) { what = what.substr(0, room - 1) + "…"; }
        const bool low = b.look == 'f' && !b.both_lanes;
        text(b.from + 4, y + (low ? 12 : 15), b.look == 'm' ? "on-m" : "on-c", what);
    }

    const timeline& t_;
    const timeline_options& o_;
    std::int64_t length_;
    std::int64_t first_ = 0;
    double scale_ = 1;
    int top_ = 0;
    std::string s_;
};

}  // namespace detail

/// A timeline as SVG: ranks as rows of two lanes, computation and communication in two colours, a time axis; what a box is appears
/// when the mouse rests on it. It stands alone or inside a page, in light and dark.
inline std::string timeline_svg(const timeline& t, const timeline_options& options = {})
{
    return detail::timeline_drawing(t, options).draw();
}
inline std::string timeline_svg(const trace& t, const timeline_options& options = {})
{
    return timeline_svg(timeline_of(t), options);
}

}  // namespace plait
