#include "race.hpp"

#include "report.hpp"

namespace emulator {

std::string describe_access(const stamp& by, const instruction* where)
{
    const block_record& r = record_of(by.block);
    const launch_names& n = *r.names;
    if (n.kernel == nullptr || where == nullptr) { return n.what; }
    return n.what + " on device " + std::to_string(r.device) + ", block " +
           triple(r.number % n.grid_x, r.number / n.grid_x % n.grid_y, r.number / n.grid_x / n.grid_y) + ", thread " +
           triple(by.thread % n.threads_x, by.thread / n.threads_x % n.threads_y,
                  by.thread / n.threads_x / n.threads_y) +
           ", " + source_of(*where, *n.kernel);
}

void report_race(const context& c, const instruction& i, unsigned lane, const place& p, bool is_store,
                 const stamp& other, bool other_is_store, const instruction* other_where)
{
    const std::string memory = p.space == space::shared ? "shared memory" : p.memory->name;
    make_report(c, i, lane, rule::race,
                std::string(is_store ? "a store" : "a load") + " " + std::to_string(p.offset) + " bytes into " +
                    memory + " is not ordered after " + (other_is_store ? "a store" : "a load") + " there by\n       " +
                    describe_access(other, other_where));
}

}  // namespace emulator
