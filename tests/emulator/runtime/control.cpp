#include "../control.h"

#include "../check/report.hpp"
#include "../counters/log.hpp"
#include "state.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace emulator;

namespace {

bool reports_read = false;

// A program that does not know of the emulator must not pass with reports.
struct at_end {
    ~at_end()
    {
        if (const char* file = std::getenv("EMULATOR_COUNTERS_FILE")) {
            if (std::FILE* f = std::fopen(file, "w")) {
                std::fputs(as_json(logged_launches()).c_str(), f);
                std::fclose(f);
            }
        }
        if (!reports().empty() && !reports_read && settings().fail_on_reports) {
            std::fflush(stdout);
            std::fprintf(stderr, "emulator: %zu reports; exit status 86\n", reports().size());
            ::_exit(86);
        }
    }
};
const at_end check_at_end;

}  // namespace

extern "C" {

void emulator_set_seed(unsigned long long seed)
{
    const entry lock;
    seed_random_choices(seed);
}

int emulator_set(const char* name, unsigned long long value)
{
    const entry lock;
    settings_type& s = settings();
    const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
    if (is("races")) { return s.check_races = value != 0, 1; }
    if (is("stale_loads")) { return s.stale_loads = value != 0, 1; }
    if (is("uninitialised")) { return s.check_uninitialised = value != 0, 1; }
    if (is("counters")) { return s.count = value != 0, 1; }
    if (is("print")) { return s.print_reports = value != 0, 1; }
    if (is("stuck_after")) { return s.stuck_after = value, 1; }
    return 0;
}

size_t emulator_report_count(void)
{
    const entry lock;
    reports_read = true;
    return reports().size();
}

const char* emulator_report(size_t i)
{
    const entry lock;
    static std::string text;
    if (i >= reports().size()) { return nullptr; }
    text = std::string(name_of(reports()[i].rule)) + ": " + reports()[i].text;
    return text.c_str();
}

void emulator_clear_reports(void)
{
    const entry lock;
    clear_reports();
}

const char* emulator_counters_json(void)
{
    const entry lock;
    static std::string text;
    text = as_json(logged_launches());
    return text.c_str();
}

const char* emulator_counters_table(void)
{
    const entry lock;
    static std::string text;
    text = as_table(logged_launches());
    return text.c_str();
}

void emulator_clear_counters(void)
{
    const entry lock;
    clear_log();
}

unsigned long long emulator_warp_instructions(void)
{
    const entry lock;
    return the_engine().executed();
}

unsigned long long emulator_thread_instructions(void)
{
    const entry lock;
    unsigned long long sum = 0;
    for (const auto& c : logged_launches()) { sum += by_class(*c).all_threads(); }
    return sum;
}
}
