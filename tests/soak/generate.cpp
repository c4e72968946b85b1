// Writes the source of random programs: generate SEED PROGRAMS SCHEDULES. The same arguments give the same text.
#include "grow.hpp"

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv)
{
    if (argc != 4) {
        std::cerr << "usage: generate SEED PROGRAMS SCHEDULES\nwrites C++ source of random programs with random schedules\n";
        return 2;
    }
    const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    const int programs = std::atoi(argv[2]);
    const int schedules = std::atoi(argv[3]);
    std::cout << "// Random programs of seed " << seed << ".\n#include \"soak/candidate.hpp\"\n\nnamespace {\nnamespace pl = plait;\n"
              << "using namespace pl::literals;\nconstexpr auto M = pl::dim<\"M\">;\nconstexpr auto N = pl::dim<\"N\">;\n";
    for (int i = 0; i < programs; ++i) {
        const std::string name = "s" + std::to_string(seed) + "_" + std::to_string(i);
        std::cout << "\n" << soak::random_program(seed * 1000003 + static_cast<std::uint64_t>(i), name, schedules);
    }
    std::cout << "\n}  // namespace\n";
}
