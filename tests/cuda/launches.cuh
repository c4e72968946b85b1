// Which kernels the emulator has run.
#pragma once

#include "../emulator/control.h"

#include <cstdlib>
#include <string>
#include <string_view>

namespace cuda_test {

/// Launches since the last call of forget_launches() whose kernels have all these words in their (mangled) names.
template <class... Word>
int launches_of(Word... words)
{
    const std::string_view all = emulator_counters_json();
    constexpr std::string_view key = "{\"kernel\": \"";
    int count = 0;
    for (std::size_t at = all.find(key); at != all.npos; at = all.find(key, at + 1)) {
        const std::string_view name = all.substr(at + key.size(), all.find('"', at + key.size()) - at - key.size());
        count += ((name.find(words) != name.npos) && ...) ? 1 : 0;
    }
    return count;
}
/// Instructions of a class that threads executed in these launches.
inline long instructions_of(std::string_view kind)
{
    const std::string_view all = emulator_counters_json();
    const std::string key = "\"" + std::string(kind) + "\": ";
    long count = 0;
    for (std::size_t at = all.find(key); at != all.npos; at = all.find(key, at + 1)) { count += std::atol(all.data() + at + key.size()); }
    return count;
}
inline void forget_launches() { emulator_clear_counters(); }

}  // namespace cuda_test
