// The main function of a benchmark.
#pragma once

#include "records.hpp"

#include <cstdio>
#include <exception>

namespace bench {

/// Runs a benchmark with the options of its command line; an exception ends it with a message.
template <class Run>
int main_of(const char* name, int argc, char** argv, Run&& run)
{
    try {
        run(parse(argc, argv));
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: %s\n", name, e.what());
        return 1;
    }
}

}  // namespace bench
