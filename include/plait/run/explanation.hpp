// What an executable does, stage by stage, as data, text and JSON.
#pragma once

#include <plait/core/json.hpp>
#include <plait/core/table.hpp>
#include <plait/plan/cost.hpp>
#include <plait/plan/stage_name.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace plait {

/// One stage of an explanation: a pass of the plan.
struct explained_stage {
    std::string name;   ///< "reduce_scatter avg + compute + all_gather p"
    std::string where;  ///< "whole", "slice" (of each rank), "group 1"
    stage_kind kind = stage_kind::compute;
    int pipeline = 0;   ///< counted from 1; its stages run at once, and their predicted time stands with the first
    int chunks = 1;
    int launches = 1;   ///< of one run
    stage_cost cost{};
    double predicted = 0;  ///< seconds
    double limit = 0;      ///< seconds: the bare memory traffic, arithmetic or transfers on the machine described
    double measured = -1;  ///< seconds, or -1 if it was not measured
};

/// A staging copy of a tensor that other ranks cannot reach where it is.
struct explained_copy {
    std::string tensor;
    double bytes = 0;
};

/// What `explain` found. Data to look at, and as text and JSON.
struct explanation {
    std::string program;
    std::string sizes;  ///< "N = 1024"; "" before the first run: then bytes and times are 0
    int ranks = 1;
    int rank = 0;
    std::string chosen;  ///< parameters that were set
    std::size_t workspace = 0;
    std::vector<explained_stage> stages;
    std::vector<explained_copy> copies;

    /// Of all stages.
    [[nodiscard]] double predicted() const
    {
        double t = 0;
        for (const explained_stage& s : stages) { t += s.predicted; }
        return t;
    }
    [[nodiscard]] stage_cost cost() const
    {
        stage_cost c;
        for (const explained_stage& s : stages) { c += s.cost; }
        return c;
    }
    [[nodiscard]] int launches() const
    {
        int n = 0;
        for (const explained_stage& s : stages) { n += s.launches; }
        return n;
    }
    /// A table.
    [[nodiscard]] std::string text() const;
    /// The same as a JSON object.
    [[nodiscard]] std::string json() const;
};

inline std::string explanation::text() const
{
    std::string s = "program \"" + program + "\", " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
    s += sizes.empty() ? "; bytes and times are known after the first run" : ", " + sizes;
    s += (chosen.empty() ? "" : "; " + chosen) + "\n";
    table t({"stage", "runs on", "launches", "memory", "wire", "predicted", "measured", "of limit"});
    for (const explained_stage& e : stages) {
        std::string name = e.name;
        if (e.kind == stage_kind::fused) { name += " [fused]"; }
        if (e.pipeline > 0) { name += " [pipeline " + std::to_string(e.pipeline) + ", " + std::to_string(e.chunks) + (e.chunks == 1 ? " chunk]" : " chunks]"); }
        const bool later = e.pipeline > 0 && e.predicted == 0;
        t.row({name, e.where, std::to_string(e.launches), bytes_text(e.cost.memory), bytes_text(e.cost.wire),
               later ? "(above)" : seconds_text(e.predicted), e.measured < 0 ? "" : seconds_text(e.measured),
               e.measured <= 0 ? "" : percent_text(e.limit / e.measured)});
    }
    const stage_cost all = cost();
    t.row({"all", "", std::to_string(launches()), bytes_text(all.memory), bytes_text(all.wire), seconds_text(predicted()), "", ""});
    s += t.text();
    s += "workspace " + bytes_text(static_cast<double>(workspace)) + "\n";
    for (const explained_copy& c : copies) {
        s += "staged: tensor \"" + c.tensor + "\" is copied, " + bytes_text(c.bytes) + ", as other ranks cannot reach it; comm.symmetric<T>(n) makes buffers that they can\n";
    }
    return s;
}

inline std::string explanation::json() const
{
    json::array list;
    for (const explained_stage& e : stages) {
        json::object o{{"stage", e.name},
                       {"runs_on", e.where},
                       {"kind", std::string(name_of(e.kind))},
                       {"pipeline", e.pipeline},
                       {"chunks", e.chunks},
                       {"launches", e.launches},
                       {"memory_bytes", e.cost.memory},
                       {"wire_bytes", e.cost.wire},
                       {"flops", e.cost.flops},
                       {"predicted_seconds", e.predicted},
                       {"limit_seconds", e.limit}};
        if (e.measured >= 0) { o.emplace_back("measured_seconds", e.measured); }
        list.emplace_back(std::move(o));
    }
    json::array staged;
    for (const explained_copy& c : copies) { staged.emplace_back(json::object{{"tensor", c.tensor}, {"bytes", c.bytes}}); }
    return json::value(json::object{{"program", program},
                                    {"sizes", sizes},
                                    {"ranks", ranks},
                                    {"rank", rank},
                                    {"parameters", chosen},
                                    {"workspace_bytes", static_cast<double>(workspace)},
                                    {"predicted_seconds", predicted()},
                                    {"stages", std::move(list)},
                                    {"staged", std::move(staged)}})
               .text(2) +
           "\n";
}

/// Two explanations side by side, such as those of two schedules of a program: what each launches, moves and takes.
inline std::string diff(const explanation& a, const explanation& b)
{
    table t({"", "this", "other", "other / this"});
    const auto row = [&t](const char* what, double x, double y, auto&& text) {
        t.row({what, text(x), text(y), x > 0 ? factor_text(y / x) : ""});
    };
    const auto count = [](double n) { return std::to_string(static_cast<int>(n)); };
    row("stages", static_cast<double>(a.stages.size()), static_cast<double>(b.stages.size()), count);
    row("launches", a.launches(), b.launches(), count);
    row("meetings", a.cost().meetings, b.cost().meetings, count);
    row("memory", a.cost().memory, b.cost().memory, bytes_text);
    row("wire", a.cost().wire, b.cost().wire, bytes_text);
    row("workspace", static_cast<double>(a.workspace), static_cast<double>(b.workspace), bytes_text);
    row("predicted", a.predicted(), b.predicted(), seconds_text);
    std::string s = t.text();
    const auto only = [&s](const char* mark, const explanation& in, const explanation& missing) {
        for (const explained_stage& e : in.stages) {
            const bool both = std::ranges::any_of(missing.stages, [&](const explained_stage& o) { return o.name == e.name && o.where == e.where && o.pipeline == e.pipeline; });
            if (!both) { s += std::string(mark) + e.name + " (" + e.where + (e.pipeline > 0 ? ", in a pipeline" : "") + ")\n"; }
        }
    };
    only("- ", a, b);
    only("+ ", b, a);
    return s;
}

}  // namespace plait
