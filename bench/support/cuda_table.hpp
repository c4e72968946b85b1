// What ptxas says about kernels, and settings of the program that compares them.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// From the report of `nvcc -Xptxas -v`.
struct resources {
    int registers = 0, stack = 0, spills = 0;  // spills: bytes stored and loaded
};
/// By architecture, then by the kernel's symbol.
using resource_table = std::map<std::string, std::map<std::string, resources>>;

struct settings {
    bool check = false;
    bool quick = false;
    int rounds = 15;
    std::string json;
    resource_table ptxas;
};

namespace detail {
inline int number_before(const std::string& line, const std::string& words)
{
    const std::size_t end = line.find(words);
    if (end == std::string::npos) { return 0; }
    std::size_t begin = end;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') { --begin; }
    return std::atoi(line.c_str() + begin);
}
}  // namespace detail

/// Adds a file with ptxas's report for one architecture.
inline void read_ptxas(resource_table& table, const std::string& architecture, const std::string& file)
{
    std::ifstream in(file);
    if (!in) { throw std::runtime_error("cannot read " + file); }
    std::string line, kernel;
    while (std::getline(in, line)) {
        if (const std::size_t at = line.find("entry function '"); at != std::string::npos) {
            kernel = line.substr(at + 16, line.find('\'', at + 16) - at - 16);
        }
        if (kernel.empty()) { continue; }
        resources& r = table[architecture][kernel];
        if (line.find("stack frame") != std::string::npos) {
            r.stack = detail::number_before(line, " bytes stack frame");
            r.spills =
                detail::number_before(line, " bytes spill stores") + detail::number_before(line, " bytes spill loads");
        }
        if (line.find("Used ") != std::string::npos) { r.registers = detail::number_before(line, " registers"); }
    }
}

inline settings parse_settings(int argc, char** argv)
{
    settings s;
    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        const auto value = [&] {
            if (i + 1 >= argc) { throw std::runtime_error(a + " needs a value"); }
            return std::string(argv[++i]);
        };
        if (a == "--check") {
            s.check = true;
        } else if (a == "--quick") {
            s.quick = true;
        } else if (a == "--json") {
            s.json = value();
        } else if (a == "--ptxas") {  // sm_80=FILE
            const std::string v = value();
            const std::size_t eq = v.find('=');
            if (eq == std::string::npos) { throw std::runtime_error("--ptxas needs ARCHITECTURE=FILE"); }
            read_ptxas(s.ptxas, v.substr(0, eq), v.substr(eq + 1));
        } else {
            throw std::runtime_error("unknown option '" + a + "'");
        }
    }
    if (s.quick) { s.rounds = 7; }
    return s;
}

}  // namespace bench
