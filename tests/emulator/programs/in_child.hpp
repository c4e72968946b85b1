// What a program does that the emulator ends: run in a process of its own.
#pragma once

#include "programs/check.hpp"

#include <sys/wait.h>
#include <unistd.h>

struct result {
    int status;
    std::string text;
};

/// Runs f in a process of its own.
template <class F>
result in_child(F f)
{
    int ends[2];
    if (pipe(ends) != 0) { return {-1, ""}; }
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        f();
        std::exit(0);
    }
    close(ends[1]);
    result r{};
    char buffer[512];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
        r.text.append(buffer, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    waitpid(child, &r.status, 0);
    r.status = WIFEXITED(r.status) ? WEXITSTATUS(r.status) : -2;
    return r;
}

/// The process was ended by the emulator, with these texts.
inline void expect(const result& r, const char* first, const char* second)
{
    const bool ok = CHECK(r.status == 86) && CHECK(r.text.find(first) != std::string::npos) &&
                    CHECK(r.text.find(second) != std::string::npos);
    if (!ok) { std::printf("   status %d: %s\n", r.status, r.text.c_str()); }
}
