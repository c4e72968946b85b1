// Machine descriptions as JSON files.
#pragma once

#include <plait/core/json.hpp>
#include <plait/core/read_file.hpp>
#include <plait/core/write_file.hpp>
#include <plait/fabric/thrown.hpp>
#include <plait/plan/machine.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace plait {
namespace detail {

/// Calls field(name, number) for all numbers of a machine but its levels.
template <class Machine, class Field>
void for_each_number(Machine& m, Field&& field)
{
    field("launch", m.launch);
    field("meeting", m.meeting);
    field("bandwidth", m.bandwidth);
    field("cache", m.cache);
    field("cache_bandwidth", m.cache_bandwidth);
    field("product_rate", m.product_rate);
    field("step_rate", m.step_rate);
}

/// Times and sizes may be 0, rates must be more.
inline double checked_number(std::string_view name, const json::value& v, bool positive)
{
    const double d = v.get<double>(name);
    if (!(d >= 0) || (positive && d == 0)) {
        throw error({"\"", name, "\" is ", json::value(d).text(), "; it must be ", positive ? "above 0" : "0 or more"});
    }
    return d;
}

}  // namespace detail

/// A machine as JSON. Without a level's "ranks" it is for any number of them, without its "bandwidth" it is shared memory.
inline std::string to_json(const machine& m)
{
    json::object o;
    detail::for_each_number(m, [&](const char* name, double number) { o.emplace_back(name, number); });
    json::array levels;
    for (const machine::level& l : m.levels) {
        json::object level;
        if (l.ranks != std::numeric_limits<int>::max()) { level.emplace_back("ranks", l.ranks); }
        level.emplace_back("latency", l.latency);
        if (std::isfinite(l.bandwidth)) { level.emplace_back("bandwidth", l.bandwidth); }
        levels.emplace_back(std::move(level));
    }
    o.emplace_back("levels", std::move(levels));
    return json::value(std::move(o)).text(1) + "\n";
}

/// A machine from JSON. Every number must be there, no other may be, and rates must be above 0.
/// @throws plait::error that says what is wrong.
inline machine machine_from_json(std::string_view text)
{
    const json::value whole = json::parse(text);
    machine m;
    const auto refuse_others = [](const json::object& o, auto&& known) {
        for (const auto& [name, v] : o) {
            if (!known(name)) { throw error({"\"", name, "\" is no number of a machine"}); }
        }
    };
    refuse_others(whole.get<json::object>("a machine"), [&](const std::string& name) {
        bool is = name == "levels";
        detail::for_each_number(m, [&](const char* n, double) { is = is || name == n; });
        return is;
    });
    detail::for_each_number(m, [&](const char* name, double& number) {
        const std::string_view n = name;
        const bool rate = n == "bandwidth" || n == "cache_bandwidth" || n == "product_rate" || n == "step_rate";
        number = detail::checked_number(name, whole.at(name), rate);
    });
    const auto& levels = whole.at("levels").get<json::array>("levels");
    if (levels.size() != machine::n_levels) { throw error({"\"levels\" are ", levels.size(), "; there must be ", machine::n_levels}); }
    for (std::size_t i = 0; i < levels.size(); ++i) {
        machine::level& l = m.levels[i];
        refuse_others(levels[i].get<json::object>("a level"),
                      [](const std::string& name) { return name == "ranks" || name == "latency" || name == "bandwidth"; });
        l.latency = detail::checked_number("latency", levels[i].at("latency"), false);
        for (const auto& [name, v] : levels[i].get<json::object>("a level")) {
            if (name == "bandwidth") { l.bandwidth = detail::checked_number(name, v, true); }
            if (name != "ranks") { continue; }
            const double ranks = detail::checked_number(name, v, true);
            if (ranks != std::floor(ranks) || ranks > std::numeric_limits<int>::max()) { throw error("\"ranks\" is no whole number"); }
            l.ranks = static_cast<int>(ranks);
        }
    }
    return m;
}

/// Writes a machine to a file, whole. @throws plait::error if that fails.
inline void save_machine(const machine& m, const std::string& path) { write_file(path, to_json(m)); }

/// Reads a machine. @throws plait::error that names the file and what is wrong with it.
inline machine load_machine(const std::string& path)
{
    const std::optional<std::string> text = read_file(path);
    if (!text) { throw error({"there is no machine description '", path, "'; make one with calibrate and save_machine"}); }
    try {
        return machine_from_json(*text);
    } catch (const error&) {
        throw error({"machine description '", path, "': ", detail::text_of_current_exception()});
    }
}

}  // namespace plait
