// What the source of random programs is made of: a program with its schedules, and the list of all of them.
#pragma once

#include "run/harness.hpp"

#include <plait/lang/program.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/schedule/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace soak {

/// Whether a program may be transformed so, and has kernels then.
template <class Program, class Pass>
inline constexpr bool is_legal = [] {
    if constexpr (plait::detail::apply_pass<Program, Pass>::result.violated != plait::rule::none) {
        return false;
    } else {
        using result = typename plait::detail::apply_pass<Program, Pass>::type;
        return plait::lowered<result>::plan.violated == plait::rule::none;
    }
}();

/// A program, and how it was made of another.
template <class Program>
struct chain {
    explicit chain(Program, std::string steps = {}) : how(std::move(steps)) {}

    /// The program transformed, or itself where that is refused.
    template <class Pass>
    auto then(const char* name, Pass pass) const
    {
        if constexpr (is_legal<Program, Pass>) {
            return soak::chain(Program{} | pass, how + (how.empty() ? "" : " | ") + name);
        } else {
            return *this;
        }
    }

    std::string how;
};

/// Graphs of all programs as one type, so that one reference evaluates them.
using any_graph = plait::graph<512, 128, 16>;

/// A random program with its distinct schedules, the unscheduled one first.
struct candidate {
    template <class Program>
    candidate(std::string program, const chain<Program>& start, std::map<std::string, double> tolerance)
        : name(std::move(program)), tolerances(std::move(tolerance))
    {
        if constexpr (plait::lowered<Program>::plan.violated == plait::rule::none) {
            add(start);
            static constexpr auto graph = Program::graph.template resized<512, 128, 16>();
            schedules[0].evaluate = [](int ranks, const reference::inputs& given) {
                return reference::oracle<any_graph>(graph, ranks, given).run();
            };
        }
    }
    template <class Program>
    void add(const chain<Program>& scheduled)
    {
        constexpr std::uint64_t hash = plait::detail::hash_of(Program::graph);
        if (std::ranges::find(hashes, hash) != hashes.end()) { return; }
        hashes.push_back(hash);
        schedules.push_back(harness::described(Program{}, scheduled.how.empty() ? "unscheduled" : scheduled.how));
    }

    std::string name;
    std::map<std::string, double> tolerances;  // by tensor: the largest error against the reference
    std::vector<harness::program> schedules{};
    std::vector<std::uint64_t> hashes{};
};

/// Makes the programs of this executable.
using maker = candidate (*)();
inline std::vector<maker>& makers()
{
    static std::vector<maker> all;
    return all;
}
struct registered {
    explicit registered(maker m) { makers().push_back(m); }
};

}  // namespace soak
