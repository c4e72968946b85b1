// Tuned programs against every schedule that they are chosen from, on threads.
#include "support/main.hpp"
#include "support/tuned_race.hpp"

#include <plait/plait.hpp>

namespace {

void run(const bench::options& o)
{
    plait::threads::run(2, [&](plait::thread_communicator& comm) { bench::race_all_tuned(o, comm, "threads"); });
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("tune", argc, argv, run); }
