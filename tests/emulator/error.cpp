#include "error.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace emulator {

void stop(const std::string& why) noexcept
{
    std::fflush(stdout);
    std::fprintf(stderr, "emulator: %s\n", why.c_str());
    std::fflush(stderr);
    ::_exit(86);
}

}  // namespace emulator
