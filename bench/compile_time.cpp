// What a program costs to compile: seconds, memory and template depth, by its number of operations; and the LAMB
// schedules.
#include "support/main.hpp"
#include "support/measure.hpp"
#include "support/records.hpp"

#include <plait/core/error.hpp>
#include <plait/core/read_file.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// A folder that goes away again.
class scratch_folder {
  public:
    scratch_folder() : path_(fs::temp_directory_path() / ("plait_compile_time." + std::to_string(::getpid())))
    {
        fs::create_directory(path_);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder()
    {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

struct cost {
    bool compiles = false;
    double seconds = 0;    // of processor time, which other programs on the machine disturb less
    double megabytes = 0;  // the largest resident size
};

/// What a command costs, with all that it starts; `quiet`: its errors are not shown.
cost cost_of(std::vector<std::string> words, bool quiet)
{
    std::vector<char*> arguments;
    for (std::string& w : words) { arguments.push_back(w.data()); }
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        if (quiet && std::freopen("/dev/null", "w", stderr) == nullptr) { ::_exit(126); }
        ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    int status = 0;
    rusage used{};
    if (child < 0 || ::wait4(child, &status, 0, &used) != child) {
        throw std::runtime_error("cannot run the compiler");
    }
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return {WIFEXITED(status) && WEXITSTATUS(status) == 0, seconds(used.ru_utime) + seconds(used.ru_stime),
            static_cast<double>(used.ru_maxrss) / 1024};
}

/// Compiles a source with g++ -O2 as a user would, or for syntax alone.
cost compile(const fs::path& source, int depth, bool syntax_only = false)
{
    std::vector<std::string> words{PLAIT_COMPILER,
                                   "-std=c++20",
                                   "-O2",
                                   "-fno-math-errno",
                                   "-ftemplate-depth=" + std::to_string(depth),
                                   "-I",
                                   PLAIT_INCLUDE,
                                   syntax_only ? "-fsyntax-only" : "-c",
                                   source.string()};
    if (!syntax_only) { words.insert(words.end(), {"-o", "/dev/null"}); }
    return cost_of(std::move(words), syntax_only);
}

/// Compiles a source with nvcc for one architecture, into an object that is not kept.
cost compile_cuda(const fs::path& source, const fs::path& object)
{
    return cost_of({PLAIT_NVCC, "-std=c++20", "-arch=sm_80", "-I", PLAIT_INCLUDE, "-c", source.string(), "-o", object.string()}, false);
}

/// The least template depth that a source compiles with, found by halving.
int depth_of(const fs::path& source)
{
    int low = 8;  // does not compile
    int high = 200;
    if (!compile(source, high, true).compiles) {
        throw std::runtime_error("a program needs a template depth above 200");
    }
    while (high - low > 4) {
        const int middle = (low + high) / 2;
        (compile(source, middle, true).compiles ? high : low) = middle;
    }
    return high;
}

/// A program of `ops` operations on the sum of all ranks' g, scheduled and ready to run.
std::string generated(int ops)
{
    std::string s =
        "#include <plait/plait.hpp>\n"
        "namespace pl = plait;\nusing namespace pl::literals;\n"
        "constexpr auto N = pl::dim<\"N\">;\n"
        "constexpr auto g = pl::tensor<\"g\", float>(pl::local, N);\n"
        "constexpr auto p = pl::tensor<\"p\", float>(pl::replicated, N);\n"
        "constexpr auto a = pl::scalar<\"a\">;\n"
        "constexpr auto x0 = pl::label<\"sum\">(pl::all_reduce(pl::sum, g));\n";
    for (int i = 1; i <= ops; ++i) {
        const std::string x = plait::joined({"x", i - 1});
        const std::string y = plait::joined({"x", i / 2});
        const std::string forms[] = {x + " * a", x + " + p", "pl::max(" + x + ", " + y + ")", x + " - " + y};
        s += "constexpr auto x" + std::to_string(i) + " = " + forms[i % 4] + ";\n";
    }
    return s + "constexpr auto whole = pl::program<\"generated\">(pl::update(p, x" + std::to_string(ops) + "));\n" +
           "constexpr auto fused = whole | pl::split<\"sum\"> | pl::reorder<\"sum\"> | pl::fuse;\n"
           "void go(pl::thread_communicator& comm, float* data)\n"
           "{\n    pl::executable run{fused, comm};\n    run(g = data, p = data, a = 1.0F, N = 1);\n}\n";
}

std::string lamb(const std::string& schedules)
{
    std::string s =
        "#include <plait/plait.hpp>\nusing lamb = plait::optim::lamb<>;\n"
        "void go(plait::thread_communicator& comm, plait::view<const plait::binding> b)\n{\n";
    std::string name;
    for (char c : schedules + " ") {
        if (c != ' ') {
            name += c;
            continue;
        }
        if (name != "none") {
            s += "    plait::executable " + name + "{lamb::" + name + ", comm};\n    " + name + ".run(b);\n";
        }
        name.clear();
    }
    return s + "}\n";
}

void run(const bench::options& o)
{
    const scratch_folder folder;
    const fs::path source = folder.path() / "program.cpp";
    const auto measure = [&](const std::string& name, int ops, const std::function<cost()>& once, const std::function<std::string()>& more) {
        std::vector<bench::one_sample> samples;
        cost c;
        for (int i = 0; i < (o.quick ? 1 : 3); ++i) {
            c = once();
            if (!c.compiles) { throw std::runtime_error(name + " does not compile"); }
            samples.push_back({c.seconds, 0});
        }
        const bench::timing t = bench::summary(samples);
        std::printf("%-34s %7.2f s %7.0f MB   %s\n", name.c_str(), t.seconds, c.megabytes, more().c_str());
        std::fflush(stdout);
        bench::write(o, {.workload = "compile " + name,
                         .schedule = "",
                         .fabric = "",
                         .dtype = "f32",
                         .n = ops,
                         .ranks = 0,
                         .seconds = t.seconds,
                         .spread = t.spread});
        return t.seconds;
    };
    const auto report = [&](const std::string& name, const std::string& text, int ops, bool with_depth) {
        std::ofstream(source) << text;
        return measure(name, ops, [&] { return compile(source, 200); },
                       [&] { return "depth " + (with_depth ? std::to_string(depth_of(source)) : "below 200"); });
    };
    std::printf("Processor seconds and largest size of %s -O2, medians of %d.\n\n", PLAIT_COMPILER, o.quick ? 1 : 3);
    report("plait.hpp alone", "#include <plait/plait.hpp>\n", 0, false);
    double first = 0;
    double last = 0;
    for (int ops : {16, 32, 64, 128}) {
        last = report(std::to_string(ops) + " operations, fused", generated(ops), ops, !o.quick);
        if (ops == 16) { first = last; }
    }
    std::printf("%34s %7.1f ms per operation from 16 to 128\n", "", 1e3 * (last - first) / (128 - 16));
    report("LAMB unscheduled", lamb("unscheduled"), 0, false);
    report("LAMB sliced", lamb("sliced"), 0, false);
    report("LAMB fused", lamb("fused"), 0, !o.quick);
    report("LAMB, all three", lamb("unscheduled sliced fused"), 0, false);
    if (std::string_view(PLAIT_NVCC).empty()) {
        std::printf("CUDA: not measured, no nvcc was found\n");
        return;
    }
    const fs::path cuda_source = folder.path() / "program.cu";
    const auto on_cuda = [&](const std::string& name, const std::string& text) {
        std::ofstream(cuda_source) << text;
        measure(name, 0, [&] { return compile_cuda(cuda_source, folder.path() / "object.o"); }, [] { return std::string("nvcc -arch=sm_80"); });
    };
    const std::string four_schedules = plait::read_file(PLAIT_INCLUDE "/../tests/cuda/lamb.cu").value();
    for (const std::string header : {"cuda.cuh", "cuda_run.cuh"}) {
        const std::string include = "#include <plait/" + header + ">\n";
        on_cuda("CUDA: " + header + " alone", include);
        on_cuda("CUDA: " + header + ", LAMB's four", include + four_schedules);
    }
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("compile_time", argc, argv, run); }
