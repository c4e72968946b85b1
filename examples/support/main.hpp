// The main function of an example.
#pragma once

#include "failure.hpp"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <span>

namespace demo {

/// Parses the command line, prints help or runs. What goes wrong is one line on stderr and the exit status; without
/// memory for it, `less_memory` says what may help, if anything.
template <class Parse, class Help, class Run>
int main_of(const char* name, int argument_count, char** arguments, const char* less_memory, Parse&& parse, Help&& help,
            Run&& run)
{
    try {
        const std::span<const char* const> all(arguments, static_cast<std::size_t>(argument_count));
        const auto chosen = parse(all.subspan(all.empty() ? 0 : 1));
        if (chosen.help) {
            help();
        } else {
            run(chosen);
        }
        return 0;
    } catch (const failure& problem) {
        std::fprintf(stderr, "%s: %s\n", name, problem.what());
        return problem.status;
    } catch (const std::bad_alloc& problem) {
        if (less_memory == nullptr) {
            std::fprintf(stderr, "%s: %s\n", name, problem.what());
        } else {
            std::fprintf(stderr, "%s: there is not enough memory: %s may help\n", name, less_memory);
        }
        return 1;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s: %s\n", name, problem.what());
        return 1;
    }
}

}  // namespace demo
