// Runs random programs in all their schedules: against the reference, and bit for bit against the unscheduled program.
#pragma once

#include "candidate.hpp"
#include "dice.hpp"
#include "run/check.hpp"

#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace soak {

/// What has been run, and what went wrong.
struct counts {
    std::int64_t programs = 0;
    std::int64_t schedules = 0;  // beside the unscheduled programs
    std::int64_t cases = 0;      // runs of a schedule with one size, layout of buffers, and number of ranks
    std::int64_t refused = 0;    // of them: scattered buffers that the program cannot take, refused with an error
    std::int64_t mismatches = 0;
    std::int64_t hangs = 0;
};

/// One way to run a program.
struct setting {
    int ranks = 1;
    reference::inputs given{};
    harness::layout how{};
    plait::parameters chosen{};
    int steps = 1;
};

class checker {
  public:
    counts total{};

    /// On each of these numbers of ranks, of every pipeline group; or on so many in all.
    void check(const candidate& c, std::vector<int> ranks, int sizes, bool in_all = false)
    {
        if (c.schedules.empty()) { return; }  // a kernel would be too large, say
        for (int& n : ranks) {
            if (in_all && n % c.schedules[0].groups != 0) { return; }
            n /= in_all ? c.schedules[0].groups : 1;
        }
        ++total.programs;
        total.schedules += static_cast<std::int64_t>(c.schedules.size()) - 1;
        dice random(c.hashes[0]);
        for (const int n : ranks) {
            for (int i = 0; i < sizes; ++i) { check(c, drawn(c, n, i, random)); }
        }
    }

  private:
    static setting drawn(const candidate& c, int ranks, int i, dice& random)
    {
        const std::vector<std::int64_t> ns = {1, 2,  3,  0,   ranks - 1, ranks + 1, 2 * ranks + 1, 7,   13,  31, 64,
                                              5, 97, 63, 255, 257,       509,       1021,          1024, 1025, 2053};
        const std::vector<std::int64_t> ms = {1, 2, 3, 0, ranks, ranks + 1, 5, 8, 17};
        const auto n = static_cast<std::size_t>(i) < ns.size() ? ns[static_cast<std::size_t>(i)] : 1 + random.below(2000);
        const auto m = i == 0 ? 1 : n > 1000 ? random.below(4) : random.one_of(ms);
        setting s;
        s.ranks = ranks;
        s.given = harness::random_inputs(c.schedules[0], ranks, {{"M", m}, {"N", n}}, static_cast<std::uint64_t>(random.below(1 << 30)), -1, 1);
        for (auto& [name, values] : s.given.tensors) {
            for (reference::numbers& x : values) {
                for (double& e : x) { e = name[0] == 'i' ? std::fmod(std::fabs(e) * 5, 8) : e; }  // rows of a table
            }
        }
        s.given.scalars["a"] = 0.75;
        if (random.chance(30)) { cut(s, n, random, c.schedules[0].groups == 1); }
        s.how.shift = random.chance(40) ? 1 : 0;
        s.chosen.chunks = random.below(5);
        s.chosen.all_reduce = static_cast<plait::all_reduce_algorithm>(random.below(3));
        s.chosen.stores = static_cast<plait::peer_stores>(random.below(3));
        s.steps = random.chance(25) ? 2 : 1;
        return s;
    }
    /// N consists of several tensors, in one buffer or in several. (Which a group whose ranks hold none of them could not tell.)
    static void cut(setting& s, std::int64_t n, dice& random, bool may_scatter)
    {
        if (!s.given.extents.contains("N")) { return; }
        reference::shape& counts = s.given.counts["N"];
        for (std::int64_t left = n; left > 0 || counts.empty();) {
            const std::int64_t next = std::min<std::int64_t>(left, random.below(static_cast<int>(n / 2 + 2)));
            counts.push_back(counts.size() == 5 ? left : next);
            left -= counts.back();
        }
        if (may_scatter && random.chance(50)) {
            s.how.scattered = true;
        } else {
            s.how.partitioned = {"N"};
        }
    }

