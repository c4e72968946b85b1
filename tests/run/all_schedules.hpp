// Every schedule that explore finds of a program against the unscheduled one.
#pragma once

#include "run/check.hpp"
#include "slow.hpp"

#include <plait/tune/explore.hpp>

#include <map>
#include <string>
#include <vector>

namespace harness {

template <class Program>
std::vector<program> all_schedules(Program p)
{
    std::vector<program> all;
    plait::explore(p).for_each([&](auto schedule, std::string_view how) { all.push_back(erased(schedule, std::string(how))); });
    return all;
}

/// All against the first, which is checked against the oracle: they give the same bits.
inline void check_all(const std::vector<program>& all, const std::map<std::string, std::int64_t>& extents, int ranks,
                      const std::map<std::string, double>& scalars, double ulps)
{
    reference::inputs given = random_inputs(all[0], ranks, extents, 1, 0.1, 2);
    given.scalars = scalars;
    const outcome first = check(all[0], ranks, given, ulps);
    for (const program& p : all) {
        CAPTURE(p.name);
        CAPTURE(ranks);
        CHECK(run(p, ranks, given) == first);
    }
}

}  // namespace harness
