#include "log.hpp"

#include <numeric>

namespace emulator {
namespace {

std::vector<std::shared_ptr<launch_counters>>& list()
{
    static auto* l = new std::vector<std::shared_ptr<launch_counters>>;
    return *l;
}

}  // namespace

void log_launch(const launch& k)
{
    launch_counters& c = *k.counters;
    c.kernel = k.kernel->name;
    c.device = k.device;
    c.blocks = k.n_blocks();
    c.threads = k.threads.count();
    list().push_back(k.counters);
}

const std::vector<std::shared_ptr<launch_counters>>& logged_launches() { return list(); }
void clear_log() { list().clear(); }

std::uint64_t class_counts::all_warps() const { return std::accumulate(warps.begin(), warps.end(), std::uint64_t{0}); }
std::uint64_t class_counts::all_threads() const
{
    return std::accumulate(threads.begin(), threads.end(), std::uint64_t{0});
}

class_counts by_class(const launch_counters& c)
{
    class_counts sum;
    for (const auto& [f, counts] : c.executed) {
        for (std::size_t k = 0; k < counts.size(); ++k) {
            const auto which = static_cast<std::size_t>(f->code[k].kind);
            sum.warps[which] += counts[k].warps;
            sum.threads[which] += counts[k].lanes;
        }
    }
    return sum;
}

}  // namespace emulator