    void check(const candidate& c, const setting& s)
    {
        const std::optional<harness::outcome> first = run(c, 0, s);
        if (!first) { return; }
        if (s.steps == 1) { compare_with_reference(c, s, *first); }
        for (std::size_t i = 1; i < c.schedules.size(); ++i) {
            const std::optional<harness::outcome> other = run(c, i, s);
            if (other && !same_bits(*first, *other)) { wrong(c, i, s, "other bits than the unscheduled program"); }
        }
    }

    std::optional<harness::outcome> run(const candidate& c, std::size_t schedule, const setting& s)
    {
        ++total.cases;
        INFO(described(c, schedule, s));  // the harness checks, too
        harness::program p = c.schedules[schedule];
        p.make = [&](harness::communicator& comm) {
            auto executable = c.schedules[schedule].make(comm);
            executable->set_parameters(s.chosen);
            return executable;
        };
        try {
            return harness::run(p, s.ranks, s.given, s.steps, {}, s.how);
        } catch (const std::exception& e) {
            const std::string_view text = e.what();
            if (s.how.scattered && text.find("bind one buffer") != text.npos) {
                ++total.refused;
            } else if (text.find("waited") != text.npos) {
                ++total.hangs;
                report(c, schedule, s, text);
            } else {
                wrong(c, schedule, s, text);
            }
            return std::nullopt;
        }
    }

    void compare_with_reference(const candidate& c, const setting& s, const harness::outcome& result)
    {
        const auto expected = c.schedules[0].evaluate(s.ranks, s.given);
        for (const auto& [name, written] : result.written) {
            const double error = harness::largest_error({{{name, written}}, {{name, result.types.at(name)}}}, expected);
            if (error <= c.tolerances.at(name)) { continue; }
            wrong(c, 0, s, "tensor " + name + " is off by " + std::to_string(error));
        }
    }

    /// Equal bits, but for those of NaNs.
    static bool same_bits(const harness::outcome& a, const harness::outcome& b)
    {
        if (a == b) { return true; }
        for (const auto& [name, ranks] : a.written) {
            const plait::dtype type = a.types.at(name);
            const std::size_t size = plait::size_of(type);
            for (std::size_t r = 0; r < ranks.size(); ++r) {
                const harness::bytes& other = b.written.at(name)[r];
                for (std::size_t i = 0; i < ranks[r].size(); i += size) {
                    const bool same = std::memcmp(ranks[r].data() + i, other.data() + i, size) == 0;
                    const auto is_nan = [&](const harness::bytes& x) { return std::isnan(harness::load(type, x.data() + i)); };
                    if (!same && !(is_nan(ranks[r]) && is_nan(other))) { return false; }
                }
            }
        }
        return true;
    }

    void wrong(const candidate& c, std::size_t schedule, const setting& s, std::string_view what)
    {
        ++total.mismatches;
        report(c, schedule, s, what);
    }
    static void report(const candidate& c, std::size_t schedule, const setting& s, std::string_view what)
    {
        std::cout << described(c, schedule, s) + ": " + std::string(what) + "\n" << std::flush;
    }
    static std::string described(const candidate& c, std::size_t schedule, const setting& s)
    {
        std::string text = c.name + ", " + c.schedules[schedule].name + ", " + std::to_string(s.ranks) + " ranks";
        for (const auto& [name, e] : s.given.extents) { text += ", " + name + " = " + std::to_string(e); }
        if (!s.given.counts.empty()) {
            text += s.how.scattered ? ", scattered" : ", partitioned";
            for (const std::int64_t n : s.given.counts.at("N")) { text += " " + std::to_string(n); }
        }
        return text + ", shift " + std::to_string(s.how.shift) + ", " + plait::text_of(s.chosen) + ", " + std::to_string(s.steps) + " steps";
    }
};

}  // namespace soak
