// Timelines as files for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <plait/core/error.hpp>
#include <plait/core/json.hpp>
#include <plait/core/write_file.hpp>
#include <plait/run/gather.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace plait {
namespace detail {

/// Nanoseconds as microseconds, exactly.
inline std::string microseconds(std::int64_t ns)
{
    std::string digits = std::to_string(ns < 0 ? -ns : ns);
    if (digits.size() < 4) { digits.insert(0, 4 - digits.size(), '0'); }
    digits.insert(digits.size() - 3, ".");
    return (ns < 0 ? "-" : "") + digits;
}

/// What an event is called: its pass, or what it is.
inline std::string name_of_event(const timeline& t, const trace_event& e)
{
    const traced_program& p = t.programs[static_cast<std::size_t>(e.program)];
    if (e.what == activity::run) { return p.name; }
    const bool known = e.pass >= 0 && static_cast<std::size_t>(e.pass) < p.stages.size();
    return known ? p.stages[static_cast<std::size_t>(e.pass)].name : std::string{name_of(e.what)};
}

}  // namespace detail

/// A timeline in Chrome's trace event format: a process per rank, a thread per lane, times from the first event on.
inline std::string chrome_json(const timeline& t)
{
    std::int64_t first = 0;
    for (const trace_event& e : t.events) { first = &e == t.events.data() ? e.begin : std::min(first, e.begin); }
    std::string s = "{\"displayTimeUnit\": \"ns\",\n\"otherData\": {";
    s += joined({"\"dropped\": ", t.dropped, ", \"clock_error_ns\": ", t.clock_error, "},\n\"traceEvents\": [\n"});
    for (int r = 0; r < t.ranks; ++r) {
        const auto name = [&](const char* what, int lane, std::string_view called) {
            s += joined({"{\"ph\": \"M\", \"pid\": ", r, ", \"tid\": ", lane, ", \"name\": \"", what,
                         "\", \"args\": {\"name\": \"", called, "\"}},\n"});
        };
        name("process_name", 0, joined({"rank ", r}));
        for (int lane = 0; lane < 3; ++lane) { name("thread_name", lane, name_of(static_cast<trace_lane>(lane))); }
    }
    for (const trace_event& e : t.events) {
        const traced_program& p = t.programs[static_cast<std::size_t>(e.program)];
        s += joined({"{\"ph\": \"X\", \"pid\": ", e.rank, ", \"tid\": ", static_cast<int>(e.lane),
                     ", \"ts\": ", detail::microseconds(e.begin - first),
                     ", \"dur\": ", detail::microseconds(e.end - e.begin), ", \"cat\": \"", name_of(e.what),
                     "\", \"name\": ", json::value(detail::name_of_event(t, e)).text(), ", \"args\": {\"program\": ",
                     json::value(p.name).text(), ", \"run\": ", e.run});
        if (e.pass >= 0) { s += joined({", \"pass\": ", e.pass}); }
        if (e.chunk >= 0) { s += joined({", \"chunk\": ", e.chunk}); }
        s += "}},\n";
    }
    s.erase(s.size() - 2, 1);  // the last comma
    return s + "]}\n";
}

/// Writes it to a file, whole or not at all. Open it at ui.perfetto.dev or chrome://tracing.
/// @throws plait::error that names the path and what went wrong.
inline void write_chrome_json(const timeline& t, const std::filesystem::path& path) { write_file(path, chrome_json(t)); }
inline void write_chrome_json(const trace& t, const std::filesystem::path& path)
{
    write_chrome_json(timeline_of(t), path);
}

}  // namespace plait
