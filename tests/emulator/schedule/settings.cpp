#include "settings.hpp"

#include <cstdlib>
#include <cstring>

namespace emulator {
namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise)
{
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 0) : otherwise;
}

settings_type from_environment()
{
    settings_type s;
    s.seed = number("EMULATOR_SEED", s.seed);
    s.check_races = number("EMULATOR_RACES", 1) != 0;
    s.stale_loads = number("EMULATOR_STALE_LOADS", 1) != 0;
    s.check_uninitialised = number("EMULATOR_UNINITIALISED", 1) != 0;
    s.count = number("EMULATOR_COUNTERS", 1) != 0;
    s.print_reports = number("EMULATOR_PRINT", 1) != 0;
    s.fail_on_reports = number("EMULATOR_FAIL", 1) != 0;
    s.stuck_after = number("EMULATOR_STUCK_AFTER", s.stuck_after);
    s.patience = static_cast<std::int64_t>(number("EMULATOR_PATIENCE", 2000));
    s.device.devices = static_cast<int>(number("EMULATOR_DEVICES", 4));
    s.device.multiprocessors = static_cast<int>(number("EMULATOR_MULTIPROCESSORS", 4));
    s.device.threads_per_multiprocessor = static_cast<int>(number("EMULATOR_THREADS_PER_MULTIPROCESSOR", 2048));
    const auto capability = static_cast<int>(number("EMULATOR_CAPABILITY", 90));
    s.device.major = capability / 10;
    s.device.minor = capability % 10;
    return s;
}

}  // namespace

settings_type& settings()
{
    static settings_type s = from_environment();
    return s;
}

}  // namespace emulator
