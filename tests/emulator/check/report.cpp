#include "report.hpp"

#include "../schedule/settings.hpp"

#include <cxxabi.h>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace emulator {
namespace {

struct report_state {
    std::vector<report> list;
    std::set<std::pair<rule, const ptx::statement*>> known;
};

report_state& state()
{
    static report_state s;
    return s;
}

void keep(rule r, const std::string& text)
{
    state().list.push_back({r, text});
    if (settings().print_reports) {
        std::fflush(stdout);
        std::fprintf(stderr, "emulator: %s: %s\n", name_of(r), text.c_str());
    }
}

std::string triple(const dimensions& d) { return emulator::triple(d.x, d.y, d.z); }

std::string demangled(const std::string& name)
{
    int status = 0;
    char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    std::string result = status == 0 ? text : name;
    std::free(text);
    return result;
}

}  // namespace

const char* name_of(rule r)
{
    constexpr const char* names[] = {
        "out of bounds", "misaligned", "uninitialised read", "use after free", "barrier divergence",
        "inactive lane", "race",       "deadlock",           "trap",           "assertion",
        "invalid"};
    return names[static_cast<unsigned>(r)];
}

std::string triple(std::uint64_t x, std::uint64_t y, std::uint64_t z)
{
    char text[80];
    std::snprintf(text, sizeof text, "(%llu,%llu,%llu)", static_cast<unsigned long long>(x),
                  static_cast<unsigned long long>(y), static_cast<unsigned long long>(z));
    return text;
}

std::string source_of(const instruction& i, const function& f)
{
    const ptx::statement& s = *i.source;
    std::string text;
    if (s.source.line != 0) {
        const auto file = f.owner->syntax.files.find(s.source.file);
        text = "at " + (file != f.owner->syntax.files.end() ? file->second : "?") + ":" +
               std::to_string(s.source.line) + " ";
    }
    return text + "(PTX line " + std::to_string(s.line) + ": " + s.text + ")";
}

std::string where(const block& b, const warp& w, const instruction& i, unsigned lane)
{
    const launch& k = *b.owner;
    const std::uint32_t t = w.number * n_lanes + lane;
    const dimensions thread{t % k.threads.x, t / k.threads.x % k.threads.y, t / k.threads.x / k.threads.y};
    const function& f = w.frames[lane] != nullptr ? *w.frames[lane]->code : *k.kernel;
    return demangled(k.kernel->name) + ", block " + triple(b.index) + ", thread " + triple(thread) + ", " +
           source_of(i, f);
}

std::string where(const context& c, const instruction& i, unsigned lane) { return where(*c.b, *c.w, i, lane); }

void make_report(const context& c, const instruction& i, unsigned lane, rule r, const std::string& text)
{
    if (!state().known.insert({r, i.source}).second) { return; }
    keep(r, text + "\n    in " + where(c, i, lane));
}

void make_report(rule r, const std::string& text) { keep(r, text); }

const std::vector<report>& reports() { return state().list; }

void clear_reports()
{
    state().list.clear();
    state().known.clear();
}

}  // namespace emulator
