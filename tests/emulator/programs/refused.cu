// What is not implemented ends the program with its name, text and line; reports that nobody reads fail it.
#include "programs/check.hpp"

#include <sys/wait.h>
#include <unistd.h>

__global__ void unknown_opcode(int* p)
{
    asm volatile("tex.1d.v4.f32.f32 {%%f1, %%f2, %%f3, %%f4}, [%0, {%%f1}];" ::"l"(p));
}
__global__ void unknown_modifier(int* p)
{
    asm volatile("{.reg .b32 t; ld.global.L1::evict_last.L2::cache_hint.u32 t, [%0], %0;}" ::"l"(p));
}
__global__ void unknown_fence() { asm volatile("fence.proxy.alias;"); }
__global__ void overrun(int* p) { p[1000] = 1; }

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

void expect(const result& r, const char* first, const char* second)
{
    const bool ok = CHECK(r.status == 86) && CHECK(r.text.find(first) != std::string::npos) &&
                    CHECK(r.text.find(second) != std::string::npos);
    if (!ok) { std::printf("   status %d: %s\n", r.status, r.text.c_str()); }
}

int main()
{
    expect(in_child([] { unknown_opcode<<<1, 1>>>(nullptr); }), "opcode tex is not implemented", "PTX line");
    expect(in_child([] { unknown_modifier<<<1, 1>>>(nullptr); }), "ld.global.L1::evict_last.L2::cache_hint.u32",
           "PTX line");
    expect(in_child([] { unknown_fence<<<1, 1>>>(); }), "fence.proxy.alias", "PTX line");
    expect(in_child([] {
               cudaArray_t array;
               cudaChannelFormatDesc format{};
               cudaMallocArray(&array, &format, 1, 1, 0);
           }),
           "cudaMallocArray is not implemented", "emulator:");
    expect(in_child([] {
               int* p = nullptr;
               cudaMalloc(reinterpret_cast<void**>(&p), 400);
               overrun<<<1, 1>>>(p);
               cudaDeviceSynchronize();
           }),
           "out of bounds", "exit status 86");
    return check::result();
}
